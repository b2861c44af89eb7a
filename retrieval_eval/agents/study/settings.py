"""The settings of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from retrieval_eval.agents.metrics.catalog import BY_NAME, Metric
from retrieval_eval.agents.study.stated import ALPHA, Stated
from retrieval_eval.agents.study.trials import VIEWED
from retrieval_eval.errors import BadInputError
from retrieval_eval.model import Record, to_builtins


@dataclass(frozen=True, slots=True)
class Settings:
    """Seed, number of resamples and coverage of every interval, and what the user stated.

    ``stated`` is the part of the design that is not inferred from the trials. ``view`` is what
    counts as retrieved in the metrics that depend on it; None is the default.
    """

    seed: int
    n_resamples: int = 10_000
    confidence: float = 1 - ALPHA
    stated: Stated = Stated()  # noqa: RUF009
    view: str | None = None

    @property
    def alpha(self) -> float:
        """The level of the test."""
        return self.stated.level

    def column(self, metric: Metric, view: str | None = None) -> str:
        """Return the column of trials that holds a metric, under a view or the stated one."""
        view = view or self.view
        return f"{metric.name}:{view}" if view and metric.name in VIEWED else metric.name

    def to_json(self) -> dict[str, Any]:
        """Return the ``parameters`` block; what was not stated is left out."""
        stated = self.stated
        given = {"mcp_configs": stated.mcp_configs, "view": self.view}
        return {
            **{name: getattr(self, name) for name in ("seed", "n_resamples", "confidence")},
            **{name: value for name, value in given.items() if value},
            **({"design": stated.to_json()} if stated.arms or stated.values else {}),
        }


def metrics_named(given: Sequence[str | Metric]) -> tuple[Metric, ...]:
    """Return metrics by their names, or those given themselves.

    Raises
    ------
    BadInputError
        When there is no metric of a name; the message names the closest.

    Examples
    --------
    >>> [metric.label for metric in metrics_named(["mrr", "reward"])]
    ['MRR', 'reward']
    >>> metrics_named(["recall"])
    Traceback (most recent call last):
    retrieval_eval.errors.BadInputError: 'recall' is no metric; closest: recall@10, ...
    """
    found = []
    for metric in given:
        if isinstance(metric, str):
            if metric not in BY_NAME:
                close = get_close_matches(metric, BY_NAME, n=3, cutoff=0.4) or list(BY_NAME)
                raise BadInputError(
                    f"{metric!r} is no metric; closest: {', '.join(close)}; for a column of your "
                    "own give a Metric of its name"
                )
            metric = BY_NAME[metric]
        found.append(metric)
    return tuple(found)


def as_entry(record: Record) -> dict[str, Any]:
    """Return a record as it is read back from a document: with lists where it has tuples."""
    entry: dict[str, Any] = _with_lists(to_builtins(record))
    return entry


def _with_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_lists(member) for name, member in value.items()}
    return [_with_lists(member) for member in value] if isinstance(value, list | tuple) else value
