"""The metrics of a trial: each is declared once, with its description, where it is computed.

A decorated function is a metric: it appears in the documents and their schema, in the frames, in
the reference of columns, in the means and, if declared so, in comparisons and associations. Other
distributions add theirs through the entry-point group ``retrieval_eval.metrics``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, Literal

from retrieval_eval.errors import BadInputError
from retrieval_eval.events.evidence import evidence, gap_of, possible_accesses
from retrieval_eval.events.match import Identity
from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.events.retrieved import files_with, ranking
from retrieval_eval.metrics.ranking import Measure, rank_metrics
from retrieval_eval.metrics.ranking.measures import as_measures
from retrieval_eval.model import Record, value_at
from retrieval_eval.model.meta import Better
from retrieval_eval.records import FileRef
from retrieval_eval.registry import Registry
from retrieval_eval.values import REASONS, Value

Direction = Literal["higher_is_better", "lower_is_better"]
Kind = Literal["bounded", "positive", "censored", "unbounded"]
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
        The definition, one of `retrieval_eval.events.retrieved.VIEWS`.
    k_values
        The cut-offs for which `measure` will be called.
    files
        The retrieved files in order, where they are not those that the trace proves.
    """

    def __init__(
        self,
        trial: TrialEvents,
        name: str,
        k_values: Sequence[int],
        files: Sequence[FileRef] | None = None,
    ) -> None:
        self.trial = trial
        self.name = name
        self.files = ranking(trial, name) if files is None else files
        self.ranked: tuple[Identity, ...] = tuple([f.key for f in self.files])
        self.relevant: frozenset[Identity] = frozenset(f.key for f in trial.ground_truth.files)
        self.found: frozenset[Identity] = self.relevant.intersection(self.ranked)
        self._k_values = tuple(k_values)

    def renamed(self, name: str) -> FileView:
        """Return the same ranking as that of another definition."""
        other = copy(self)
        other.name = name
        return other

    def measure(self, name: str) -> Value:
        """Return a ranking measure such as ``nDCG@10`` of the retrieved files."""
        return self._values[name]

    @cached_property
    def _values(self) -> dict[str, Value]:
        return rank_metrics(self.ranked, self.relevant, _measures(self._k_values))


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
        without a largest value (``USD``, ``s``, ``tokens``), ``censored`` is the time of an event
        that some trials never reach (``censored_at``), and ``unbounded`` is anything else.
        """
        return "censored" if self.censored_at else _KINDS.get(self.unit, "unbounded")

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
        "retrieval_eval.metrics.files",
        "retrieval_eval.metrics.utilization",
        "retrieval_eval.metrics.chunks",
        "retrieval_eval.metrics.outcomes",
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


def values_of(block: Block, view: object, reason: str | None = None) -> dict[str, Value]:
    """Return the computed metrics of a block without cut-offs, by name.

    With a ``reason`` why nothing of the trial is computable, each metric is missing for it.
    """
    return {
        m.name: Value.missing(reason) if reason else _checked(m, m(view))
        for m in METRICS.values()
        if m.path[0] == block
        and m.compute is not None
        and not m.has_cutoff
        and m.path == (block, m.name)
    }


def values_at(view: FileView, k_values: Sequence[int]) -> dict[str, dict[int, Value]]:
    """Return the metrics with a cut-off, by name and cut-off."""
    return {
        m.name: {k: _checked(m, m(view, k)) for k in k_values}
        for m in METRICS.values()
        if m.has_cutoff
    }


def _checked(metric: Metric, value: Any) -> Value:
    if not isinstance(value, Value):
        raise BadInputError(
            f"the metric {metric.name!r} returned {type(value).__name__}; expected a Value, such "
            "as Value.of(0.5, n=4) or Value.missing('nothing_retrieved')"
        )
    return value


def read_metric(document: Record | Mapping[str, Any], metric: Metric) -> Value:
    """Return one number of a trial's metrics as a value.

    The metrics are a `retrieval_eval.metrics.document.TrialMetrics`, or plain objects like it.
    A missing number carries the reason of its own block, else the block's, else ``never_hit`` for
    a time of a trial that never hit, else the metric's default.
    """
    block = value_at(document, metric.path[:1])
    number = value_at(block, metric.path[1:])
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
    if is_number and math.isfinite(number):
        return Value.of(float(number), 1)
    return Value.missing(_reason(block, metric))


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


@lru_cache(maxsize=64)
def _measures(k_values: tuple[int, ...]) -> tuple[Measure, ...]:
    """Return the measures of a ranking that metrics of files use."""
    with_cutoff = (f"{measure}@{k}" for measure in ("P", "Recall", "F1", "nDCG") for k in k_values)
    return as_measures((*with_cutoff, "RR", "AP", "Recall"))
