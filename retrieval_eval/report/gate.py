"""Whether two arms can be compared, and the way from all their trials to the pairs used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from retrieval_eval.report.frames import coerce, members, records
from retrieval_eval.report.reading import counts, read_as


@dataclass(frozen=True, slots=True)
class FoundTrial:
    """A trial that a rule found."""

    config_name: str
    task_name: str
    trial_name: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the gate: what it found, what it removed, and whether that is too much.

    ``count`` is in trials or pairs; ``share_removed`` is the largest share of an arm.
    """

    name: str
    meaning: str
    count: int
    n_removed: int
    share_removed: float | None
    failed: bool
    detail: str | None
    trials: tuple[FoundTrial, ...]


@dataclass(frozen=True, slots=True)
class Gate:
    """Every rule with its outcome; ``failed`` names the rules that withhold the verdict."""

    failed: tuple[str, ...]
    rules: tuple[Rule, ...]

    def rule(self, name: str) -> Rule | None:
        """Return a rule by its name."""
        return next((rule for rule in self.rules if rule.name == name), None)


@dataclass(frozen=True, slots=True)
class ArmLedger:
    """The trials of one arm: all, removed by rule, unmatched by reason, used.

    ``outcomes_only`` counts, by rule, the used trials without recall. ``ran`` counts the trials
    with any call, ``mcp_called`` those of them that called an MCP server, and ``mcp_answered``
    those in which one answered.
    """

    trials: int
    removed: Mapping[str, int]
    unmatched: Mapping[str, int]
    used: int
    outcomes_only: Mapping[str, int] = field(default_factory=dict)
    ran: int = 0
    mcp_called: int = 0
    mcp_answered: int = 0

    @property
    def is_balanced(self) -> bool:
        """Whether every trial is removed, unmatched or used."""
        left = sum(self.removed.values()) + sum(self.unmatched.values())
        return self.trials == left + self.used and sum(self.outcomes_only.values()) <= self.used


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledgers of the two arms."""

    baseline: ArmLedger
    comparison: ArmLedger

    @property
    def arms(self) -> tuple[ArmLedger, ArmLedger]:
        """Both arms, the baseline first."""
        return (self.baseline, self.comparison)

    def swapped(self) -> Ledger:
        """Return the ledger with the arms the other way round."""
        return replace(self, baseline=self.comparison, comparison=self.baseline)


def read_gate(value: Any) -> Gate | None:
    """Return the gate of a comparison, or None when the analysis holds none."""
    if not isinstance(value, Mapping):
        return None
    found = tuple(
        read_as(
            Rule,
            rule,
            trials=tuple(read_as(FoundTrial, t) for t in records(rule.get("trials"))),
        )
        for rule in records(value.get("rules"))
    )
    named = coerce(value.get("failed"), "list")
    named += [rule.name for rule in found if rule.failed and rule.name not in named]
    if value.get("passed") is not True and not named:
        named = ["not_passed"]
    return Gate(tuple(named), found)


def read_ledger(value: Any) -> Ledger | None:
    """Return the ledger of a comparison, or None when the analysis holds none."""
    if not isinstance(value, Mapping):
        return None
    baseline, comparison = (_arm(members(value.get(arm))) for arm in ("baseline", "comparison"))
    return Ledger(baseline, comparison)


def _arm(value: Mapping[str, Any]) -> ArmLedger:
    return read_as(
        ArmLedger,
        value,
        removed=counts(value.get("removed")),
        unmatched=counts(value.get("unmatched")),
        outcomes_only=counts(value.get("outcomes_only")),
    )
