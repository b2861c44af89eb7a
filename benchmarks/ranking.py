"""Ranking measures from dictionaries, frames and TREC files, beside other packages.

Every package computes the same measures, a number of each a query in the container of its own
(arrays, dictionaries) and the means. Where a package needs dictionaries, building them by the
quickest plain loop counts. Runs have distinct documents, scores of six decimals, and 60 % of the
judged documents.

ranx compiles itself at its first call, which takes up to minutes and is not counted.

    python benchmarks/ratios.py --only ranking
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import ir_measures
import numpy as np
import pandas as pd
import pytrec_eval
from rounds import Row, Task, alternating, compared, processor_of

from retrieval_eval.ranking import evaluate_rankings
from retrieval_eval.ranking.result import Convention

CUTOFFS = (1, 3, 5, 10, 20)
OURS = [
    *(f"{name}@{k}" for name in ("P", "Recall", "nDCG") for k in CUTOFFS),
    *("RR", "AP"),
]
TREC_EVAL = {
    *(f"{name}.{','.join(map(str, CUTOFFS))}" for name in ("P", "recall", "ndcg_cut")),
    *("recip_rank", "map"),
}
SIX = ["P@10", "Recall@10", "nDCG@10", "Success@10", "RR", "AP"]
TREC_EVAL_SIX = {"P.10", "recall.10", "ndcg_cut.10", "success.10", "recip_rank", "map"}
IR_MEASURES = [
    *(ir_measures.parse_measure(f"{name}@{k}") for name in ("P", "R", "nDCG") for k in CUTOFFS),
    *(ir_measures.RR, ir_measures.AP),
]
RANX = [
    *(f"{name}@{k}" for name in ("precision", "recall", "ndcg") for k in CUTOFFS),
    *("mrr", "map"),
]

Source = Literal["dictionaries", "frames", "TREC files"]
Scores = Literal["distinct", "half tied", "six grades", "rounded to one decimal"]


@dataclass(frozen=True, slots=True)
class Case:
    """What is ranked and from where, how often, and the ratio to pytrec_eval aimed at."""

    queries: int
    rounds: int
    goal: float | None
    judged: int = 10
    source: Source = "dictionaries"
    scores: Scores = "distinct"
    is_ordered: bool = True
    convention: Convention = "trec"
    depth: int = 100
    has_all_peers: bool = False
    has_six_measures: bool = False

    @property
    def what(self) -> str:
        """Everything but the size."""
        parts = [self.source, f"{self.judged} judged"]
        parts += [self.scores] * (self.scores != "distinct")
        parts += ["documents in any order"] * (not self.is_ordered)
        parts += [f"convention `{self.convention}`"] * (self.convention != "trec")
        parts += ["six measures"] * self.has_six_measures
        return ", ".join(parts)


SMALL = {"queries": 1_000, "rounds": 15}
LARGE = {"queries": 100_000, "rounds": 3}
ROUNDED = {"scores": "rounded to one decimal"}
GOALS = {2: 5, 10: 5, 50: 4}
"""The goal by the number of judged documents."""
MIDDLE = {"queries": 20_000, "rounds": 3, "has_all_peers": True}
CASES = (
    *(Case(**SMALL, judged=judged, goal=goal) for judged, goal in GOALS.items()),
    Case(**SMALL, is_ordered=False, goal=5),
    Case(**SMALL, convention="trec9", goal=5),
    *(
        Case(**SMALL, judged=judged, scores="half tied", goal=goal)
        for judged, goal in GOALS.items()
    ),
    Case(**SMALL, scores="half tied", is_ordered=False, goal=5),
    Case(**SMALL, scores="half tied", convention="trec9", goal=5),
    Case(**SMALL, scores="six grades", goal=5),
    *(
        Case(**SMALL, **ROUNDED, judged=judged, has_six_measures=True, goal=goal)
        for judged, goal in GOALS.items()
    ),
    *(Case(**MIDDLE, source=source, goal=5) for source in ("dictionaries", "frames", "TREC files")),
    Case(**LARGE, judged=2, goal=5),
    Case(**LARGE, judged=50, goal=4),
    Case(**LARGE, goal=5),
    Case(**LARGE, convention="trec9", goal=5),
    Case(**LARGE, scores="half tied", goal=5),
    Case(**LARGE, source="frames", goal=9),
    Case(**LARGE, source="TREC files", goal=8),
)
QUICK = (
    Case(40, 1, 5, depth=10),
    Case(40, 1, None, depth=10, source="frames", scores="half tied", convention="trec9"),
    Case(40, 1, None, depth=10, source="TREC files", is_ordered=False),
)


@lru_cache(maxsize=1)
def frames(queries: int, depth: int, judged: int, seed: int = 1) -> tuple[pd.DataFrame, ...]:
    """Return qrels and run: distinct documents, scores of six decimals, 60 % of judged found."""
    rng = np.random.default_rng(seed)
    step = rng.integers(1, max(2, 900_000 // depth), (queries, depth))
    docs = (rng.integers(0, 1_000_000, (queries, 1)) + np.cumsum(step, axis=1)) % 1_000_000
    docs = rng.permuted(docs, axis=1)
    scores = -np.sort(-np.round(rng.random((queries, depth)) * 20, 6), axis=1)
    n_found = max(1, round(0.6 * judged))
    found = np.argsort(rng.random((queries, depth)), axis=1)[:, :n_found]
    absent = rng.integers(1_000_000, 1_100_000, (queries, 1)) + np.arange(judged - n_found)
    known = np.concatenate([np.take_along_axis(docs, found, 1), absent], axis=1)
    grades = rng.choice(np.array([0, 1, 1, 2]), known.shape)
    return _long(known, grades, "grade"), _long(docs, scores, "score")


def _long(docs: np.ndarray, numbers: np.ndarray, name: str) -> pd.DataFrame:
    queries = np.repeat([f"q{number}" for number in range(len(docs))], docs.shape[1])
    ids = "d" + pd.Series(docs.ravel()).astype("str").str.zfill(7)
    return pd.DataFrame(
        {"query_id": pd.Series(queries, dtype="str"), "doc_id": ids, name: numbers.ravel()}
    )


def nested(frame: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return ``{query: {document: number}}`` by the quickest plain way."""
    data: dict[str, dict[str, float]] = {}
    for query, doc, number in zip(*(frame[name].tolist() for name in frame), strict=True):
        data.setdefault(query, {})[doc] = number
    return data


def ours(qrels: object, run: object, case: Case) -> Task:
    measures = SIX if case.has_six_measures else OURS

    def task() -> object:
        result = evaluate_rankings(qrels, run, measures, convention=case.convention)
        return result.scores, result.means

    return task


def trec_eval(qrels: Callable[[], dict], run: Callable[[], dict], case: Case) -> Task:
    measures = TREC_EVAL_SIX if case.has_six_measures else TREC_EVAL

    def task() -> object:
        found = pytrec_eval.RelevanceEvaluator(qrels(), measures).evaluate(run())
        names = next(iter(found.values()))
        return found, {name: np.mean([row[name] for row in found.values()]) for name in names}

    return task


def ir(qrels: Callable[[], object], run: Callable[[], object]) -> Task:
    return lambda: ir_measures.calc(IR_MEASURES, qrels(), run())


def ranx(qrels: Callable[[Any], Any], run: Callable[[Any], Any]) -> Task:
    def task() -> object:
        package = importlib.import_module("ranx")
        found = package.evaluate(
            qrels(package.Qrels),
            run(package.Run),
            RANX,
            return_mean=False,
            save_results_in_run=False,
        )
        return found, {name: np.mean(values) for name, values in found.items()}

    return task


def tasks_of(case: Case, folder: Path, peers: Sequence[str]) -> dict[str, Task]:
    qrels, run = frames(case.queries, case.depth, case.judged)
    if case.scores != "distinct":
        run = tied(run, case.scores)
    if not case.is_ordered:
        run = shuffled(run)
    made = FROM[case.source](qrels, run, folder, case)
    return {name: made[name] for name in peers}


def from_dictionaries(
    qrels: pd.DataFrame, run: pd.DataFrame, _: Path, case: Case
) -> dict[str, Task]:
    judged, ranked = nested(qrels), nested(run)
    return {
        "ours": ours(judged, ranked, case),
        "pytrec_eval": trec_eval(lambda: judged, lambda: ranked, case),
        "ir_measures": ir(lambda: judged, lambda: ranked),
        "ranx": ranx(lambda kind: kind(judged), lambda kind: kind(ranked)),
    }


def from_frames(qrels: pd.DataFrame, run: pd.DataFrame, _: Path, case: Case) -> dict[str, Task]:
    renamed = qrels.rename(columns={"grade": "relevance"})
    return {
        "ours": ours(qrels, run, case),
        "pytrec_eval": trec_eval(lambda: nested(qrels), lambda: nested(run), case),
        "ir_measures": ir(lambda: renamed, lambda: run),
        # Its own from_df knows only columns of Python objects, and groups them more slowly.
        "ranx": ranx(lambda kind: kind(nested(qrels)), lambda kind: kind(nested(run))),
    }


def from_files(qrels: pd.DataFrame, run: pd.DataFrame, folder: Path, case: Case) -> dict[str, Task]:
    qrels_path, run_path = folder / "qrels.txt", folder / "run.txt"
    with qrels_path.open("w") as file:
        file.writelines(f"{q} 0 {d} {g}\n" for q, d, g in qrels.itertuples(index=False))
    with run_path.open("w") as file:
        file.writelines(f"{q} Q0 {d} 0 {s} t\n" for q, d, s in run.itertuples(index=False))

    def parsed(parse: Callable, path: Path) -> Callable[[], dict]:
        def read() -> dict:
            with path.open() as file:
                return parse(file)

        return read

    return {
        "ours": ours(qrels_path, run_path, case),
        "pytrec_eval": trec_eval(
            parsed(pytrec_eval.parse_qrel, qrels_path),
            parsed(pytrec_eval.parse_run, run_path),
            case,
        ),
        "ir_measures": ir(
            lambda: ir_measures.read_trec_qrels(str(qrels_path)),
            lambda: ir_measures.read_trec_run(str(run_path)),
        ),
        "ranx": ranx(
            lambda kind: kind.from_file(str(qrels_path), kind="trec"),
            lambda kind: kind.from_file(str(run_path), kind="trec"),
        ),
    }


FROM = {"dictionaries": from_dictionaries, "frames": from_frames, "TREC files": from_files}


def tied(run: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return a run in which half of the scores are that of a neighbour, or all are few levels."""
    scores = run["score"].to_numpy().copy()
    if kind == "half tied":
        second = np.flatnonzero(np.random.default_rng(5).random(len(scores) // 2) < 0.5) * 2 + 1
        is_same = run["query_id"].to_numpy()[second] == run["query_id"].to_numpy()[second - 1]
        scores[second[is_same]] = scores[second[is_same] - 1]
    elif kind == "six grades":
        scores = np.floor(scores * 0.3)
    else:
        # Ten documents a score, as of a reranker that prints one decimal.
        scores = np.round(scores / 20, 1)
    return run.assign(score=scores)


JOB = """
import random
dice = random.Random(1)
runs = {f"q{n}": {f"d{i}": dice.random() for i in dice.sample(range(999), 20)} for n in range(50)}
qrels = {q: {d: dice.choice((0, 1, 2)) for d in list(run)[:5]} for q, run in runs.items()}
"""
JOB_OURS = """
from retrieval_eval import evaluate_rankings
names = [f"{name}@{k}" for name in ("P", "Recall", "nDCG") for k in (5, 10)] + ["RR", "AP"]
for name, mean in evaluate_rankings(qrels, runs, names).means.items():
    print(name, mean.value)
"""
JOB_TREC_EVAL = """
import pytrec_eval
names = {"P.5,10", "recall.5,10", "ndcg_cut.5,10", "recip_rank", "map"}
found = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(runs)
for name in next(iter(found.values())):
    print(name, sum(row[name] for row in found.values()) / len(found))
"""


def shuffled(run: pd.DataFrame) -> pd.DataFrame:
    return run.sample(frac=1, random_state=1).sort_values("query_id", kind="stable")


def rows(*, is_quick: bool) -> Iterator[Row]:
    """Yield the comparisons."""
    everyone = ["ours", "pytrec_eval", "ir_measures"]
    if importlib.util.find_spec("ranx") is None:
        print("ranx is not installed and left out", file=sys.stderr)
    elif not is_quick:
        everyone.append("ranx")
    for case in QUICK if is_quick else CASES:
        peers = everyone if case.has_all_peers or is_quick else everyone[:2]
        with tempfile.TemporaryDirectory() as folder:
            tasks = tasks_of(case, Path(folder), peers)
            if "ranx" in tasks:
                tasks["ranx"]()
            times = alternating(tasks, case.rounds)
        del tasks
        size = f"{case.queries:,} queries × {case.depth}"
        goals = {"pytrec_eval": case.goal} if case.goal else {}
        yield from compared(times, section="ranking", what=case.what, n=size, goals=goals)
    # Modules are compiled once, as after an installation.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    scripts = {"ours": JOB_OURS, "pytrec_eval": JOB_TREC_EVAL}
    commands = {name: [sys.executable, "-c", JOB + script] for name, script in scripts.items()}
    alternating(commands, 1, processor_of)
    times = alternating(commands, 1 if is_quick else 15, processor_of)
    what = "a small job in a fresh process, Python's start included"
    goals = {"pytrec_eval": 1 / 0.6}
    yield from compared(times, section="ranking", what=what, n="50 queries × 20", goals=goals)
