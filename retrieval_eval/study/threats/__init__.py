"""What could overturn a comparison: each threat is a number, a sentence and an effect.

``effect`` of a threat is ``none`` where the verdict does not change, ``lowers`` where it is weaker
than the measured tasks alone would show, and ``withholds`` where there is no verdict. To add a
kind of threat, add a function here or an entry point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import structs

from retrieval_eval.metrics.catalog import Metric
from retrieval_eval.model.impact import ComparisonDocument, PairedEstimate, RewardBySuite, Threat
from retrieval_eval.registry import Registry
from retrieval_eval.study.arms import Arm
from retrieval_eval.study.estimates import Measure
from retrieval_eval.study.gate import Valid
from retrieval_eval.study.pairs import Pair, Planned
from retrieval_eval.study.settings import Settings
from retrieval_eval.study.verdict import Conclusion, apparent

GRAVITY: Final = 100.0
"""The gravity of a kind of threat that states none."""


@dataclass(frozen=True, slots=True)
class Study:
    """The input of every kind of threat: one comparison before its verdict.

    ``measure`` holds the matched pairs and the planned tasks, ``blocks`` the estimates by metric.
    ``primary`` is the metric of the verdict. ``view`` is what counts as retrieved in it, where that
    is not the settings' own. ``reward_by_suite`` is empty where rewards can be averaged.
    """

    arms: tuple[Arm, Arm]
    valid: Valid
    measure: Measure
    blocks: Mapping[str, PairedEstimate]
    primary: Metric
    reward_by_suite: Sequence[RewardBySuite] = ()
    view: str | None = None

    @property
    def pairs(self) -> Sequence[Pair]:
        """The matched pairs."""
        return self.measure.pairs

    @property
    def planned(self) -> Sequence[Planned]:
        """Every task that a trial of either arm ran."""
        return self.measure.planned

    @property
    def settings(self) -> Settings:
        """The settings of the study."""
        return self.measure.settings

    @property
    def column(self) -> str:
        """The column of trials that holds the metric of the verdict."""
        return self.settings.column(self.primary, self.view)

    @property
    def block(self) -> PairedEstimate:
        """The estimate of the metric of the verdict."""
        return self.blocks[self.primary.name]

    @property
    def found(self) -> Conclusion:
        """What the measured tasks show, whatever threatens it."""
        return apparent(self.block)

    @property
    def is_clear(self) -> bool:
        """Whether the measured tasks show a difference."""
        return self.found in ("better", "worse")


@dataclass(frozen=True, slots=True)
class ThreatKind:
    """One kind of threat.

    ``check`` is given the :class:`Study` and yields the threats that it finds. ``title`` is the
    printed name and ``meaning`` what the kind is about. ``gravity`` orders threats of the same
    effect, the gravest (least) first.
    """

    check: Callable[[Study], Iterator[Threat]]
    title: str
    meaning: str
    gravity: float = GRAVITY


THREATS: Final = Registry[ThreatKind](
    "retrieval_eval.threats",
    "threat",
    tuple(f"retrieval_eval.study.threats.{name}" for name in ("missing", "groups", "use", "rest")),
)
"""Every kind of threat by name, in the order in which documents list them."""


def kind(
    *, title: str, meaning: str, gravity: float = GRAVITY
) -> Callable[[Callable[[Study], Iterator[Threat]]], ThreatKind]:
    """Return a decorator that makes a function a :class:`ThreatKind`.

    Examples
    --------
    >>> @kind(title="Friday", meaning="an arm ran on a Friday", gravity=90)
    ... def friday(study):
    ...     yield from ()
    >>> friday.title, friday.gravity
    ('Friday', 90)
    """
    return lambda check: ThreatKind(check, title, meaning, gravity)


def threats_of(study: Study) -> tuple[Threat, ...]:
    """Return every threat to a comparison, in the order of their kinds."""
    return tuple(threat for entry in THREATS.values() for threat in entry.check(study))


def leading_threats(record: ComparisonDocument, n: int = 3) -> tuple[Threat, ...]:
    """Return the ``n`` threats to a comparison that matter most, as every page leads with them.

    Those that change the verdict come first, then by the gravity of their kind.
    """
    return tuple(
        sorted(record.threats, key=lambda t: (_EFFECTS.index(t.effect), gravity_of(t.name)))
    )[:n]


_EFFECTS: Final = ("withholds", "lowers", "none")


def gravity_of(name: str) -> float:
    """Return the gravity of a kind of threat; an unknown one has the least weight."""
    return THREATS[name].gravity if name in THREATS else GRAVITY


def threat_title(name: str) -> str:
    """Return the printed name of a kind of threat; an unknown one as it is named.

    Examples
    --------
    >>> threat_title("few_clusters"), threat_title("unheard_of")
    ('Few clusters', 'Unheard of')
    """
    return THREATS[name].title if name in THREATS else name.replace("_", " ").capitalize()


def threat_rows(record: ComparisonDocument) -> Iterator[dict[str, Any]]:
    """Yield one row a threat, those that matter most first."""
    sides = {
        "baseline_config": record.baseline_config,
        "comparison_config": record.comparison_config,
    }
    for threat in leading_threats(record, len(record.threats)):
        yield sides | {"title": threat_title(threat.name)} | structs.asdict(threat)
