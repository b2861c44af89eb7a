"""Time ranking measures from dictionaries, frames and TREC files, beside other packages.

Each round runs every contender once on the same data in this process, so that the ratios hold
when the machine's clock drifts; the table gives the median ratio over the rounds, of the time that
passed and of processor time, which other work on the machine disturbs less. Peak memory is what a
forked child needed beyond the data it started with.

ranx is optional (dependency group `bench`). It compiles itself at its first call, which takes up
to minutes; that call happens once before the rounds and is reported apart.

    python benchmarks/ranking.py --queries 100000 --depth 100 --rounds 3
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import importlib.util
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytrec_eval

from retrieval_eval.metrics.ranking import evaluate_rankings

CUTOFFS = (1, 3, 5, 10, 20)
OURS = [
    *(f"{name}@{k}" for name in ("P", "Recall", "F1", "nDCG") for k in CUTOFFS),
    *("RR", "AP"),
]
TREC_EVAL = {
    *(f"{name}.{','.join(map(str, CUTOFFS))}" for name in ("P", "recall", "ndcg_cut")),
    *("recip_rank", "map"),
}
IR_MEASURES = [
    *(ir_measures.parse_measure(f"{name}@{k}") for name in ("P", "R", "nDCG") for k in CUTOFFS),
    *(ir_measures.RR, ir_measures.AP),
]
RANX = [
    *(f"{name}@{k}" for name in ("precision", "recall", "f1", "ndcg") for k in CUTOFFS),
    *("mrr", "map"),
]
Task = Callable[[], object]


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


def ours(qrels: object, run: object) -> Task:
    def task() -> object:
        result = evaluate_rankings(qrels, run, OURS)
        return result.per_query, result.means

    return task


def trec_eval(qrels: Callable[[], dict], run: Callable[[], dict]) -> Task:
    def task() -> object:
        found = pytrec_eval.RelevanceEvaluator(qrels(), TREC_EVAL).evaluate(run())
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


def warm_up(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
    # Documents of equal length as in the rounds: numba compiles for every length anew.
    few = [frame[frame["query_id"].isin([f"q{i}" for i in range(20)])] for frame in (qrels, run)]
    judged, ranked = map(nested, few)
    return seconds(ranx(lambda kind: kind(judged), lambda kind: kind(ranked)))[0]


def contenders(qrels: pd.DataFrame, run: pd.DataFrame, folder: Path) -> dict[str, dict[str, Task]]:
    judged, ranked = nested(qrels), nested(run)
    shuffled = nested(run.sample(frac=1, random_state=1).sort_values("query_id", kind="stable"))
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

    renamed = qrels.rename(columns={"grade": "relevance"})
    return {
        "dictionaries, best first": {
            "ours": ours(judged, ranked),
            "pytrec_eval": trec_eval(lambda: judged, lambda: ranked),
            "ir_measures": ir(lambda: judged, lambda: ranked),
            "ranx": ranx(lambda kind: kind(judged), lambda kind: kind(ranked)),
        },
        "dictionaries, any order": {
            "ours": ours(judged, shuffled),
            "pytrec_eval": trec_eval(lambda: judged, lambda: shuffled),
        },
        "data frames": {
            "ours": ours(qrels, run),
            "pytrec_eval": trec_eval(lambda: nested(qrels), lambda: nested(run)),
            "ir_measures": ir(lambda: renamed, lambda: run),
            # Its own from_df knows only columns of Python objects, and groups them more slowly.
            "ranx": ranx(lambda kind: kind(nested(qrels)), lambda kind: kind(nested(run))),
        },
        "TREC files": {
            "ours": ours(qrels_path, run_path),
            "pytrec_eval": trec_eval(
                parsed(pytrec_eval.parse_qrel, qrels_path), parsed(pytrec_eval.parse_run, run_path)
            ),
            "ir_measures": ir(
                lambda: ir_measures.read_trec_qrels(str(qrels_path)),
                lambda: ir_measures.read_trec_run(str(run_path)),
            ),
            "ranx": ranx(
                lambda kind: kind.from_file(str(qrels_path), kind="trec"),
                lambda kind: kind.from_file(str(run_path), kind="trec"),
            ),
        },
    }


def seconds(task: Task) -> tuple[float, float]:
    """Return the time that passed and the processor time of all threads."""
    gc.collect()
    start, processor = time.perf_counter(), time.process_time()
    task()
    return time.perf_counter() - start, time.process_time() - processor


def table_row(kind: str, name: str, times: dict[str, list[tuple[float, float]]]) -> str:
    cells = []
    for clock in range(2):
        theirs, ours = ([once[clock] for once in times[task]] for task in (name, "ours"))
        ratio = statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
        cells += [f"{min(theirs):.2f}", "" if name == "ours" else f"{ratio:.1f} x"]
    return f"| {kind} | {name} | {' | '.join(cells)} |"


def peak_megabytes(task: Task) -> float:
    gc.collect()
    # Free memory that the allocator kept from earlier rounds would hide what the task needs.
    ctypes.CDLL(None).malloc_trim(0)
    reader, writer = os.pipe()
    if os.fork() == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        task()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        os.write(writer, str((after - before) / 1024).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.wait()
    return float(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--judged", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip", nargs="*", default=[], help="contenders to leave out")
    options = parser.parse_args()
    qrels, run = frames(options.queries, options.depth, options.judged)
    print(f"{options.queries} queries x {options.depth} documents, {options.judged} judged a query")
    left_out = set(options.skip)
    if importlib.util.find_spec("ranx") is None:
        print("ranx is not installed and left out")
        left_out.add("ranx")
    elif "ranx" not in left_out:
        # Memory is measured in forked children, which GNU's OpenMP does not survive.
        os.environ.setdefault("NUMBA_THREADING_LAYER", "workqueue")
        print(f"first call of ranx, import and compilation: {warm_up(qrels, run):.1f} s")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print("\n| from | package | seconds (best) | faster by | processor (best) | by | peak MB |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for kind, tasks in contenders(qrels, run, Path(folder)).items():
            tasks = {name: task for name, task in tasks.items() if name not in left_out}
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
            for _ in range(options.rounds):
                for name, task in tasks.items():
                    times[name].append(seconds(task))
            for name, task in tasks.items():
                print(table_row(kind, name, times), f"{peak_megabytes(task):.0f} |", flush=True)
    print(f"\nload average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
