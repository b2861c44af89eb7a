"""Arm validity: what must hold before two configurations may be compared.

Every rule has a name, finds trials, and removes those that no rule before it removed. A rule that
removes too large a share of an arm, or that finds the whole arm broken, fails the gate: then there
is no verdict, whatever the numbers say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from retrieval_eval.metrics.catalog import BY_NAME, read_metric
from retrieval_eval.study.arms import (
    Arm,
    Document,
    Roles,
    Task,
    has_called_mcp,
    roles_of,
    task_of,
)

MAX_REMOVED_SHARE: Final = 1 / 3
"""A rule that removes more than this share of an arm's trials fails the gate."""

MAX_OPAQUE_GAP: Final = 0.15
"""Shares of opaque shell calls that differ by more than this fail the gate."""

MIN_SHELL_CALLS: Final = 10
"""An arm with fewer shell calls has an opaque share of 0: so few cannot hide much."""

RULES: Final[dict[str, str]] = {
    "crashed_before_start": "the trial crashed before the agent did anything",
    "degraded_trace": "the trace is missing, cut or incomplete: its recall is a lower bound",
    "mcp_in_baseline": "a trial of the arm that is meant to do without called an MCP server "
    "successfully",
    "dead_mcp_server": "a trial of an arm that is meant to use MCP called a server and no call "
    "succeeded, or no trial of an arm named for MCP or stated to use it called any",
    "task_checksum_differs": "the task was another version in the other arm",
    "ground_truth_differs": "the ground truth was another version in the other arm",
    "model_differs": "the other arm has no trial of the task known to be of the same model",
    "harness_version_differs": "the other arm has no trial known to be of the same harness",
    "no_ground_truth": "the task names no file to find; its trials count for outcomes only",
    "missing_verifier_result": "the trial has no valid reward: it counts for retrieval only, and "
    "where over a third of an arm lacks one, nothing does",
    "opaque_share_differs": "the arms differ in the share of shell calls that stay unresolved",
    "mcp_role_unclear": "the arm's name or stated role and its trials, or the two arms' trials, "
    "disagree on whether it is meant to use MCP",
}
"""Every rule with its meaning, in the order in which they remove trials."""

LOSSES: Final = (
    "crashed_before_start",
    "degraded_trace",
    "mcp_in_baseline",
    "dead_mcp_server",
)
"""The rules that remove a trial for what happened in it: its arm lacks what it would have shown."""


@dataclass(slots=True)
class Finding:
    """What one rule found: trials, those it removed, and whether it fails the gate."""

    name: str
    found: list[Document] = field(default_factory=list)
    removed: list[Document] = field(default_factory=list)
    share_removed: float = 0.0
    is_failed: bool = False
    detail: str | None = None

    def fail(self, detail: str) -> None:
        """Fail the gate; what several arms fail by is listed."""
        self.is_failed = True
        self.detail = detail if self.detail is None else f"{self.detail}; {detail}"

    def to_json(self) -> dict[str, Any]:
        """Return the rule's entry in ``gate.rules``."""
        return {
            "name": self.name,
            "meaning": RULES[self.name],
            "count": len(self.found),
            "n_removed": len(self.removed),
            "share_removed": self.share_removed,
            "failed": self.is_failed,
            "detail": self.detail,
            "trials": [
                {k: d["provenance"][k] for k in ("config_name", "task_name", "trial_name")}
                for d in self.found
            ],
        }


@dataclass(frozen=True, slots=True)
class Valid:
    """The trials of both arms that may be compared, their roles, and what every rule found."""

    baseline: Mapping[Task, tuple[Document, ...]]
    comparison: Mapping[Task, tuple[Document, ...]]
    findings: tuple[Finding, ...]
    roles: Roles

    @property
    def failed(self) -> list[str]:
        """The names of the rules that fail the gate."""
        return [finding.name for finding in self.findings if finding.is_failed]


def screen(baseline: Arm, comparison: Arm, mcp_configs: Collection[str] | None = None) -> Valid:
    """Check two arms by every rule; trials no rule removed are left, by task.

    ``mcp_configs`` states which configurations are meant to use MCP; by default what their trials
    used says it.
    """
    gate = _Gate(baseline, comparison)
    roles = roles_of((baseline, comparison), mcp_configs)
    gate.remove_each("crashed_before_start", _has_crashed)
    gate.remove_each("degraded_trace", _is_degraded)
    for arm, why in roles.doubt:
        gate.fail("mcp_role_unclear" if arm.n_callers else "dead_mcp_server", arm.trials, why)
    if roles.control is not None:
        gate.remove_each("mcp_in_baseline", _was_answered, only=roles.control)
    for arm in roles.users:
        gate.remove_each("dead_mcp_server", _called_in_vain, only=arm)
    gate.keep_alike("task_checksum_differs", lambda d: d["outcome"].get("task_checksum"))
    gate.keep_alike("ground_truth_differs", lambda d: d["coverage"].get("ground_truth_digest"))
    gate.keep_alike("model_differs", lambda d: d["provenance"].get("model"), is_strict=True)
    gate.keep_alike("harness_version_differs", _harness, is_strict=True)
    gate.find_tasks_without_truth()
    gate.find_missing_rewards()
    gate.compare_opaque_shares()
    return Valid(
        gate.by_task(baseline),
        gate.by_task(comparison),
        tuple(gate.findings[name] for name in RULES),
        roles,
    )


class _Gate:
    def __init__(self, baseline: Arm, comparison: Arm) -> None:
        self.arms = (baseline, comparison)
        self.left: dict[str, list[Document]] = {a.config: list(a.trials) for a in self.arms}
        self.findings = {name: Finding(name) for name in RULES}

    def by_task(self, arm: Arm) -> dict[Task, tuple[Document, ...]]:
        groups: dict[Task, list[Document]] = defaultdict(list)
        for document in self.left[arm.config]:
            groups[task_of(document)].append(document)
        return {task: tuple(group) for task, group in sorted(groups.items())}

    def remove_each(
        self, name: str, is_invalid: Callable[[Document], bool], only: Arm | None = None
    ) -> None:
        arms = (only,) if only is not None else self.arms
        self.findings[name].found += [d for a in arms for d in a.trials if is_invalid(d)]
        for arm in arms:
            self._remove(name, arm, [d for d in self.left[arm.config] if is_invalid(d)])

    def keep_alike(
        self, name: str, key: Callable[[Document], Any], *, is_strict: bool = False
    ) -> None:
        """Keep the trials of shared tasks whose key occurs in both arms.

        Of several keys that do, the one with most trials is kept, so that every pair is alike. An
        unknown key matches only another unknown one when strict, and anything otherwise; it does
        not hide that the known ones differ.
        """
        left, right = (self.by_task(arm) for arm in self.arms)
        anything: set[Any] = set() if is_strict else {None}
        drop: dict[str, list[Document]] = {arm.config: [] for arm in self.arms}
        for task in sorted(left.keys() & right.keys()):
            before, after = _by_key(left[task], key), _by_key(right[task], key)
            if before.keys() <= anything or after.keys() <= anything:
                continue
            shared = sorted(before.keys() & after.keys() - anything, key=str)
            best = max(shared, key=lambda k: len(before[k]) + len(after[k]), default=_NO_KEY)
            kept = {best, *anything}
            for arm, groups in zip(self.arms, (before, after), strict=True):
                drop[arm.config] += [d for k, ds in groups.items() if k not in kept for d in ds]
        for arm in self.arms:
            self.findings[name].found += drop[arm.config]
            self._remove(name, arm, drop[arm.config])

    def fail(self, name: str, trials: Sequence[Document], detail: str) -> None:
        finding = self.findings[name]
        finding.found += trials
        finding.fail(detail)

    def find_tasks_without_truth(self) -> None:
        """Count trials without recall for want of ground truth; it lacks in both arms alike."""
        self.findings["no_ground_truth"].found += [
            d for arm in self.arms for d in self.left[arm.config] if lacks_ground_truth(d)
        ]

    def find_missing_rewards(self) -> None:
        """Count trials without reward; without them a reward cannot be compared, recall can."""
        finding = self.findings["missing_verifier_result"]
        for arm in self.arms:
            lacking = [
                d for d in self.left[arm.config] if not read_metric(d, BY_NAME["reward"]).computable
            ]
            finding.found += lacking
            n = len(self.left[arm.config])
            if lacking and len(lacking) / n > MAX_REMOVED_SHARE:
                finding.fail(f"{len(lacking)} of {n} valid trials of {arm.config}")

    def compare_opaque_shares(self) -> None:
        shares, details = [], []
        for arm in self.arms:
            calls = sum(d["ledger"].get("shell_calls", 0) for d in self.left[arm.config])
            opaque = sum(d["ledger"].get("shell_opaque", 0) for d in self.left[arm.config])
            shares.append(opaque / calls if calls >= MIN_SHELL_CALLS else 0.0)
            counted = f"{shares[-1]:.2f}" if calls >= MIN_SHELL_CALLS else "too few, taken as 0"
            details.append(f"{arm.config}: {opaque} of {calls} shell calls, {counted}")
        if abs(shares[0] - shares[1]) > MAX_OPAQUE_GAP:
            worse = self.arms[shares[1] > shares[0]]
            trials = [d for d in self.left[worse.config] if d["ledger"].get("shell_opaque", 0)]
            self.fail("opaque_share_differs", trials, "; ".join(details))

    def _remove(self, name: str, arm: Arm, trials: Sequence[Document]) -> None:
        finding = self.findings[name]
        gone = {id(d) for d in trials}
        self.left[arm.config] = [d for d in self.left[arm.config] if id(d) not in gone]
        finding.removed += trials
        share = len(trials) / len(arm.trials) if arm.trials else 0.0
        finding.share_removed = max(finding.share_removed, share)
        if share > MAX_REMOVED_SHARE:
            finding.fail(f"{len(trials)} of {len(arm.trials)} trials of {arm.config}")


_NO_KEY: Final = object()


def _by_key(documents: Sequence[Document], key: Callable[[Document], Any]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Document]] = defaultdict(list)
    for document in documents:
        groups[key(document)].append(document)
    return groups


def _has_crashed(document: Document) -> bool:
    """Return whether a trial ended in an exception and shows no action of the agent."""
    is_idle = not document["ledger"]["calls_seen"]
    return is_idle and document["outcome"].get("exception") is not None


def _is_degraded(document: Document) -> bool:
    """Return whether the trace is at fault; documents before 1.2 do not say what is."""
    coverage = document["coverage"]
    return bool(coverage.get("degraded_reason")) and "trace" in coverage.get(
        "degraded_sources", ("trace",)
    )


def lacks_ground_truth(document: Document) -> bool:
    """Return whether a trial has no recall because its task names no file to find."""
    recall = read_metric(document, BY_NAME["file_recall"])
    return recall.reason in {"no_ground_truth", "not_a_retrieval_target"}


def _was_answered(document: Document) -> bool:
    return bool(document["ledger"].get("mcp_calls_ok", 0) > 0)


def _called_in_vain(document: Document) -> bool:
    return has_called_mcp(document) and not _was_answered(document)


def _harness(document: Document) -> tuple[Any, Any]:
    provenance = document["provenance"]
    return (provenance.get("harness"), provenance.get("harness_version"))
