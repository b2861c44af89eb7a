"""The metrics of a trial: each is declared once, with its description, where it is computed.

A decorated function is a metric: it appears in the documents and their schema, in the frames, in
the reference of columns, in the means and, if declared so, in comparisons and associations. Other
distributions add theirs through the entry-point group ``retrieval_eval.metrics``.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, NamedTuple

from retrieval_eval.agents.events import TrialEvents
from retrieval_eval.agents.events.evidence import (
    Ranking,
    evidence,
    files_with,
    gap_of,
    may_have_written,
    possible_accesses,
    ranked,
)
from retrieval_eval.agents.events.match import Identity
from retrieval_eval.errors import BadInputError
from retrieval_eval.model import Record, value_at
from retrieval_eval.model.common import Better
from retrieval_eval.ranking.single import Judged, of_judged
from retrieval_eval.records import FileRef
from retrieval_eval.registry import Registry
from retrieval_eval.values import REASONS, Value

Direction = Literal["higher_is_better", "lower_is_better"]
Kind = Literal["bounded", "positive", "time", "unbounded"]
Block = Literal["file_level_metrics", "chunk_level_metrics", "utilization_probes", "outcome"]

FILES: Final = "file_level_metrics"


class TrialView:
    """The input of a metric of a trial; each part is computed once, on first use.

    Parameters
    ----------
    trial
        The events of the trial with its ground truth.
    """

    def __init__(self, trial: TrialEvents) -> None:
        self.trial = trial

    @cached_property
    def relevant(self) -> frozenset[Identity]:
        """The ground-truth files."""
        return frozenset(f.key for f in self.trial.ground_truth.files)

    @cached_property
    def read(self) -> Mapping[Identity, FileRef]:
        """The files whose content was shown."""
        return files_with(self.trial, "opened")

    @cached_property
    def written(self) -> Mapping[Identity, FileRef]:
        """The files written, without the agent's own output."""
        return files_with(self.trial, "written")

    @cached_property
    def may_have_written(self) -> bool:
        """Whether files may have been written that are not known."""
        return may_have_written(self.trial)

    @cached_property
    def is_open(self) -> bool:
        """Whether no relevant file was certainly accessed, and some may have been."""
        found = set(evidence(self.trial).values())
        return "certain" not in found and "possible" in found

    @cached_property
    def is_read_open(self) -> bool:
        """Whether no relevant file was certainly read, and some may have been."""
        if self.relevant & self.read.keys():
            return False
        opened = (t.file.key for _, t in possible_accesses(self.trial) if t.access == "opened")
        return gap_of(self.trial) is not None or not self.relevant.isdisjoint(opened)

    @property
    def no_ground_truth(self) -> str:
        """The reason code of a metric that needs ground truth, where there is none."""
        return self.trial.ground_truth.reason or "no_ground_truth"


class FileView:
    """The files of a trial as one definition of "retrieved" ranks them.

    Parameters
    ----------
    trial
        The events of the trial with its ground truth, which names at least one file.
    name
        The definition, one of `retrieval_eval.agents.events.evidence.VIEWS`.
    k_values
        The cut-offs for which `measure` will be called.
    found
        The retrieved files, where they are not those that the trace proves.
    """

    def __init__(
        self,
        trial: TrialEvents,
        name: str,
        k_values: Sequence[int],
        found: Ranking | None = None,
    ) -> None:
        self.trial = trial
        self.name = name
        self.relevant: frozenset[Identity] = frozenset(f.key for f in trial.ground_truth.files)
        self._ranking = ranked(trial, name) if found is None else found
        self._k_values = k_values

    @property
    def files(self) -> tuple[FileRef, ...]:
        """The retrieved files in order."""
        return self._ranking.files

    @property
    def ranked(self) -> tuple[Identity, ...]:
        """Their identities."""
        return self._ranking.keys

    @cached_property
    def found(self) -> frozenset[Identity]:
        """The ground-truth files among them."""
        keys = self.ranked
        return frozenset([keys[rank - 1] for rank in self._hits])

    def measure(self, name: str) -> Value:
        """Return a ranking measure such as ``nDCG@10`` of the retrieved files."""
        return self._values[name]

    @cached_property
    def _hits(self) -> tuple[int, ...]:
        return self._ranking.hits(self.relevant)

    @cached_property
    def _values(self) -> dict[str, Value]:
        hits, n, is_empty = self._hits, len(self.relevant), not self.ranked
        values = dict(_of_hits(None, hits, n, is_empty))
        for k in self._k_values:
            values |= _of_hits(k, hits[: bisect_right(hits, k)], n, is_empty)
        return values


@lru_cache(maxsize=4096)
def _of_hits(
    k: int | None, hits: tuple[int, ...], n_relevant: int, is_empty: bool
) -> Mapping[str, Value]:
    """Return the measures that metrics of files use, at a cut-off or of a whole ranking.

    They depend on nothing but the ranks of the hits (up to the cut-off), which are few and the same
    in many rankings, and on whether anything was retrieved.
    """
    names = (
        ("RR", "AP", "Recall") if k is None else (f"P@{k}", f"Recall@{k}", f"F1@{k}", f"nDCG@{k}")
    )
    n_retrieved = hits[-1] if hits else 0 if is_empty else 1
    found = tuple([(rank, 1) for rank in hits])
    return of_judged(Judged(n_retrieved, found, (1,) * n_relevant), names)


_KINDS: Final[dict[str, Kind]] = {
    "share": "bounded",
    "reward": "bounded",
    "USD": "positive",
    "s": "positive",
    "tokens": "positive",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a trial, with its description.

    Parameters
    ----------
    name
        Its name in frames and options; a cut-off follows after ``@``.
    label
        Its name within a sentence.
    path
        Where the number is in a trial's metric document.
    meaning
        Its definition, in one phrase.
    better
        Which direction is an improvement.
    unit
        ``share`` (0–1), ``reward``, ``s``, ``tokens`` or ``USD``.
    reason
        The reason code of a missing number whose block gives none.
    compute
        The function that computes it: of a `FileView` (also with a cut-off) or a `TrialView`.
    is_summarised, is_compared, is_associated, is_headline
        Whether it appears in the means of each configuration, in comparisons, in associations, in
        the tables that a report leads with.
    has_cutoff
        Whether it is computed at every cut-off of the run.
    at
        The cut-offs at which it is summarised; there it is a metric of its own, ``name@k``, and
        ``{k}`` in its meaning is the cut-off.
    title
        Its name as a heading; by default the label with a capital.
    digits
        Decimals in print.
    formula
        Its definition in LaTeX, for the reference; empty for what is recorded.
    censored_at
        For the time of an event that some trials never reach: the column that says how long such a
        trial was observed.
    """

    name: str
    label: str
    path: tuple[str, ...]
    meaning: str
    better: Better = "higher"
    unit: str = "share"
    reason: str = "not_recorded"
    compute: Callable[..., Value] | None = None
    is_summarised: bool = True
    is_compared: bool = False
    is_associated: bool = False
    is_headline: bool = False
    has_cutoff: bool = False
    at: tuple[int, ...] = ()
    title: str = ""
    digits: int = 2
    formula: str = ""
    censored_at: str = ""

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", f"{self.label[0].upper()}{self.label[1:]}")

    def __call__(self, *arguments: Any) -> Value:
        """Compute it."""
        if self.compute is None:
            raise TypeError(f"{self.name} is recorded, not computed")
        return self.compute(*arguments)

    @property
    def direction(self) -> Direction:
        """Which direction is an improvement, as documents write it."""
        return "higher_is_better" if self.better == "higher" else "lower_is_better"

    @property
    def kind(self) -> Kind:
        """What values it has, which decides how arms are compared.

        ``bounded`` lies between 0 and 1 (unit ``share`` or ``reward``), ``positive`` is above 0
        without a largest value (``USD``, ``s``, ``tokens``), ``time`` is that of an event that
        some trials never reach (``censored_at``), and ``unbounded`` is anything else.
        """
        return "time" if self.censored_at else _KINDS.get(self.unit, "unbounded")

    @property
    def is_bounded(self) -> bool:
        """Whether no value can lie far above all others, as one cost or time can."""
        return self.kind == "bounded"

    @property
    def is_of_view(self) -> bool:
        """Whether its value depends on what counts as retrieved."""
        return self.path[0] == FILES and self.compute is not None


class _Metrics(Registry[Metric]):
    def add(self, name: str, entry: Metric) -> Metric:
        if not isinstance(entry, Metric):
            raise TypeError(f"{entry!r} is no metric; decorate the function with @metric(…)")
        if entry.name != name:
            raise ValueError(f"its own name is {entry.name!r}")
        return super().add(name, entry)


METRICS: Final = _Metrics(
    "retrieval_eval.metrics",
    "metric",
    (
        "retrieval_eval.agents.metrics.files",
        "retrieval_eval.agents.metrics.chunks",
        "retrieval_eval.agents.metrics.outcomes",
    ),
    of=Metric,
)
"""Every declared metric, in the order in which reports list them."""


class _Numbers(Mapping[str, Metric]):
    @cached_property
    def _found(self) -> dict[str, Metric]:
        found = {}
        for entry in METRICS.values():
            for one in _at_cutoffs(entry) if entry.has_cutoff else (entry,):
                found[one.name] = one
        return found

    def __getitem__(self, name: str) -> Metric:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _at_cutoffs(entry: Metric) -> Iterator[Metric]:
    for k in entry.at:
        yield replace(
            entry,
            name=f"{entry.name}@{k}",
            label=f"{entry.label}@{k}",
            title=f"{entry.label}@{k}",
            meaning=entry.meaning.replace("{k}", str(k)),
            path=(*entry.path, str(k)),
            has_cutoff=False,
            at=(),
        )


BY_NAME: Final = _Numbers()
"""Every metric that is one number of a trial; one with cut-offs is ``name@k`` for each it is
summarised at."""


def metric(
    name: str,
    *,
    label: str,
    meaning: str,
    block: Block = FILES,
    **facts: Any,
) -> Callable[[Callable[..., Value]], Metric]:
    """Return a decorator that makes a function a metric of trials.

    Parameters
    ----------
    name
        The field of the document and the column of the frame.
    label, meaning
        Its name within a sentence, and its definition.
    block
        Its block of the document. A metric of files is a function of a `FileView`
        and is computed for each view; with ``has_cutoff`` it is a function of a view and a
        cut-off. Metrics of the other blocks are functions of a `TrialView`.
    **facts
        Other facts of a `Metric`, such as ``better="lower"`` or ``is_compared=True``.

    Examples
    --------
    >>> @metric("n_found", label="files found", meaning="ground-truth files found", unit="files")
    ... def n_found(view):
    ...     return Value.of(len(view.found), len(view.relevant))
    >>> n_found.path, n_found.is_of_view, n_found.better
    (('file_level_metrics', 'n_found'), True, 'higher')
    """
    return lambda function: Metric(name, label, (block, name), meaning, compute=function, **facts)


def recorded(name: str, label: str, meaning: str, block: Block, **facts: Any) -> Metric:
    """Return a metric that is recorded in the trial and not computed by a function of its own."""
    return Metric(name, label, (block, name), meaning, **facts)


def summarised() -> list[Metric]:
    """Return the metrics in the means of each configuration, outcomes last."""
    return [m for m in BY_NAME.values() if m.is_summarised]


def fixed_cutoffs() -> tuple[int, ...]:
    """Return the cut-offs in the names of metrics.

    They are measured whatever others are requested, so that nDCG@10 is a metric of every run and is
    comparable between runs.
    """
    return tuple(sorted({k for m in METRICS.values() for k in m.at}))


def in_view(metric: Metric, view: str) -> Metric:
    """Return a file-level metric as it is under another view of what "retrieved" means."""
    path = (metric.path[0], "views", view, *metric.path[1:])
    return replace(metric, path=path)


class Computed(NamedTuple):
    """A metric that is computed, with its cut-off: its field, and its name with the cut-off."""

    name: str
    field: str
    compute: Callable[..., Any]
    k: int | None = None

    def of(self, view: FileView | TrialView) -> Value:
        """Compute it."""
        found = self.compute(view) if self.k is None else self.compute(view, self.k)
        if isinstance(found, Value):
            return found
        raise BadInputError(
            f"the metric {self.field!r} returned {type(found).__name__}; expected a Value, such "
            "as Value.of(0.5, n=4) or Value.missing('nothing_retrieved')"
        )


def computed(block: Block, k_values: Sequence[int] = ()) -> list[Computed]:
    """Return the computed metrics of a block, those with a cut-off last and at each of these."""
    own = [
        (m.name, m.compute, k_values if m.has_cutoff else None)
        for m in METRICS.values()
        if m.path == (block, m.name) and m.compute is not None
    ]
    return [
        *(Computed(name, name, compute) for name, compute, at in own if at is None),
        *(Computed(f"{name}@{k}", name, compute, k) for name, compute, at in own for k in at or ()),
    ]


def read_metric(document: Record | Mapping[str, Any], metric: Metric) -> Value:
    """Return one number of a trial's metrics as a value.

    The metrics are a `retrieval_eval.agents.metrics.document.TrialMetrics`, or plain objects like
    it. A missing number carries the reason of its own block, else the block's, else ``never_hit``
    for a time of a trial that never hit, else the metric's default.
    """
    block = value_at(document, metric.path[:1])
    number = value_at(block, metric.path[1:])
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
    if is_number and math.isfinite(number):
        return Value.of(float(number), 1)
    return Value.missing(_reason(block, metric))


def read_bounds(document: Record | Mapping[str, Any], metric: Metric) -> tuple[float, float] | None:
    """Return the bounds of one number of a trial's metrics, where the trace leaves it open."""
    block = value_at(document, metric.path[:1])
    own = value_at(block, ["bounds"]) or {}
    low, high = own.get(metric.name) or value_at(block, [f"{metric.name}_bounds"]) or (0.0, 0.0)
    return (low, high) if low < high else None


def _reason(block: Any, metric: Metric) -> str:
    own = value_at(block, ["reasons"]) or {}
    name = metric.path[-1]
    for reason in (
        own.get(name),
        own.get("@".join(metric.path[1:])),
        value_at(block, [f"{name}_reason"]),
        value_at(block, ["reason"]),
        _reason_of_time(block) if name.startswith("ttfr_") else None,
    ):
        if reason in REASONS:
            return str(reason)
    return metric.reason


def _reason_of_time(block: Any) -> Any:
    """Return why there is no time of the first hit: there is none, or it is not known whether."""
    if value_at(block, ["never_hit"]):
        return "never_hit"
    return value_at(block, ["reasons", "file_recall"])
