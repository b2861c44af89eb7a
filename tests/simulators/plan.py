"""What will happen in the demo: the roster of trials with everything that is special about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.simulators.behaviour import Quirks, act, imagine
from tests.simulators.dice import Dice
from tests.simulators.faults import Fault, advantage, as_run, checksum, paid, reaching
from tests.simulators.faulty_calls import with_fault
from tests.simulators.model import Action, DemoPlan, Result, TaskPlan, TrialPlan
from tests.simulators.session import Session, TimedCall, converse
from tests.simulators.task import Task
from tests.simulators.tasks import TASKS
from tests.simulators.truth import count_pairs, expect
from tests.simulators.workspace import Workspace

RUN_ID: Final = "demo"
BASELINE: Final = "baseline-local-direct"
MCP: Final = "mcp-remote-direct"

_QUIRKS: Final = {
    ("brinekeep-bloom-fault-001", BASELINE): Quirks(is_never_hit=True),
    ("quillmark-render-path-qa-001", BASELINE): Quirks(is_shell_only=True),
    ("brinekeep-compaction-stall-fix-001", BASELINE): Quirks(delegates=True),
    ("tidewheel-retention-audit-001", BASELINE): Quirks(runs_opaque_script=True),
    ("lanternpost-queue-order-trace-001", BASELINE): Quirks(mixes_up_arguments=True),
}
_CRASHED: Final = ("tidewheel-cron-dst-fix-001", BASELINE)
_WITHOUT_TRACE: Final = ("ferrypath-timezone-audit-001", MCP)
_REPEATED: Final = ("lanternpost-bounce-loop-fix-001", BASELINE)
_DECORATED: Final = frozenset({"demo_review", "demo_crossrepo"})
_BATCHES: Final = {
    (BASELINE, "demo_fix"): "2026-01-05__09-00-00",
    (BASELINE, "demo_feature"): "2026-01-05__11-30-00",
    (BASELINE, "demo_review"): "2026-01-05__14-00-00",
    (BASELINE, "demo_crossrepo"): "2026-01-05__16-30-00",
    (MCP, "demo_fix"): "2026-01-06__09-00-00",
    (MCP, "demo_feature"): "2026-01-06__11-30-00",
    (MCP, "demo_review"): "2026-01-06__14-00-00",
    (MCP, "demo_crossrepo"): "2026-01-06__16-30-00",
}
_REPEAT_BATCH: Final = "2026-01-07__09-00-00"
_SOURCES: Final = {
    "reference_fix": "reference_fix.patch",
    "expected_changes": "expected_changes.json",
    "defects": "expected_defects.json",
    "none": None,
}

_NO_RESULT: Final = Result(None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class Staged:
    """A planned trial with what is needed to write its files."""

    plan: TrialPlan
    task: Task
    session: Session | None
    dice: Dice
    task_checksum: str


@dataclass(frozen=True, slots=True)
class Stage:
    """The plan and the trials to write."""

    plan: DemoPlan
    trials: tuple[Staged, ...]


def make_stage(seed: int, fault: Fault | None = None) -> Stage:
    """Return the whole demo for a seed; the tasks themselves are the same for every seed."""
    tasks = {task.name: task_plan(task) for task in TASKS}
    staged = [
        _stage_trial(seed, task, tasks[task.name], config, repeat, fault)
        for config in (BASELINE, MCP)
        for repeat in (0, 1)
        for task in TASKS
        if repeat == 0 or (task.name, config) == _REPEATED
    ]
    trials = tuple(item.plan for item in staged)
    ledger = {
        "n_tasks": len(TASKS),
        "n_trials": len(trials),
        "n_evaluated": sum(trial.fate == "evaluated" for trial in trials),
        "n_degraded": sum(trial.fate == "degraded" for trial in trials),
        "n_excluded": 1,
        "n_without_ground_truth": sum(not tasks[trial.task_name].files for trial in trials),
        "n_computable": sum(
            trial.expected is not None and trial.expected.file_recall is not None
            for trial in trials
        ),
    }
    pairs = count_pairs(trials, (BASELINE, MCP))
    plan = DemoPlan(
        seed,
        RUN_ID,
        BASELINE,
        MCP,
        tuple(tasks.values()),
        trials,
        ledger,
        pairs,
        fault,
        _affected(seed, staged) if fault else (),
    )
    return Stage(plan, tuple(staged))


def _affected(seed: int, staged: list[Staged]) -> tuple[str, ...]:
    """Return the paths of the trials that differ from those of the demo without a fault."""
    ordinary = make_stage(seed).trials
    return tuple(
        now.plan.path
        for now, before in zip(staged, ordinary, strict=True)
        if (now.plan, now.task_checksum) != (before.plan, before.task_checksum)
    )


def task_plan(task: Task) -> TaskPlan:
    """Return the ground truth of a task as the plan states it."""
    has_edits = task.truth_form in {"reference_fix", "expected_changes"}
    return TaskPlan(
        task.name,
        task.suite,
        task.truth,
        _SOURCES.get(task.truth_form, "ground_truth.json"),
        task.truth if has_edits else None,
        chunks_of(task) if task.truth_form == "defects" else (),
    )


def chunks_of(task: Task) -> tuple[tuple[str, int, int], ...]:
    """Return the line ranges a review is after: two to a file, at fixed places."""
    space = Workspace(task)
    ranges = []
    for label in task.truth:
        dice = Dice("chunks", label)
        middle = len(space.lines(label)) // 2
        first = dice.whole(2, middle - 8, "first")
        second = dice.whole(middle, middle + 10, "second")
        ranges += [(label, first, first + 3), (label, second, second + 5)]
    return tuple(ranges)


def _stage_trial(
    seed: int, task: Task, truth: TaskPlan, config: str, repeat: int, planted: Fault | None
) -> Staged:
    fault = reaching(planted, task, is_remote=config == MCP)
    task = as_run(task, fault)
    shared = Dice(seed, task.name)
    dice = shared.scoped(config, repeat)
    key = (task.name, config)
    is_crashed = key == _CRASHED or fault is Fault.CRASHED_ARM
    session, found = None, None
    if not is_crashed and key != _WITHOUT_TRACE:
        session, found = _play(task, truth, shared, dice, config, fault)
    actions = actions_of(session) if session else ()
    naming = Dice("name", task.name, config, repeat)
    raw_name = task.name
    if config == MCP and task.suite in _DECORATED:
        raw_name = f"mcp_{task.name}_{naming.identifier(6, 'decoration').lower()}"
    plan = TrialPlan(
        run_id=RUN_ID,
        config=config,
        task_name=task.name,
        raw_task_name=raw_name,
        benchmark=task.suite,
        trial_name=f"{raw_name[:32]}__{naming.identifier(7, 'trial')}",
        batch=_REPEAT_BATCH if repeat else _BATCHES[config, task.suite],
        harness=task.harness,
        harness_version=task.version,
        model=task.model,
        source=task.source if session else None,
        fate="evaluated" if session else "degraded",
        is_crashed=is_crashed,
        n_calls=sum(len(m.calls) for m in session.messages) if session else 0,
        actions=actions,
        result=_NO_RESULT if is_crashed else _result(task, session, found, dice, config, fault),
        expected=expect(truth, actions) if session else None,
    )
    return Staged(plan, task, session, dice, checksum(task, fault))


def _play(
    task: Task, truth: TaskPlan, shared: Dice, dice: Dice, config: str, fault: Fault | None
) -> tuple[Session, float | None]:
    """Return a session and the share of the files that matter its agent really found.

    The share is more than the session shows where a fault hides what the agent did.
    """
    is_remote, quirks = config == MCP, _QUIRKS.get((task.name, config), Quirks())
    more = advantage(fault, is_remote=is_remote)
    scene = imagine(task, shared, dice, is_remote=is_remote, quirks=quirks, advantage=more)
    calls = act(task, scene, dice, is_remote=is_remote, quirks=quirks)
    session = converse(task, with_fault(calls, fault, task, scene, dice), dice, is_remote=is_remote)
    seen = (
        converse(task, calls, dice, is_remote=is_remote) if fault is Fault.OPAQUE_SHELL else session
    )
    return session, expect(truth, actions_of(seen)).file_recall


def actions_of(session: Session) -> tuple[Action, ...]:
    """Return the events a session must become, in order."""
    actions: list[Action] = []
    for message in session.messages:
        for timed in message.calls:
            for deed in timed.call.deeds:
                of_call = deed.program is None
                actions.append(
                    Action(
                        step=len(actions),
                        tool=timed.call.name if of_call else str(deed.program),
                        category=deed.category,
                        via=None if of_call else "shell",
                        touches=deed.touches,
                        second=timed.second,
                        cumulative_tokens=message.tokens_so_far,
                        is_mcp=timed.call.is_mcp,
                        is_subagent=message.parent_id is not None,
                        is_error=of_call and timed.call.is_error,
                        is_opaque=of_call and timed.call.is_opaque,
                    )
                )
    return tuple(actions)


def _result(
    task: Task,
    session: Session | None,
    found: float | None,
    dice: Dice,
    config: str,
    fault: Fault | None,
) -> Result:
    """Return an outcome in which the reward goes with recall, and much else besides."""
    share = 0.5 if found is None else found
    reward: float | None = None
    if fault is not Fault.MISSING_REWARDS:
        worth = 0.12 + 0.68 * share + 0.17 * dice.normal("reward")
        worth = min(1.0, max(0.0, worth if share else 0.0))
        reward = round(paid(worth, fault, is_remote=config == MCP), 4)
    if session is None:
        elapsed = round(dice.between(90, 160, "elapsed"), 3)
        return Result(reward, round(dice.between(0.2, 0.5, "cost"), 6), None, None, elapsed)
    usage = session.usage
    cost = round(usage.cost(task.model), 6)
    return Result(reward, cost, usage.prompt, usage.output, session.duration)


def timed_calls(session: Session) -> list[TimedCall]:
    """Return every call of a session in the order of the messages."""
    return [timed for message in session.messages for timed in message.calls]
