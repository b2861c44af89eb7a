"""The trace side in one process, beside decoding the same trace files and doing nothing else.

- *read_trace* also joins calls and results;
- *documents* adds shell commands, ground truth, events, metrics and outcomes;
- *evaluate* adds fingerprints, files, summaries and associations of every run.

The demo is measured, and the real runs where their folder is at hand.

    python benchmarks/ratios.py --only traces
    python benchmarks/traces.py     # what a trial, a call and a megabyte take

The second takes the least time of each real trial over the rounds, its documents encoded and not
written, and fits milliseconds to trials, calls and megabytes by least squares. `trace_parts.py`
says where the time goes.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import process_time

from rounds import OURS, Row, Task, alternating, compared, processor_of

from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.agents.runs.layout import artefact_stems, default_benchmarks_root
from retrieval_eval.agents.runs.trial import Job, documents, evaluate_trial
from retrieval_eval.agents.traces import NoTraceError, read_trace
from retrieval_eval.demo import write_demo
from retrieval_eval.io.layout import TaskIndex, discover, resolve_trials

REAL_RUNS = Path(os.environ.get("RETRIEVAL_EVAL_REAL_RUNS", "../shared/real-runs"))
REAL = "real runs"
PEER = "json.loads"
GOALS = {
    "read_trace": None,
    "documents, not written": 7,
    "evaluate, nothing there yet": 10,
    "evaluate, nothing has changed": None,
}
"""Each step, and the most times json.loads that the real runs are to take."""
LOADS = """
import json, sys
for path in open(sys.argv[1]).read().splitlines():
    data = open(path, "rb").read()
    for part in [data] if path.endswith(".json") else data.splitlines():
        json.loads(part)
"""


def jobs_of(runs: list[Path], root: Path | None) -> list[Job]:
    trials = [trial for run in runs for trial in discover(run, run.name).trials]
    resolved, _ = resolve_trials(trials, TaskIndex(root))
    stems = artefact_stems(resolved)
    return [Job(t, None, stems[t], (1, 3, 5, 10)) for t in resolved]


def trace_files(job: Job) -> list[Path]:
    found = sorted((job.trial.path / "agent").rglob("*"))
    return [p for p in found if p.is_file() and p.suffix in {".json", ".jsonl", ".txt"}]


def n_calls(job: Job) -> int:
    try:
        return len(read_trace(job.trial.path).calls)
    except NoTraceError:
        return 0


class Work:
    """Some runs that are evaluated, and their trace files."""

    def __init__(self, runs: list[Path], output: Path) -> None:
        self.runs, self.output = runs, output
        self.root = default_benchmarks_root(runs)
        self.jobs = jobs_of(runs, self.root)
        self.files = [path for job in self.jobs for path in trace_files(job)]

    def __str__(self) -> str:
        size = sum(path.stat().st_size for path in self.files) / 1e6
        n_all = sum(map(n_calls, self.jobs))
        return f"{len(self.jobs)} trials, {size:.1f} MB, {n_all:,} calls"

    def whole(self) -> None:
        evaluate(self.runs, benchmarks_root=self.root, output_dir=self.output)

    def anew(self) -> None:
        shutil.rmtree(self.output, ignore_errors=True)
        self.whole()


def decoded(files: list[Path]) -> None:
    for path in files:
        data = path.read_bytes()
        for part in [data] if path.suffix == ".json" else data.splitlines():
            json.loads(part)


def measured(name: str, runs: list[Path], rounds: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        work = Work(runs, Path(folder) / "output")
        n = str(work)
        steps = (
            lambda: [n_calls(job) for job in work.jobs],
            lambda: [documents(job) for job in work.jobs],
            work.anew,
            work.whole,
        )
        tasks: dict[str, Task] = {PEER: partial(decoded, work.files)}
        times = alternating(tasks | dict(zip(GOALS, steps, strict=True)), rounds)
    for step, most in GOALS.items():
        ours = {OURS: times[step], PEER: times[PEER]}
        goals = {PEER: 1 / most} if most and name == REAL else {}
        yield from compared(ours, section="traces", what=f"{name}: {step}", n=n, goals=goals)


def fresh(run: Path, folder: Path, rounds: int) -> Iterator[Row]:
    """Yield the row of the whole command, start of Python and imports included."""
    jobs = jobs_of([run], default_benchmarks_root([run]))
    files = folder / "files.txt"
    files.write_text("\n".join(str(path) for job in jobs for path in trace_files(job)))
    loads = [sys.executable, "-c", LOADS, str(files)]
    command = [sys.executable, "-m", "retrieval_eval", "evaluate", str(run), "--jobs", "1"]

    def ours() -> float:
        shutil.rmtree(folder / "output", ignore_errors=True)
        return processor_of([*command, "--output-dir", str(folder / "output")])

    tasks = {OURS: ours, "json.loads": lambda: processor_of(loads)}
    times = alternating(tasks, rounds, lambda task: task())
    what = "demo: the command `evaluate` in a fresh process"
    yield from compared(times, section="traces", what=what, n=f"{len(jobs)} trials")


def rows(*, is_quick: bool) -> Iterator[Row]:
    """Yield the comparisons."""
    rounds = 1 if is_quick else 7
    with tempfile.TemporaryDirectory() as folder:
        write_demo(Path(folder))
        run = Path(folder) / "runs" / "demo"
        yield from measured("demo", [run], rounds)
        if is_quick:
            return
        yield from fresh(run, Path(folder), rounds)
    if REAL_RUNS.is_dir():
        yield from measured(REAL, real_runs(), rounds)
    else:
        print("the real runs are not at hand and left out", file=sys.stderr)


def real_runs() -> list[Path]:
    official = REAL_RUNS.resolve() / "runs" / "official"
    return sorted(path for path in official.iterdir() if path.is_dir())


def costs(rounds: int) -> None:
    """Print what a trial, a call and a megabyte of the real runs take."""
    import numpy as np

    runs = real_runs()
    jobs = jobs_of(runs, default_benchmarks_root(runs))
    files = [trace_files(job) for job in jobs]
    reading: list[float] = [math.inf] * len(jobs)
    ours: list[float] = [math.inf] * len(jobs)
    for _ in range(rounds):
        for at, job in enumerate(jobs):
            started = process_time()
            decoded(files[at])
            between = process_time()
            evaluate_trial(job)
            reading[at] = min(reading[at], between - started)
            ours[at] = min(ours[at], process_time() - between)
    megabytes = np.array([sum(path.stat().st_size for path in own) / 1e6 for own in files])
    calls = np.array([n_calls(job) for job in jobs])
    design = np.column_stack([np.ones(len(jobs)), calls, megabytes])
    per_trial, per_call, per_megabyte = np.linalg.lstsq(design, np.array(ours) * 1e3)[0]
    loads = sum(reading) * 1e3
    print(f"{len(jobs)} trials, {calls.sum():,} calls, {megabytes.sum():.1f} MB")
    print(f"json.loads: {loads / megabytes.sum():.1f} ms a MB")
    print(f"ours: {per_trial:.2f} ms a trial, {per_call:.3f} a call, {per_megabyte:.1f} a MB")
    print(f"documents made and encoded, times json.loads: {sum(ours) * 1e3 / loads:.1f}")


if __name__ == "__main__":
    costs(rounds=9)
