"""What can be wrong with a comparison, and which trials of the demo a planted fault concerns.

Each fault changes one thing and leaves the rest of the demo as it is, so that whatever a report
says of it is owed to that one thing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from tests.simulators.dice import Dice
from tests.simulators.task import Task


class Fault(StrEnum):
    """A way to spoil the comparison of the demo's two arms.

    ``dead_mcp_server``
        Every MCP call of the MCP arm fails; its agents give up after three and find at most one
        file that matters by themselves.
    ``contaminated_baseline``
        Two of the four suites of the baseline had the code-search server too, and used it.
    ``other_model``, ``other_harness_version``
        The MCP arm ran with another model, or another version of each harness.
    ``crashed_arm``
        Three of the four suites of the baseline crashed before their agents ran.
    ``pooled_paradox``
        Inside each arm reward goes up with what was found. The MCP arm finds more and is paid
        less, so that over both arms together reward goes down.
    ``other_ground_truth``, ``task_checksum``
        All tasks of the MCP arm, or one of them, were another version of the task. The ground
        truth that is read is today's in both arms: only the checksum tells.
    ``missing_rewards``
        Three of the four suites of the MCP arm have no verifier result.
    ``opaque_shell``
        The agents of the baseline look for files with opaque scripts. They find
        and earn what they did without the fault; only the traces no longer show it.

    Examples
    --------
    >>> Fault("crashed_arm") is Fault.CRASHED_ARM
    True
    """

    DEAD_MCP_SERVER = "dead_mcp_server"
    CONTAMINATED_BASELINE = "contaminated_baseline"
    OTHER_MODEL = "other_model"
    OTHER_HARNESS_VERSION = "other_harness_version"
    CRASHED_ARM = "crashed_arm"
    POOLED_PARADOX = "pooled_paradox"
    OTHER_GROUND_TRUTH = "other_ground_truth"
    TASK_CHECKSUM = "task_checksum"
    MISSING_REWARDS = "missing_rewards"
    OPAQUE_SHELL = "opaque_shell"


@dataclass(frozen=True, slots=True)
class _Reach:
    """A fault's trials: those of one arm (None: both), in these suites or tasks (None: all)."""

    is_remote: bool | None
    places: frozenset[str] | None = None


_MOST: Final = frozenset({"demo_fix", "demo_feature", "demo_review"})
_REACH: Final = {
    Fault.DEAD_MCP_SERVER: _Reach(True),
    Fault.CONTAMINATED_BASELINE: _Reach(False, frozenset({"demo_feature", "demo_crossrepo"})),
    Fault.OTHER_MODEL: _Reach(True),
    Fault.OTHER_HARNESS_VERSION: _Reach(True),
    Fault.CRASHED_ARM: _Reach(False, _MOST),
    Fault.POOLED_PARADOX: _Reach(None),
    Fault.OTHER_GROUND_TRUTH: _Reach(True),
    Fault.TASK_CHECKSUM: _Reach(True, frozenset({"lanternpost-dkim-rotation-feat-001"})),
    Fault.MISSING_REWARDS: _Reach(True, _MOST),
    Fault.OPAQUE_SHELL: _Reach(False),
}

_OTHER_MODEL: Final = "demo-large-2"
_OTHER_VERSIONS: Final = {"2.1.63": "2.1.66", "2.1.220": "2.1.224", "1.4.0": "1.5.1"}


def reaching(fault: Fault | None, task: Task, *, is_remote: bool) -> Fault | None:
    """Return the fault if it concerns the trials of a task in an arm, else None."""
    if fault is None:
        return None
    reach = _REACH[fault]
    is_there = reach.places is None or not reach.places.isdisjoint({task.suite, task.name})
    return fault if is_there and reach.is_remote in (None, is_remote) else None


def as_run(task: Task, fault: Fault | None) -> Task:
    """Return the task with the model and the harness version it ran with."""
    if fault is Fault.OTHER_MODEL:
        return replace(task, model=_OTHER_MODEL)
    if fault is Fault.OTHER_HARNESS_VERSION:
        return replace(task, version=_OTHER_VERSIONS[task.version])
    return task


def checksum(task: Task, fault: Fault | None) -> str:
    """Return the checksum of the version of the task that a trial ran."""
    is_other = fault in (Fault.OTHER_GROUND_TRUTH, Fault.TASK_CHECKSUM)
    return Dice("checksum", task.name, "other" if is_other else "own").hexadecimal(64)


def advantage(fault: Fault | None, *, is_remote: bool) -> float:
    """Return how much larger a share of the files that matter an agent comes across."""
    if fault is not Fault.POOLED_PARADOX:
        return 0.0
    return 0.2 if is_remote else -0.2


def paid(worth: float, fault: Fault | None, *, is_remote: bool) -> float:
    """Return the reward of an agent whose work is worth so much."""
    if fault is not Fault.POOLED_PARADOX:
        return worth
    return worth / 2 if is_remote else (1 + worth) / 2
