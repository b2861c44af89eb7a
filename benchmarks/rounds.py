"""What the sections of `ratios.py` share: one row of the table, and rounds that alternate."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

Task = Callable[[], object]
Times = Mapping[str, Sequence[float]]

OURS = "ours"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison: medians over the rounds in a unit, and the median of their ratios.

    ``ratio`` is the peer's number divided by ours, so that more is better and 1 is equal. ``goal``
    is the least ratio aimed at and ``limit`` the most that ours may be; both are often absent.
    """

    section: str
    what: str
    n: str
    peer: str
    ours: float
    theirs: float
    ratio: float
    rounds: int
    unit: str = "s"
    goal: float | None = None
    limit: float | None = None


def processor_seconds(task: Task) -> float:
    """Return the processor time of all threads of this process for one call."""
    gc.collect()
    start = time.process_time()
    task()
    return time.process_time() - start


def processor_of(command: Sequence[str], folder: Path | None = None) -> float:
    """Return the processor time of a process and of those that it waited for."""
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)[:200]}\n{said.decode()[-2000:]}")
    return used.ru_utime + used.ru_stime


def alternating(
    tasks: Mapping[str, Any],
    rounds: int,
    measure: Callable[[Any], float] = processor_seconds,
) -> dict[str, list[float]]:
    """Measure every task once in every round, one after the other."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            times[name].append(measure(task))
    return times


def compared(
    times: Times, *, goals: Mapping[str, float] | None = None, **row: Any
) -> Iterator[Row]:
    """Yield the row of every peer in ``times``, which also has ours."""
    mine = times[OURS]
    for peer, theirs in times.items():
        if peer != OURS:
            yield Row(
                peer=peer,
                ours=statistics.median(mine),
                theirs=statistics.median(theirs),
                ratio=statistics.median(b / a for a, b in zip(mine, theirs, strict=True)),
                rounds=len(mine),
                goal=(goals or {}).get(peer),
                **row,
            )
