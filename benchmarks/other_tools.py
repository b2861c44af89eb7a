"""Measure one example with other evaluators, for docs/reference/other-tools.md.

    python benchmarks/other_tools.py --write

Each tool that is installed is run; a tool that is not keeps the numbers of the run before.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from retrieval_eval.ranking import evaluate_rankings

DOCS = Path(__file__).resolve().parents[1] / "docs" / "reference"
PAGE, DATA = DOCS / "other-tools.md", DOCS / "other-tools.json"
BEGIN, END = "<!-- measured -->", "<!-- end -->"
MEASURES = ("P@5", "Recall@5", "nDCG@5", "RR", "AP@5")

QRELS: dict[str, dict[str, int]] = {
    "tie": {"d1": 2, "d2": 1, "d3": 0, "d4": 1},
    "graded": {"a": 3, "b": 2, "c": 1},
    "empty": {"e1": 1},
    "absent": {"f1": 1},
    "norel": {"n1": 0, "n2": 0},
    "norel2": {"n3": 0},
    "few": {"g1": 1, "g2": 1},
    "many": {f"m{n:02}": 1 for n in range(12)},
}
RUN: dict[str, dict[str, float]] = {
    "tie": {"d2": 0.9, "x9": 0.8, "d1": 0.8, "d5": 0.1, "x6": 0.05, "x7": 0.04},
    "graded": {"c": 0.9, "x1": 0.8, "a": 0.7, "x2": 0.6, "b": 0.5, "x3": 0.4},
    "empty": {},
    "norel": {"n1": 0.9, "n2": 0.8, "y1": 0.7},
    "norel2": {"n3": 0.9, "y1": 0.8},
    "few": {"x1": 0.9, "g1": 0.8, "x2": 0.7},
    "many": {**{f"m{n:02}": 0.9 - n / 100 for n in range(5)}, "z1": 0.1},
}

Found = dict[str, dict[str, float]]
"""By measure the value of each query; the mean under an empty name."""


def ours(convention: str) -> Callable[[], Found]:
    """Return what this package gives under a convention."""

    def measure() -> Found:
        found = evaluate_rankings(QRELS, RUN, [*MEASURES], convention=convention)  # type: ignore[arg-type]
        rows: Found = {}
        for name, values in found.scores.items():
            own = dict(zip(found.query_ids, values.tolist(), strict=True))
            rows[name] = with_mean({q: v for q, v in own.items() if not math.isnan(v)})
        return rows

    return measure


def with_mean(values: Mapping[str, float]) -> dict[str, float]:
    """Return values with their mean under an empty name."""
    return {**values, "": math.fsum(values.values()) / len(values)}


def of_pytrec_eval() -> Found:
    """pytrec_eval, and the mean over what it returns."""
    import pytrec_eval

    names = {
        "P_5": "P@5",
        "recall_5": "Recall@5",
        "ndcg_cut_5": "nDCG@5",
        "recip_rank": "RR",
        "map_cut_5": "AP@5",
    }
    found = pytrec_eval.RelevanceEvaluator(QRELS, set(names)).evaluate(RUN)
    return {ours: with_mean({q: v[own] for q, v in found.items()}) for own, ours in names.items()}


def of_ir_measures() -> Found:
    """ir_measures: values by query, and its own mean."""
    import ir_measures

    names = {"P@5": "P@5", "R@5": "Recall@5", "nDCG@5": "nDCG@5", "RR": "RR", "AP@5": "AP@5"}
    measures = [ir_measures.parse_measure(name) for name in names]
    rows: Found = {name: {} for name in names.values()}
    for one in ir_measures.iter_calc(measures, QRELS, RUN):
        rows[names[str(one.measure)]][one.query_id] = float(one.value)
    for measure, value in ir_measures.calc_aggregate(measures, QRELS, RUN).items():
        rows[names[str(measure)]][""] = float(value)
    return rows


def of_ranx() -> Found:
    """Ranx, which refuses runs of other queries unless it may make them comparable."""
    ranx = import_module("ranx")
    names = {
        "precision@5": "P@5",
        "recall@5": "Recall@5",
        "ndcg@5": "nDCG@5",
        "mrr": "RR",
        "map@5": "AP@5",
    }
    run = ranx.Run({query: docs for query, docs in RUN.items() if docs})
    means = ranx.evaluate(ranx.Qrels(QRELS), run, [*names], make_comparable=True)
    rows = {}
    for own, ours in names.items():
        scores = {query: float(value) for query, value in run.scores[own].items()}
        rows[ours] = {**scores, "": float(means[own])}
    return rows


def of_trectools() -> Found:
    """Trectools, from files."""
    trectools = import_module("trectools")
    with tempfile.TemporaryDirectory() as folder:
        run, qrels = Path(folder, "run"), Path(folder, "qrels")
        run.write_text(
            "".join(
                f"{q} Q0 {doc} {rank} {score} t\n"
                for q, docs in RUN.items()
                for rank, (doc, score) in enumerate(docs.items(), 1)
            )
        )
        qrels.write_text(
            "".join(f"{q} 0 {doc} {g}\n" for q, docs in QRELS.items() for doc, g in docs.items())
        )
        found = trectools.TrecEval(trectools.TrecRun(str(run)), trectools.TrecQrel(str(qrels)))
    calls = {
        "P@5": lambda one: found.get_precision(depth=5, per_query=one),
        "Recall@5": lambda one: found.get_recall(depth=5, per_query=one),
        "nDCG@5": lambda one: found.get_ndcg(depth=5, per_query=one),
        "RR": lambda one: found.get_reciprocal_rank(per_query=one),
        "AP@5": lambda one: found.get_map(depth=5, per_query=one),
    }
    rows: Found = {}
    for name, call in calls.items():
        frame = call(True)
        rows[name] = {str(q): float(v) for q, v in frame.iloc[:, 0].items() if not math.isnan(v)}
        rows[name][""] = float(call(False))
    return rows


def of_scikit_learn() -> Found:
    """ndcg_score of scikit-learn: one row a query, over all documents of run and labels."""
    from sklearn.metrics import ndcg_score

    values = {}
    for query, docs in RUN.items():
        names = [*docs, *(doc for doc in QRELS[query] if doc not in docs)]
        if docs and len(names) > 1:
            truth = [[QRELS[query].get(doc, 0) for doc in names]]
            scores = [[docs.get(doc, -1.0) for doc in names]]
            values[query] = float(ndcg_score(truth, scores, k=5))
    return {"nDCG@5": with_mean(values)}


def copied() -> dict[str, dict[str, float]]:
    """Return the run anew, for some tools change what they are given."""
    return {query: dict(docs) for query, docs in RUN.items()}


def relevant(query: str) -> list[str]:
    """Return the documents of a grade above 0."""
    return [doc for doc, grade in QRELS[query].items() if grade > 0]


def of_beir() -> Found:
    """BEIR: query by query, and its own means, which it rounds."""
    tool = import_module("beir.retrieval.evaluation").EvaluateRetrieval
    names = {"NDCG@5": "nDCG@5", "MAP@5": "AP@5", "Recall@5": "Recall@5", "P@5": "P@5"}

    def measured(queries: list[str]) -> dict[str, float]:
        qrels = {query: QRELS[query] for query in queries}
        run = {query: docs for query, docs in copied().items() if query in qrels}
        means = (
            {} if not run else {k: v for d in tool.evaluate(qrels, run, [5]) for k, v in d.items()}
        )
        found = {ours: float(means[own]) for own, ours in names.items() if means}
        return {**found, "RR": float(tool.evaluate_custom(qrels, run, [5], "mrr")["MRR@5"])}

    rows: Found = {name: {} for name in MEASURES}
    for query, of in (*((query, [query]) for query in QRELS), ("", list(QRELS))):
        for name, value in measured(of).items():
            rows[name][query] = value
    return rows


def of_mteb() -> Found:
    """MTEB: values by query, and its own means, which it rounds."""
    score = import_module("mteb._evaluators.retrieval_metrics").calculate_retrieval_scores
    found = score(copied(), QRELS, [5], False)
    names = {"P_5": "P@5", "recall_5": "Recall@5", "ndcg_cut_5": "nDCG@5", "map_cut_5": "AP@5"}
    rows: Found = {
        ours: {query: float(values[own]) for query, values in found.all_scores.items()}
        for own, ours in names.items()
    }
    for name, block in (
        ("P@5", found.precision),
        ("Recall@5", found.recall),
        ("nDCG@5", found.ndcg),
        ("AP@5", found.map),
    ):
        (rows[name][""],) = map(float, block.values())
    return {**rows, "RR": {"": float(found.mrr["MRR@5"])}}


def of_llama_index() -> Found:
    """LlamaIndex, over the first five documents; what has none raises there, and is left out."""
    tool = import_module("llama_index.core.evaluation.retrieval.metrics")
    names = {"precision": "P@5", "recall": "Recall@5", "ndcg": "nDCG@5", "mrr": "RR", "ap": "AP@5"}
    rows: Found = {}
    for own, ours in names.items():
        (kind,) = tool.resolve_metrics([own])
        values = {}
        for query, docs in RUN.items():
            if docs and relevant(query):
                first = [*docs][: None if own == "mrr" else 5]
                found = kind().compute(expected_ids=relevant(query), retrieved_ids=first)
                values[query] = float(found.score)
        rows[ours] = with_mean(values)
    return rows


def of_ragas() -> Found:
    """Ragas by ids, over the first five documents; NaN is left out."""
    metrics, sample = import_module("ragas.metrics"), import_module("ragas").SingleTurnSample
    tools = {"P@5": metrics.IDBasedContextPrecision(), "Recall@5": metrics.IDBasedContextRecall()}
    rows: Found = {}
    for name, tool in tools.items():
        values = {}
        for query, docs in RUN.items():
            given = sample(retrieved_context_ids=[*docs][:5], reference_context_ids=relevant(query))
            values[query] = float(tool.single_turn_score(given))
        rows[name] = with_mean({q: v for q, v in values.items() if not math.isnan(v)})
    return rows


def of_evidently(*, no_feedback_users: bool) -> Callable[[], Found]:
    """Return what gives the means of evidently, which has no values by query."""

    def measure() -> Found:
        import pandas as pd

        metrics = import_module("evidently.legacy.metrics")
        mapping = import_module("evidently.legacy.pipeline.column_mapping")
        kinds = {
            "P@5": metrics.PrecisionTopKMetric,
            "Recall@5": metrics.RecallTopKMetric,
            "nDCG@5": metrics.NDCGKMetric,
            "RR": metrics.MRRKMetric,
            "AP@5": metrics.MAPKMetric,
        }
        rows = [
            (query, doc, score, QRELS[query].get(doc, 0))
            for query, docs in RUN.items()
            for doc, score in docs.items()
        ]
        columns = {name: name for name in ("user_id", "item_id", "prediction", "target")}
        report = import_module("evidently.legacy.report").Report(
            [kind(k=5, no_feedback_users=no_feedback_users) for kind in kinds.values()]
        )
        report.run(
            reference_data=None,
            current_data=pd.DataFrame(rows, columns=[*columns]),
            column_mapping=mapping.ColumnMapping(
                recommendations_type=mapping.RecomType.SCORE, **columns
            ),
        )
        found = [list(one["result"]["current"])[4] for one in report.as_dict()["metrics"]]
        return {name: {"": float(value)} for name, value in zip(kinds, found, strict=True)}

    return measure


def of_torchmetrics() -> Found:
    """Torchmetrics over what was returned, for that is all it takes: values by query, and means."""
    tools, torch = import_module("torchmetrics.retrieval"), import_module("torch")
    kinds = {
        "P@5": tools.RetrievalPrecision(top_k=5),
        "Recall@5": tools.RetrievalRecall(top_k=5),
        "nDCG@5": tools.RetrievalNormalizedDCG(top_k=5),
        "RR": tools.RetrievalMRR(),
        "AP@5": tools.RetrievalMAP(top_k=5),
    }

    def measured(name: str, queries: list[str]) -> float:
        kinds[name].reset()
        for place, query in enumerate(queries):
            grades = torch.tensor([QRELS[query].get(doc, 0) for doc in RUN[query]])
            kinds[name].update(
                torch.tensor([*RUN[query].values()]),
                grades if name == "nDCG@5" else grades > 0,
                indexes=torch.full((len(grades),), place),
            )
        return float(kinds[name].compute())

    answered = [query for query, docs in RUN.items() if docs]
    return {
        name: {**{q: measured(name, [q]) for q in answered}, "": measured(name, answered)}
        for name in kinds
    }


def of_deepeval() -> Found:
    """Deepeval over the first five documents; its judge is asked, and answers from the labels.

    A document is one statement, and the expected answer has one sentence for each relevant one.
    """
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    metrics, cases = import_module("deepeval.metrics"), import_module("deepeval.test_case")
    verdicts: list[bool] = []

    class Labels(import_module("deepeval.models").DeepEvalBaseLLM):
        def load_model(self) -> None: ...

        def get_model_name(self) -> str:
            return "labels"

        def generate(self, _prompt: str, schema: Any) -> Any:
            n = 1 if "Relevancy" in schema.__name__ else len(verdicts)
            said = [("no", "yes")[verdicts.pop(0)] for _ in range(n)]
            return schema(verdicts=[{"verdict": v, "reason": "", "statement": ""} for v in said])

        async def a_generate(self, prompt: str, schema: Any) -> Any:
            return self.generate(prompt, schema)

    options = {"model": Labels(), "include_reason": False, "async_mode": False}
    tools = {
        "P@5": metrics.ContextualRelevancyMetric(**options),
        "Recall@5": metrics.ContextualRecallMetric(**options),
        "AP@5": metrics.ContextualPrecisionMetric(**options),
    }
    rows: Found = {}
    for name, tool in tools.items():
        values = {}
        for query, docs in RUN.items():
            first, wanted = [*docs][:5], relevant(query)
            held = [doc in first for doc in wanted]
            verdicts[:] = held if name == "Recall@5" else [doc in wanted for doc in first]
            case = cases.LLMTestCase(
                input=query,
                actual_output=" ",
                expected_output=" ".join(f"{doc}." for doc in wanted) or " ",
                retrieval_context=first,
            )
            values[query] = float(tool.measure(case, _show_indicator=False))
        rows[name] = with_mean(values)
    return rows


TOOLS: dict[str, tuple[str | None, Callable[[], Found]]] = {
    "this package, `trec`": (None, ours("trec")),
    "this package, `trec9`": (None, ours("trec9")),
    "pytrec-eval-terrier": ("pytrec-eval-terrier", of_pytrec_eval),
    "ir-measures": ("ir-measures", of_ir_measures),
    "ranx": ("ranx", of_ranx),
    "trectools": ("trectools", of_trectools),
    "scikit-learn `ndcg_score`": ("scikit-learn", of_scikit_learn),
    "BEIR": ("beir", of_beir),
    "MTEB `calculate_retrieval_scores`": ("mteb", of_mteb),
    "LlamaIndex": ("llama-index-core", of_llama_index),
    "ragas, by ids": ("ragas", of_ragas),
    "deepeval, judged by the labels": ("deepeval", of_deepeval),
    "torchmetrics": ("torchmetrics", of_torchmetrics),
    "evidently": ("evidently", of_evidently(no_feedback_users=False)),
    "evidently, `no_feedback_users`": ("evidently", of_evidently(no_feedback_users=True)),
}


def page_of(document: dict[str, Any]) -> str:
    """Return the tables of the page."""
    tools = document["tools"]
    rows = ["| mean of | version | " + " | ".join(MEASURES) + " | queries |"]
    rows.append("|---" * (len(MEASURES) + 3) + "|")
    for name, one in tools.items():
        cells = [shown(one["values"].get(measure, {}).get("")) for measure in MEASURES]
        n = max(len(values) for values in one["values"].values()) - 1
        rows.append(f"| {name} | {one['version']} | {' | '.join(cells)} | {n or '—'} |")
    for measure in MEASURES:
        rows += ["", f"## {measure} by query", ""]
        rows += ["| tool | " + " | ".join(QRELS) + " |", "|---" * (len(QRELS) + 1) + "|"]
        alike: dict[str, list[str]] = {}
        for name, one in tools.items():
            if len(one["values"].get(measure, {})) > 1:
                values = one["values"][measure]
                cells = " | ".join(shown(values.get(query)) for query in QRELS)
                alike.setdefault(cells, []).append(name)
        rows += [f"| {' · '.join(names)} | {cells} |" for cells, names in alike.items()]
    return "\n".join([*rows, "", f"Run on {document['date']}."])


def shown(value: float | None) -> str:
    """Return a number with four decimals, or a dash for what a tool does not give."""
    return "—" if value is None else f"{value:.4f}"


def main() -> None:
    """Run every tool that is installed, print the tables, and write them where asked to."""
    before = json.loads(DATA.read_text("utf-8"))["tools"] if DATA.exists() else {}
    tools = {}
    for name, (package, measure) in TOOLS.items():
        try:
            values = measure()
        except ImportError as error:
            print(f"{name}: not run: {error}", file=sys.stderr)
            if name in before:
                tools[name] = before[name]
            continue
        rounded = {m: {q: round(v, 6) for q, v in own.items()} for m, own in values.items()}
        version = importlib.metadata.version(package) if package else "—"
        tools[name] = {"version": version, "values": rounded}
    document = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "tools": tools}
    print(page_of(document))
    if "--write" in sys.argv[1:]:
        DATA.write_text(json.dumps(document, indent=1, sort_keys=False) + "\n", "utf-8")
        head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        body = f"{head}{BEGIN}\n\n{page_of(document)}\n\n{END}{rest.partition(END)[2]}"
        PAGE.write_text(body, "utf-8")


if __name__ == "__main__":
    main()
