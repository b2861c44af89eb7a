"""Time ranking measures from dictionaries, frames and TREC files, beside other packages.

Each round runs every contender once on the same data in this process, so that the ratios hold
when the machine's clock drifts; the table gives the median ratio over the rounds, of the time that
passed and of processor time, which other work on the machine disturbs less. Peak memory is what a
forked child needed beyond the data it started with.

Every package computes the same measures, a number of each a query in the container of its own
(arrays, dictionaries) and the means. Garbage is collected before each timed call. `--cases` times
harder dictionaries beside pytrec_eval (ties, any order, scores of 32 bits), and `--fresh` a job of
50 queries in a process of its own.

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
import subprocess
import sys
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
from retrieval_eval.metrics.ranking.result import Convention

CUTOFFS = (1, 3, 5, 10, 20)
OURS = [
    *(f"{name}@{k}" for name in ("P", "Recall", "nDCG") for k in CUTOFFS),
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
    *(f"{name}@{k}" for name in ("precision", "recall", "ndcg") for k in CUTOFFS),
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


def ours(qrels: object, run: object, convention: Convention = "trec") -> Task:
    def task() -> object:
        result = evaluate_rankings(qrels, run, OURS, convention=convention)
        return result.scores, result.means

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
    judged, ranked, unordered = nested(qrels), nested(run), nested(shuffled(run))
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
            "ours": ours(judged, unordered),
            "pytrec_eval": trec_eval(lambda: judged, lambda: unordered),
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


def tied(run: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return a run in which half of the scores are that of a neighbour, or all are few grades."""
    scores = run["score"].to_numpy().copy()
    if kind == "half":
        second = np.flatnonzero(np.random.default_rng(5).random(len(scores) // 2) < 0.5) * 2 + 1
        is_same = run["query_id"].to_numpy()[second] == run["query_id"].to_numpy()[second - 1]
        scores[second[is_same]] = scores[second[is_same] - 1]
    else:
        scores = np.floor(scores * 0.3)
    return run.assign(score=scores)


def cases(queries: int, depth: int, rounds: int) -> None:
    """Print processor time beside pytrec_eval's for dictionaries of several kinds."""
    print("| judged | scores | order | convention | ours, ms | pytrec_eval, ms | faster by |")
    print("|---:|---|---|---|---:|---:|---:|")
    kinds = [(judged, "distinct", "best first", "trec") for judged in (2, 10, 50)]
    kinds += [(10, "distinct", "any", "trec"), (10, "distinct", "best first", "trec9")]
    kinds += [(judged, "half tied", "best first", "trec") for judged in (2, 10, 50)]
    kinds += [(10, "half tied", "any", "trec"), (10, "half tied", "best first", "trec9")]
    kinds += [(10, "six grades", "best first", "trec")]
    for judged, scores, order, convention in kinds:
        qrels, run = frames(queries, depth, judged)
        if scores != "distinct":
            run = tied(run, scores.split()[0])
        if order == "any":
            run = shuffled(run)
        known, found = nested(qrels), nested(run)
        tasks = [ours(known, found, convention), trec_eval(lambda k=known: k, lambda f=found: f)]
        times = [[seconds(task)[1] for task in tasks] for _ in range(rounds)]
        ratio = statistics.median(b / a for a, b in times)
        mine, theirs = (statistics.median(column) * 1e3 for column in zip(*times, strict=True))
        cells = judged, scores, order, convention, f"{mine:.1f}", f"{theirs:.1f}", f"{ratio:.1f}"
        print(f"| {' | '.join(map(str, cells))} x |", flush=True)


SMALL = """
import random
dice = random.Random(1)
runs = {f"q{n}": {f"d{i}": dice.random() for i in dice.sample(range(999), 20)} for n in range(50)}
qrels = {q: {d: dice.choice((0, 1, 2)) for d in list(run)[:5]} for q, run in runs.items()}
"""
SMALL_OURS = """
from retrieval_eval import evaluate_rankings
names = [f"{name}@{k}" for name in ("P", "Recall", "nDCG") for k in (5, 10)] + ["RR", "AP"]
for name, mean in evaluate_rankings(qrels, runs, names).means.items():
    print(name, mean.value)
"""
SMALL_TREC_EVAL = """
import pytrec_eval
names = {"P.5,10", "recall.5,10", "ndcg_cut.5,10", "recip_rank", "map"}
found = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(runs)
for name in next(iter(found.values())):
    print(name, sum(row[name] for row in found.values()) / len(found))
"""


def fresh(rounds: int) -> None:
    """Print the processor time of 50 queries in a fresh process, beside pytrec_eval's."""

    def processor_ms(script: str) -> float:
        command = [sys.executable, "-c", SMALL + script]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return 1e3 * (used.ru_utime + used.ru_stime)

    scripts = {"ours": SMALL_OURS, "pytrec_eval": SMALL_TREC_EVAL, "neither": ""}
    times = [[processor_ms(script) for script in scripts.values()] for _ in range(rounds)]
    for name, column in zip(scripts, zip(*times, strict=True), strict=True):
        print(f"50 queries in a fresh process, {name}: {statistics.median(column):.0f} ms")
    print(f"ours / pytrec_eval: {statistics.median(a / b for a, b, _ in times):.2f}")


def shuffled(run: pd.DataFrame) -> pd.DataFrame:
    return run.sample(frac=1, random_state=1).sort_values("query_id", kind="stable")


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
    parser.add_argument("--cases", action="store_true", help="kinds of dictionaries instead")
    parser.add_argument("--fresh", action="store_true", help="a small job instead")
    options = parser.parse_args()
    if options.cases:
        cases(options.queries, options.depth, options.rounds)
    elif options.fresh:
        fresh(options.rounds)
    else:
        compare(options)


def compare(options: argparse.Namespace) -> None:
    """Print the table of all packages and kinds of input."""
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
