"""Where the time of an evaluation goes, as multiples of decoding its trace files with `json.loads`.

All runs are evaluated anew in one process, with a clock around each part. What a part
calls that is itself a part is counted there alone. The clocks cost a few per cent of the time. The
real runs are measured where their folder is at hand, else the demo.

    python benchmarks/trace_parts.py
"""

from __future__ import annotations

import importlib
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from json import loads
from pathlib import Path
from typing import Any

from rounds import processor_seconds
from traces import REAL_RUNS, Work, decoded, real_runs

from retrieval_eval.demo import write_demo

ROUNDS = 9
PARTS = {
    "agents.runs.trial.read_trace": "reading: calls joined with results, files joined",
    "io.files.decode": "decoding JSON",
    "agents.runs.trial.load_ground_truth": "ground truth",
    "agents.runs.trial.load_outcome": "outcome",
    "agents.runs.trial.extract_events": "events: the rest of them",
    "agents.events.calls.interpret": "calls: what each did",
    "agents.events.calls._shell": "shell: the rest of it",
    "agents.traces.shell.session.read_output": "shell: lines of the output",
    "agents.traces.shell.session.parse": "shell: syntax",
    "agents.traces.shell.interpreter.Interpreter.run": "shell: steps, variables, folders",
    "agents.traces.shell.session.plan_pipeline": "shell: what a pipeline intends to show",
    "agents.traces.shell.session.shared_evidence": "shell: which lines are whose",
    "agents.traces.shell.session.judge": "shell: what the lines prove",
    "agents.events.find_layout": "layout: where checkouts lie",
    "agents.events._folders": "paths resolved",
    "agents.runs.trial.event_document": "event document",
    "agents.runs.trial.measure": "metrics",
    "agents.runs.trial.encoded": "documents of trials encoded",
    "agents.runs.trial.digest_of_trial": "files of trials opened, read and fingerprinted",
    "agents.runs.trial.digest_of_task": "files of tasks opened, read and fingerprinted",
    "agents.runs.evaluate._discover": "trials and tasks found",
    "agents.runs.evaluate.write_bytes": "files written",
    "agents.runs.evaluate.run_summary": "summaries of runs",
    "agents.runs.evaluate.impact_analysis": "comparisons and associations of runs",
    "agents.runs.evaluate.encoded": "documents of runs encoded",
}
"""Each function of the package that has a clock, and what it does."""


class Clocks:
    """The time spent in each part, without that of parts inside it."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._open: list[str] = ["all else"]
        self._last = 0.0

    def _turn(self) -> None:
        now = time.process_time()
        self.spent[self._open[-1]] += now - self._last
        self._last = now

    def around(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that counts the time of another as that of a part."""

        @wraps(function)
        def timed(*args: Any, **more: Any) -> Any:
            self._turn()
            self._open.append(part)
            try:
                return function(*args, **more)
            finally:
                self._turn()
                self._open.pop()

        return timed

    def over(self, work: Callable[[], object]) -> dict[str, float]:
        """Return the time of each part of some work."""
        self.spent.clear()
        self._last = time.process_time()
        work()
        self._turn()
        return dict(self.spent)


def set_up(clocks: Clocks) -> None:
    for path, part in PARTS.items():
        module, _, name = path.rpartition(".")
        owner: Any
        try:
            owner = importlib.import_module(f"retrieval_eval.{module}")
        except ModuleNotFoundError:
            module, _, kind = module.rpartition(".")
            owner = getattr(importlib.import_module(f"retrieval_eval.{module}"), kind)
        setattr(owner, name, clocks.around(part, getattr(owner, name)))


def runs_at_hand(folder: Path) -> list[Path]:
    if REAL_RUNS.is_dir():
        return real_runs()
    write_demo(folder)
    return [folder / "runs" / "demo"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Work(runs_at_hand(Path(folder)), Path(folder) / "output")
        print(work)
        work.anew()
        plain, found = [], []
        for _ in range(ROUNDS):
            reference = processor_seconds(lambda: decoded(work.files, loads))
            plain.append(processor_seconds(work.anew) / reference)
        clocks = Clocks()
        set_up(clocks)
        for _ in range(ROUNDS):
            reference = processor_seconds(lambda: decoded(work.files, loads))
            found.append({k: v / reference for k, v in clocks.over(work.anew).items()})
    print(f"{statistics.median(plain):6.2f}  times json.loads without the clocks; with them:")
    for part in (*dict.fromkeys(PARTS.values()), "all else"):
        print(f"{statistics.median(round_.get(part, 0.0) for round_ in found):6.2f}  {part}")


if __name__ == "__main__":
    main()
