"""The plan: what every trial does and what must therefore be measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tests.simulators.faults import Fault
from tests.simulators.moves import Touch


@dataclass(frozen=True, slots=True)
class Action:
    """One expected event. Seconds count from the start of the agent, tokens are cumulative."""

    step: int
    tool: str
    category: str
    via: str | None
    touches: tuple[Touch, ...]
    second: float
    cumulative_tokens: int
    is_mcp: bool = False
    is_subagent: bool = False
    is_error: bool = False
    is_opaque: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the JSON shape used in ``demo_plan.json``."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return fields | {"touches": [touch.to_json() for touch in self.touches]}


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be measured for one trial; None where the value is not computable.

    The keys of ``precision``, ``recall`` and ``ndcg`` are cut-offs. ``taxonomy`` counts files by
    label. Chunk values exist only for a task with line ranges.
    """

    accessed: tuple[str, ...]
    opened: tuple[str, ...]
    written: tuple[str, ...]
    file_recall: float | None = None
    precision: dict[str, float] | None = None
    recall: dict[str, float] | None = None
    ndcg: dict[str, float] | None = None
    mrr: float | None = None
    map_score: float | None = None
    context_efficiency: float | None = None
    first_hit_step: int | None = None
    first_hit_second: float | None = None
    first_hit_tokens: int | None = None
    first_hit_rank: int | None = None
    util_read_overlap: float | None = None
    util_write_overlap_proxy: float | None = None
    util_write_overlap_expected_edits: float | None = None
    util_read_before_write: float | None = None
    taxonomy: dict[str, int] | None = None
    chunk_recall: float | None = None
    line_overlap: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one trial as its files record it; None where they do not."""

    reward: float | None
    cost_usd: float | None
    input_tokens: int | None
    output_tokens: int | None
    elapsed_seconds: float | None


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """One trial: where it lies, what happens in it, what must be measured.

    ``fate`` is ``evaluated`` or ``degraded`` (no trace). ``n_calls`` counts tool calls,
    housekeeping included.
    """

    run_id: str
    config: str
    task_name: str
    raw_task_name: str
    benchmark: str
    trial_name: str
    batch: str
    harness: str
    harness_version: str
    model: str
    source: str | None
    fate: str
    is_crashed: bool
    n_calls: int
    actions: tuple[Action, ...]
    result: Result
    expected: Expected | None

    @property
    def path(self) -> str:
        """The trial's folder relative to the runs root."""
        return f"{self.run_id}/{self.config}/{self.batch}/{self.trial_name}"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON shape used in ``demo_plan.json``."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return fields | {
            "path": self.path,
            "actions": [action.to_json() for action in self.actions],
            "result": asdict(self.result),
            "expected": asdict(self.expected) if self.expected else None,
        }


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """One task: its ground truth as the plan's labels, and where that is written down."""

    task_name: str
    benchmark: str
    files: tuple[str, ...]
    source: str | None
    expected_edit_files: tuple[str, ...] | None
    chunks: tuple[tuple[str, int, int], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON shape used in ``demo_plan.json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """The whole demo: tasks, trials, and the counts that a correct evaluation arrives at.

    ``ledger`` counts trials by status; ``n_pairs`` counts, by metric, the tasks that have a value
    in both configs under the same model and harness version. ``fault`` is what was planted on
    purpose, and ``affected`` are the paths of the trials that are other than without it.
    """

    seed: int
    run_id: str
    baseline_config: str
    mcp_config: str
    tasks: tuple[TaskPlan, ...]
    trials: tuple[TrialPlan, ...]
    ledger: dict[str, int]
    n_pairs: dict[str, int]
    fault: Fault | None = None
    affected: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON shape of ``demo_plan.json``; only a planted fault is mentioned."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        if self.fault is None:
            del fields["fault"], fields["affected"]
        return fields | {
            "tasks": [task.to_json() for task in self.tasks],
            "trials": [trial.to_json() for trial in self.trials],
        }
