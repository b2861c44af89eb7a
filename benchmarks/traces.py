"""Throughput of the trace side in one process, beside json.loads of the same bytes.

    python benchmarks/traces.py [RUN_FOLDER ...]

Without arguments the demo is measured, and the real runs where the folder is at hand. Rounds are
interleaved and the median ratio is what to look at: seconds do not travel between machines.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from retrieval_eval.demo import write_demo
from retrieval_eval.io.files import write_bytes
from retrieval_eval.io.layout import discover
from retrieval_eval.io.tasks import TaskIndex, resolve_trials
from retrieval_eval.pipeline.naming import artefact_stems
from retrieval_eval.pipeline.roots import default_benchmarks_root
from retrieval_eval.pipeline.trial import Job, documents, evaluate_trial
from retrieval_eval.traces import NoTraceError, read_trace

ROUNDS = 7
REAL_RUNS = Path(os.environ.get("RETRIEVAL_EVAL_REAL_RUNS", "../shared/real-runs"))


def jobs_of(runs: list[Path], output: Path) -> list[Job]:
    trials = [trial for run in runs for trial in discover(run, run.name).trials]
    root = default_benchmarks_root(runs)
    resolved, _ = resolve_trials(trials, TaskIndex(root))
    stems = artefact_stems(resolved)
    return [Job(t, output / t.run_id, stems[t], (1, 3, 5, 10)) for t in resolved]


def trace_files(job: Job) -> list[Path]:
    found = sorted((job.trial.path / "agent").rglob("*"))
    return [p for p in found if p.is_file() and p.suffix in {".json", ".jsonl", ".txt"}]


def n_calls(job: Job) -> int:
    try:
        return len(read_trace(job.trial.path).calls)
    except NoTraceError:
        return 0


def load_json(path: Path) -> None:
    data = path.read_bytes()
    if path.suffix == ".json":
        json.loads(data)
        return
    for line in data.splitlines():
        json.loads(line)


def measure(name: str, runs: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder)
        jobs = jobs_of(runs, output)
        files = [path for job in jobs for path in trace_files(job)]
        size = sum(path.stat().st_size for path in files) / 1e6
        calls = sum(map(n_calls, jobs))

        def whole() -> None:
            shutil.rmtree(output, ignore_errors=True)
            for job in jobs:
                for name, data in evaluate_trial(job).files().items():
                    write_bytes(output / job.trial.run_id / name, data)

        steps: dict[str, Callable[[], object]] = {
            "json.loads": lambda: [load_json(path) for path in files],
            "read_trace": lambda: [n_calls(job) for job in jobs],
            "documents (no writing)": lambda: [documents(job) for job in jobs],
            "evaluate (with writing)": whole,
        }
        times: dict[str, list[float]] = {step: [] for step in steps}
        for _ in range(ROUNDS):
            for step, work in steps.items():
                start = time.perf_counter()
                work()
                times[step].append(time.perf_counter() - start)
    print(f"\n{name}: {len(jobs)} trials, {len(files)} trace files, {size:.1f} MB, {calls} calls\n")
    print("| step | seconds | MB/s | times json.loads |\n|---|---|---|---|")
    for step, rounds in times.items():
        ratios = [a / b for a, b in zip(rounds, times["json.loads"], strict=True)]
        median = statistics.median(rounds)
        print(f"| {step} | {median:.2f} | {size / median:.1f} | {statistics.median(ratios):.1f} |")


def main() -> None:
    if len(sys.argv) > 1:
        measure("named runs", [Path(name).resolve() for name in sys.argv[1:]])
        return
    with tempfile.TemporaryDirectory() as folder:
        write_demo(Path(folder))
        measure("demo", [Path(folder) / "runs" / "demo"])
    if REAL_RUNS.is_dir():
        official = REAL_RUNS.resolve() / "runs" / "official"
        measure("real runs", sorted(p for p in official.iterdir() if p.is_dir()))


if __name__ == "__main__":
    main()
