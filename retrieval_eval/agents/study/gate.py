"""The validity gate: what must hold before two configurations may be compared.

Every rule finds trials and removes those that no rule before it removed. A rule that removes too
large a share of an arm, or that finds the whole arm broken, fails the gate: then there is no
verdict, whatever the numbers. To add a rule, add a function here or an entry point.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

from retrieval_eval.agents.study.arms import Arm, Roles, roles_of
from retrieval_eval.agents.study.stated import Stated
from retrieval_eval.agents.study.trials import Task, Trial
from retrieval_eval.model.design import ArmDesign, Treatment
from retrieval_eval.model.impact import Gate, GateRule, LetThrough, NamedTrial
from retrieval_eval.registry import Registry

MAX_REMOVED_SHARE: Final = 1 / 3
"""A rule that removes more than this share of an arm's trials fails the gate."""

MAX_OPAQUE_GAP: Final = 0.15
"""Shares of opaque calls that differ by more than this fail the gate."""

MIN_CALLS: Final = 10
"""An arm with fewer calls has an opaque share of 0, because so few hide little."""

UNREADABLE: Final = "calls_unreadable"
"""The flag of a trace that shows an agent at work whose calls cannot be read."""


@dataclass(slots=True)
class Finding:
    """The result of one rule: the trials found and removed, and whether it fails the gate."""

    name: str
    found: list[Trial] = field(default_factory=list)
    removed: list[Trial] = field(default_factory=list)
    share_removed: float = 0.0
    is_failed: bool = False
    detail: str | None = None

    def fail(self, detail: str) -> None:
        """Fail the gate; details of several arms are joined."""
        self.is_failed = True
        self.detail = detail if self.detail is None else f"{self.detail}; {detail}"

    @property
    def record(self) -> GateRule:
        """The rule's entry in ``gate.rules``."""
        return GateRule(
            name=self.name,
            meaning=RULES[self.name].meaning,
            count=len(self.found),
            n_removed=len(self.removed),
            share_removed=self.share_removed,
            failed=self.is_failed,
            detail=self.detail,
            trials=tuple(
                NamedTrial(
                    config_name=trial.config_name,
                    task_name=trial.task_name,
                    trial_name=trial.trial_name,
                )
                for trial in self.found
            ),
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the gate.

    ``check`` is given the :class:`Check` of the rule. ``title`` is its printed name and ``meaning``
    what it finds. ``clause`` describes the result in a report: for trials it is the predicate ("3
    trials of mcp …"), for tasks it contains ``{tasks}`` for their count, and for arms it is a whole
    clause. ``gravity`` orders the rules that failed, the gravest (least) first. With ``is_loss``
    the rule removes a trial for what happened in it, so that its arm lacks what it would have
    shown. The rule is left out where the arms are meant to differ in one of its ``treatments``.
    """

    check: Callable[[Check], None]
    meaning: str
    title: str
    clause: str
    subject: Literal["trials", "tasks", "arms"] = "trials"
    gravity: float = 100
    is_loss: bool = False
    treatments: tuple[Treatment, ...] = ()


RULES: Final = Registry[Rule]("retrieval_eval.gate_rules", "rule of the validity gate")
"""Every rule by name, in the order in which they remove trials."""


def rule(
    *,
    meaning: str,
    title: str,
    clause: str,
    subject: Literal["trials", "tasks", "arms"] = "trials",
    gravity: float = 100,
    is_loss: bool = False,
    treatments: tuple[Treatment, ...] = (),
) -> Callable[[Callable[[Check], None]], Rule]:
    """Return a decorator that makes a function a :class:`Rule`.

    Examples
    --------
    >>> @rule(meaning="the trial made no call", title="No call", clause="made no call")
    ... def no_call(check):
    ...     check.remove_each(lambda trial: not trial.calls_seen)
    >>> no_call.title, no_call.gravity
    ('No call', 100)
    """
    return lambda check: Rule(check, meaning, title, clause, subject, gravity, is_loss, treatments)


class Check:
    """The input of one rule: both arms, their roles, and the trials that are left of them."""

    def __init__(
        self, arms: tuple[Arm, Arm], roles: Roles, left: dict[str, list[Trial]], finding: Finding
    ) -> None:
        self.arms = arms
        self.roles = roles
        self.left = left
        self.finding = finding

    def remove_each(
        self, is_invalid: Callable[[Trial], bool], only: Arm | None = None, *, why: str = ""
    ) -> None:
        """Remove every trial that is invalid by itself, of both arms or of one.

        ``why`` is added to what a failed gate says of the arm.
        """
        arms = (only,) if only is not None else self.arms
        self.finding.found += [t for arm in arms for t in arm.trials if is_invalid(t)]
        for arm in arms:
            self._remove(arm, [t for t in self.left[arm.config] if is_invalid(t)], why)

    def keep_alike(self, key: Callable[[Trial], Any], *, is_strict: bool = False) -> None:
        """Keep the trials of shared tasks whose key occurs in both arms.

        Of several such keys the one with most trials is kept, so that all pairs have one key. An
        unknown key matches only another unknown one when strict, and anything otherwise; it does
        not hide that the known ones differ.
        """
        left, right = (by_task(self.left[arm.config]) for arm in self.arms)
        anything: set[Any] = set() if is_strict else {None}
        drop: dict[str, list[Trial]] = {arm.config: [] for arm in self.arms}
        for task in sorted(left.keys() & right.keys()):
            sides = left[task], right[task]
            if len({key(trial) for side in sides for trial in side}) == 1:
                continue  # nearly always, and then nothing else need be known
            before, after = (_by_key(side, key) for side in sides)
            if before.keys() <= anything or after.keys() <= anything:
                continue
            shared = sorted(before.keys() & after.keys() - anything, key=str)
            best = max(shared, key=lambda k: len(before[k]) + len(after[k]), default=_NO_KEY)
            kept = {best, *anything}
            for arm, groups in zip(self.arms, (before, after), strict=True):
                drop[arm.config] += [t for k, ts in groups.items() if k not in kept for t in ts]
        for arm in self.arms:
            self.finding.found += drop[arm.config]
            self._remove(arm, drop[arm.config])

    def fail(self, trials: Sequence[Trial], detail: str) -> None:
        """Fail the gate because of some trials."""
        self.finding.found += trials
        self.finding.fail(detail)

    def _remove(self, arm: Arm, trials: Sequence[Trial], why: str = "") -> None:
        gone = {id(trial) for trial in trials}
        self.left[arm.config] = [t for t in self.left[arm.config] if id(t) not in gone]
        self.finding.removed += trials
        share = len(trials) / len(arm.trials) if arm.trials else 0.0
        self.finding.share_removed = max(self.finding.share_removed, share)
        if share > MAX_REMOVED_SHARE:
            counts = f"{len(trials)} of {len(arm.trials)} trials of {arm.config}"
            self.finding.fail(f"{counts}: {why}" if why else counts)


_NO_KEY: Final = object()


def by_task(trials: Iterable[Trial]) -> dict[Task, tuple[Trial, ...]]:
    """Return trials by suite and task, in order."""
    groups: dict[Task, list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.task].append(trial)
    return {task: tuple(group) for task, group in sorted(groups.items())}


def _by_key(trials: Sequence[Trial], key: Callable[[Trial], Any]) -> dict[Any, list[Trial]]:
    groups: dict[Any, list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[key(trial)].append(trial)
    return groups


@RULES.register("crashed_before_start")
@rule(
    meaning="the trial crashed before the agent did anything",
    title="Crashed before the agent ran",
    clause="crashed before the agent ran",
    gravity=0,
    is_loss=True,
)
def _crashed(check: Check) -> None:
    check.remove_each(lambda trial: trial.has_exception and not trial.calls_seen)


@RULES.register("calls_unreadable")
@rule(
    meaning="the trace shows an agent at work, and its calls cannot be read: what it found is not "
    "known",
    title="Calls that cannot be read",
    clause="left a trace whose calls cannot be read",
    gravity=7.5,
    is_loss=True,
)
def _unread(check: Check) -> None:
    check.remove_each(
        lambda trial: (
            trial.reason == UNREADABLE or any(UNREADABLE in flag for flag in trial.quality_flags)
        )
    )


@RULES.register("degraded_trace")
@rule(
    meaning="the trace is missing, cut or incomplete: its recall is a lower bound",
    title="Degraded trace",
    clause="left no complete trace",
    gravity=8,
    is_loss=True,
)
def _degraded(check: Check) -> None:
    check.remove_each(lambda trial: trial.has_degraded_trace)


@RULES.register("mcp_in_baseline")
@rule(
    meaning="a trial called a tool with success that its arm is meant to do without, such as an "
    "MCP server in the control arm",
    title="Forbidden tool used",
    clause="used a tool that the arm is meant to do without",
    gravity=2,
    is_loss=True,
)
def _used_forbidden(check: Check) -> None:
    for arm, design in zip(check.arms, check.roles.designs, strict=True):
        if tools := design.must_not_use:
            why = "; ".join(map(arm.use_of, tools))
            check.remove_each(partial(_has_used, tools), only=arm, why=why)


def _has_used(tools: Iterable[str], trial: Trial) -> bool:
    return any((trial.use_of(tool) or (0, 0))[1] > 0 for tool in tools)


@RULES.register("dead_mcp_server")
@rule(
    meaning="a trial made no successful call of a tool that its arm must use, or every call of one "
    "that it may use failed, or no trial of an arm named for MCP called a server",
    title="Required tool not used",
    clause="made no successful call of a required tool",
    gravity=1,
    is_loss=True,
)
def _unused(check: Check) -> None:
    for arm, why in check.roles.doubt:
        if not arm.n_callers:
            check.fail(arm.trials, why)
    for arm, design in zip(check.arms, check.roles.designs, strict=True):
        if design.must_use or design.may_use:
            why = "; ".join(map(arm.use_of, (*design.must_use, *design.may_use)))
            check.remove_each(partial(_lacks, design), only=arm, why=why)


def _lacks(design: ArmDesign, trial: Trial) -> bool:
    """Return whether a trial that ran lacks an answer of a tool its arm is meant to use."""
    if not trial.calls_seen:
        return False
    must = (trial.use_of(tool) for tool in design.must_use)
    may = (trial.use_of(tool) for tool in design.may_use)
    return any(use is not None and not use[1] for use in must) or any(
        use is not None and use[0] > 0 and not use[1] for use in may
    )


@RULES.register("task_checksum_differs")
@rule(
    meaning="the task was another version in the other arm",
    title="Another version of the task",
    clause="the arms ran different versions of {tasks}",
    subject="tasks",
    gravity=6,
)
def _other_task(check: Check) -> None:
    check.keep_alike(lambda trial: trial.task_checksum)


@RULES.register("ground_truth_differs")
@rule(
    meaning="the ground truth was another version in the other arm",
    title="Another ground truth",
    clause="the ground truth differs between the arms on {tasks}",
    subject="tasks",
    gravity=7,
)
def _other_truth(check: Check) -> None:
    check.keep_alike(lambda trial: trial.ground_truth_digest)


@RULES.register("model_differs")
@rule(
    meaning="the other arm has no trial of the task known to be of the same model",
    title="Another model",
    clause="the arms ran {tasks} with different models",
    subject="tasks",
    gravity=4,
    treatments=("model", "agent"),
)
def _other_model(check: Check) -> None:
    check.keep_alike(lambda trial: trial.model, is_strict=True)


@RULES.register("harness_version_differs")
@rule(
    meaning="the other arm has no trial known to be of the same harness",
    title="Another harness version",
    clause="the arms ran {tasks} with different harness versions",
    subject="tasks",
    gravity=5,
    treatments=("harness", "agent"),
)
def _other_harness(check: Check) -> None:
    check.keep_alike(lambda trial: (trial.harness, trial.harness_version), is_strict=True)


@RULES.register("no_ground_truth")
@rule(
    meaning="the task names no file to find; its trials count for outcomes only",
    title="No ground truth",
    clause="had no ground truth",
    gravity=9,
)
def _no_truth(check: Check) -> None:
    # It is missing in both arms alike, so nothing is removed.
    check.finding.found += [
        trial for arm in check.arms for trial in check.left[arm.config] if trial.lacks_ground_truth
    ]


@RULES.register("missing_verifier_result")
@rule(
    meaning="the trial has no valid reward: it counts for retrieval only, and where over a third "
    "of an arm lacks one, nothing does, unless the design says that no trial was scored",
    title="No valid reward",
    clause="had no valid reward",
    gravity=10,
)
def _no_reward(check: Check) -> None:
    for arm in check.arms:
        lacking = [trial for trial in check.left[arm.config] if "reward" not in trial.numbers]
        check.finding.found += lacking
        n = len(check.left[arm.config])
        if lacking and check.roles.has_rewards and len(lacking) / n > MAX_REMOVED_SHARE:
            check.finding.fail(f"{len(lacking)} of {n} valid trials of {arm.config}")


@RULES.register("opaque_share_differs")
@rule(
    meaning="the arms differ in the share of their calls that stay unresolved",
    title="Unequal share of opaque calls",
    clause="the arms differ in their share of calls that cannot be resolved",
    subject="arms",
    gravity=11,
)
def _unequal_opaque_shares(check: Check) -> None:
    if not all(check.left[arm.config] for arm in check.arms):
        # Another rule removed an arm and has failed; nothing is left to compare.
        return
    own = [opaque_calls(check.left[arm.config]) for arm in check.arms]
    shares = [calls.share for calls in own]
    if abs(shares[0] - shares[1]) > MAX_OPAQUE_GAP:
        worse = check.arms[shares[1] > shares[0]]
        trials = [trial for trial in check.left[worse.config] if trial.shell_opaque]
        details = (f"{arm.config}: {calls}" for arm, calls in zip(check.arms, own, strict=True))
        check.fail(trials, "; ".join(details))


@dataclass(frozen=True, slots=True)
class OpaqueCalls:
    """How many of an agent's calls stay unresolved, of all that it made whatever the tool."""

    n: int
    of: int

    @property
    def share(self) -> float:
        """The share of opaque calls; 0 of too few calls."""
        return self.n / self.of if self.of >= MIN_CALLS else 0.0

    def __str__(self) -> str:
        share = f"{self.share:.2f}" if self.of >= MIN_CALLS else "too few, taken as 0"
        return f"{self.n} of {self.of} calls, {share}"


def opaque_calls(trials: Iterable[Trial]) -> OpaqueCalls:
    """Return how many calls of some trials are opaque.

    Of all calls: an agent that reads with tools of its own makes fewer shell calls than one that
    has only a shell, of which the same number of opaque ones would be a larger share.
    """
    counts = [(trial.shell_opaque, trial.calls_seen) for trial in trials]
    return OpaqueCalls(sum(n for n, _ in counts), sum(calls for _, calls in counts))


@RULES.register("mcp_role_unclear")
@rule(
    meaning="the arm's name and its trials, or the two arms' trials, disagree on whether it is "
    "meant to use MCP, and no design states it",
    title="Unclear use of MCP",
    clause="it is unclear which arm is meant to use MCP",
    subject="arms",
    gravity=3,
)
def _unclear_role(check: Check) -> None:
    for arm, why in check.roles.doubt:
        if arm.n_callers:
            check.fail(arm.trials, why)


@dataclass(frozen=True, slots=True)
class Valid:
    """The trials of both arms that may be compared, their roles, and what every rule found."""

    baseline: Mapping[Task, tuple[Trial, ...]]
    comparison: Mapping[Task, tuple[Trial, ...]]
    findings: tuple[Finding, ...]
    roles: Roles

    @property
    def failed(self) -> list[str]:
        """The names of the rules that fail the gate."""
        return [finding.name for finding in self.findings if finding.is_failed]

    @property
    def gate(self) -> Gate:
        """The gate block of a comparison."""
        rules = tuple(finding.record for finding in self.findings)
        return Gate(passed=not self.failed, failed=tuple(self.failed), rules=rules)


def screen(baseline: Arm, comparison: Arm, stated: Stated | None = None) -> Valid:
    """Apply every rule to two arms; the trials that no rule removed are left, by task.

    ``stated`` is what the user stated of the arms; the rest is inferred from their trials.
    """
    arms = (baseline, comparison)
    roles = roles_of(arms, stated)
    left = {arm.config: list(arm.trials) for arm in arms}
    findings = []
    for name, entry in RULES.items():
        findings.append(Finding(name))
        if roles.treatment not in entry.treatments:
            entry.check(Check(arms, roles, left, findings[-1]))
        if not all(arm.trials for arm in arms):
            # Nothing is compared, so there is nothing that a rule could withhold.
            findings[-1].is_failed, findings[-1].detail = False, None
    kept = [by_task(left[arm.config]) for arm in arms]
    return Valid(kept[0], kept[1], tuple(findings), roles)


def let_through(
    trials: Sequence[Trial],
    pairs: Iterable[tuple[str, str]],
    stated: Stated | None = None,
) -> tuple[tuple[Trial, ...], tuple[LetThrough, ...]]:
    """Return the trials that the gate of a comparison let through, and how many by configuration.

    A rule about a trial itself (it crashed, its trace is incomplete) removes it from every
    comparison of its configuration. A rule about two arms (another model, another version of the
    task, MCP calls in a control) does not concern a third arm, so such a trial counts as soon as
    one comparison lets it through. A configuration without a comparison is checked by the rules
    about a trial itself. Of several rules that of the first comparison is named.
    """
    own: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        own[trial.config_name].append(trial)
    arms = {config: Arm(config, tuple(trials)) for config, trials in sorted(own.items())}
    known = [pair for pair in pairs if set(pair) <= arms.keys()]
    compared = {config for pair in known for config in pair}
    # Beside an arm without trials only the rules about a trial itself remove any.
    alone = [
        (arm, Arm(f"no arm beside {config}", ()))
        for config, arm in arms.items()
        if config not in compared
    ]
    passed: set[int] = set()
    removed_by: dict[int, str] = {}
    for one, other in [*alone, *((arms[a], arms[b]) for a, b in known)]:
        valid = screen(one, other, stated)
        for left in (*valid.baseline.values(), *valid.comparison.values()):
            passed.update(map(id, left))
        for finding in valid.findings:
            for trial in finding.removed:
                removed_by.setdefault(id(trial), finding.name)
    return (
        tuple(trial for trial in trials if id(trial) in passed),
        tuple(_row(arm, passed, removed_by) for arm in arms.values()),
    )


def _row(arm: Arm, passed: set[int], removed_by: dict[int, str]) -> LetThrough:
    removed = Counter(removed_by[id(trial)] for trial in arm.trials if id(trial) not in passed)
    return LetThrough(
        config_name=arm.config,
        n_trials=len(arm.trials),
        n_used=len(arm.trials) - removed.total(),
        removed=dict(sorted(removed.items())),
    )
