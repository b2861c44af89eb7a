"""What a search run and a difference of two runs have in common: queries, and what moved them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Final

from retrieval_eval.agents.study.stated import ALPHA
from retrieval_eval.escape import encodable, visible
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.guard import GuardRuling, NoiseFloor
from retrieval_eval.model.search_diff import (
    DiffSettings,
    LabelSplit,
    MetricDifference,
    QueryDifference,
)
from retrieval_eval.model.search_diff import SearchDiff as StoredDiff
from retrieval_eval.model.search_run import (
    Delta,
    MetricChange,
    QueryContribution,
    QueryResult,
    RunSettings,
    RunStatus,
)
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report.columns import Measured, Row, handed_out, make_frame, read_row
from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.filtering import Rows, Where, in_words, passing
from retrieval_eval.report.headings import is_missing
from retrieval_eval.report.names import CODES, DIMENSIONS, band, finite, interval, rate
from retrieval_eval.report.query_pages import Places
from retrieval_eval.search.decide.noise import staleness
from retrieval_eval.search.run import HEADLINE
from retrieval_eval.search.run.named_metrics import moved_queries
from retrieval_eval.stats.multiplicity import adjust_family
from retrieval_eval.stats.power import detectable_by_test_and_interval
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.report.search_diff import SearchDiff

Change = MetricChange | MetricDifference

SIDES: Final = ("A", "B")
PART_ONLY: Final = "the guard is about whole runs, and this page shows some of the queries"


STILL: Final = "Noise level 0: repeated runs of the system gave the same documents."
STALE: Final = "The noise file is stale; see Noise."
SHARE: Final = 0.95
"""The share of differences between two runs of one system that the band holds."""

MEANING: Final = (
    "Noise level: 95 % of the differences between two runs of one and the same system lie within ± "
    "this many points (normal, from the noise file)."
)


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of a system, and in sentences why it may hold no longer."""

    document: NoiseFloor
    stale: tuple[str, ...] = ()

    def band(self, metric: str, n: int | None = None) -> float | None:
        """Return how far from 0 a difference of two runs of one system lies at most, in points.

        At most in 95 % of cases: a normal quantile times sqrt(2) times the standard deviation of
        a run (`retrieval_eval.search.decide.noise_band`). 0 for a deterministic system,
        None for a metric whose noise was not measured.

        Parameters
        ----------
        metric
            Its name.
        n
            Queries of the part looked at; the band of fewer queries is wider, by the root of
            their number, as if queries varied independently. None: of all.
        """
        found = self.document.metrics.get(metric)
        deviation = None if found is None else finite(found.band_points)
        if found is None or deviation is None or n == 0:
            return None
        quantile = NormalDist().inv_cdf((1 + SHARE) / 2)
        wider = 1.0 if n is None else math.sqrt(max(found.n_queries, n) / n)
        return quantile * math.sqrt(2) * deviation * wider

    def words(self, metric: str, n: int | None = None) -> str:
        """Return the band of a metric for a cell, such as ``±0.25``."""
        return band(self.band(metric, n))

    @property
    def is_deterministic(self) -> bool:
        """Whether every query got the same documents in every run."""
        return self.document.is_deterministic


def noise_notes(level: Noise | None) -> tuple[str, ...]:
    """Return the notes under a table with a column of noise levels; none where it has none."""
    if level is None:
        return ()
    stale = f" {STALE}" if level.stale else ""
    return (f"{STILL if level.is_deterministic else MEANING}{stale}",)


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on queries in words, and how many queries there are without it."""

    condition: str
    n_all: int


class Searched(Measured):
    """A search run or a difference: queries, what each adds to a change, noise, guard.

    Attributes
    ----------
    runs
        The runs whose queries are shown, the later one last.
    before
        The run that the later one is compared with; None where it was not read.
    change
        What is stored of the change; None where nothing can be compared.
    names
        What the two compared are called in print.
    settings
        How it was measured.
    top1
        Ids of the queries with another first document.
    n_compared
        How many queries there are of which one can have moved.
    withheld
        Why there is no verdict, as a sentence; None when there is one.
    gold
        The gold set that was asked; None where it was not read.
    part
        The condition that the queries passed, as ``filter`` gives it.
    """

    filtered_by = "queries"
    of: ClassVar[str]
    """The column that names the metric of a row."""

    def __init__(
        self,
        runs: tuple[StoredRun, ...],
        before: StoredRun | None,
        *,
        change: Delta | StoredDiff | None,
        names: tuple[str, str],
        settings: RunSettings | DiffSettings,
        top1: Sequence[str],
        n_compared: int,
        withheld: str | None,
        gold: GoldSet | None = None,
        noise: NoiseFloor | None,
        privacy: bool,
        places: Places | None,
        part: Filter | None,
    ) -> None:
        self.runs = runs
        self.before = before
        self.change = change
        self.names = names
        self.settings = settings
        self.top1 = top1
        self.n_compared = n_compared
        self.withheld = withheld
        self.gold = gold
        self.noise_floor = noise
        self.privacy = privacy
        self.places = places or Places()
        self.part = part

    @property
    def ruling(self) -> GuardRuling | None:
        """The ruling of the guard; None where there is none."""
        raise NotImplementedError

    @property
    def label_effects(self) -> LabelSplit | None:
        """What labels and what retrieval did to every metric; None where it was not separated."""
        raise NotImplementedError

    # --- queries ---

    @property
    def n_simulated(self) -> int:
        """How many queries of a gold set are invented, as their rows say."""
        return max(run.run.gold_set.n_simulated or 0 for run in self.runs)

    @property
    def coverage(self) -> str:
        """The coverage of the intervals, such as ``95 %``."""
        return f"{100 * self.settings.confidence:g} %"

    @cached_property
    def by_id(self) -> dict[str, QueryResult]:
        """The queries by id, those of the later run where two have one."""
        return {query.id: query for run in self.runs for query in run.queries}

    def ids_of(self, frame: pd.DataFrame) -> list[str]:
        """Return the query ids of rows as the runs have them; frames escape what is no Unicode."""
        known = {encodable(name): name for name in self.by_id}
        return [known.get(name, name) for name in frame["id"]]

    def title(self, query: str, limit: int = 140) -> str:
        """Return what a query is called in print: its text, or its id in private reports."""
        found = self.by_id.get(query)
        return visible(query if self.privacy or found is None else found.query or query, limit)

    @cached_property
    def _relevant_by_query(self) -> dict[str, dict[str, int]] | None:
        """The documents of grade 1 or more by query, or None when the gold set was not read."""
        if self.gold is None:
            return None
        return {
            query.id: {doc: grade for doc, grade in query.relevant.items() if grade >= 1}
            for query in self.gold.queries
        }

    def relevant_of(self, query: QueryResult) -> list[tuple[str, int, int | None]]:
        """Return the relevant documents of a query: id, grade, rank; None: not retrieved."""
        places = {found.doc: place for place, found in enumerate(query.ranking, start=1)}
        known = self._relevant_by_query
        retrieved = {f.doc: f.grade for f in query.ranking if f.grade is not None and f.grade >= 1}
        grades = retrieved if known is None else known.get(query.id, {})
        found = [(doc, grade, places.get(doc)) for doc, grade in grades.items()]
        return sorted(found, key=lambda f: (f[2] is None, f[2] or 0, -f[1], f[0]))

    @property
    def filtered(self) -> str:
        """How many of how many queries are left, and by which condition; empty without one."""
        if self.part is None:
            return ""
        n = f"{len(self.by_id):,} of {counted(self.part.n_all, 'query')}"
        return f"{n}, {self.part.condition}"

    def _passing(self, where: Where) -> tuple[frozenset[str], Filter]:
        """Return the ids of the queries that pass a condition, and it with those before it."""
        before, queries = self.part, self.frame("queries")
        kept = passing(queries, where, Rows(f"{self.owner}.queries", "query", "queries"))
        condition = f"{before.condition}, and {in_words(where)}" if before else in_words(where)
        n_all = before.n_all if before else len(self.by_id)
        return frozenset(queries["id"].iloc[kept]), Filter(condition, n_all)

    # --- the change ---

    @property
    def differences(self) -> Mapping[str, Change]:
        """The change of every metric over all queries; empty where nothing can be compared."""
        return {} if self.change is None else self.change.metrics

    @property
    def headline(self) -> list[str]:
        """The headline metrics that are compared."""
        return [m for m in HEADLINE if m in self.differences]

    @cached_property
    def moved(self) -> dict[str, dict[str, float]]:
        """The queries that moved: id to the points each adds to the change of every metric."""
        rows: Iterable[QueryContribution | QueryDifference] = (
            self.change.queries if self.change else ()
        )
        return moved_queries(rows)

    @cached_property
    def adjusted(self) -> Mapping[str, float | None]:
        """The p-values of the headline metrics, adjusted over them (Holm)."""
        given = {m: self.differences[m].p_value for m in self.headline}
        return adjust_family(given).adjusted if given else {}

    @cached_property
    def clear(self) -> list[str]:
        """The headline metrics of which interval and adjusted test both show a change."""
        ps = ((m, self.adjusted.get(m)) for m in self.headline)
        known = [m for m, p in ps if p is not None and p < ALPHA]
        return [m for m in known if excludes_zero(self.differences[m])]

    def detectable(self, metric: str) -> float | None:
        """Return the smallest change, in points, that these queries could have shown."""
        n = self.differences[metric].n_pairs
        moved = [own[metric] * n for own in self.moved.values() if metric in own]
        if n < 2 or len(moved) > n:
            return None
        spread = statistics.stdev([*moved, *[0.0] * (n - len(moved))])
        return detectable_by_test_and_interval(spread, n).value

    @cached_property
    def level(self) -> Noise | None:
        """The noise of the system, with what makes it stale for the later run."""
        floor = self.noise_floor
        return None if floor is None else Noise(floor, tuple(staleness(floor, self.runs[-1])))

    def band(self, metric: str, n: int | None = None) -> float | None:
        """Return the noise level of a change of a metric (see `Noise.band`), None if unknown."""
        return None if self.level is None else self.level.band(metric, n)

    @property
    def difference(self) -> SearchDiff | None:
        """The whole difference; None where there is none, or the runs cannot be compared."""
        raise NotImplementedError

    @property
    def causes(self) -> Block:
        """What explains the change: at most five sentences, the most telling first."""
        from retrieval_eval.report.query_pages import causes

        return causes(self)

    @property
    def carriers(self) -> Block:
        """The queries that carry the change, each with both rankings side by side."""
        from retrieval_eval.report.query_pages import carriers

        return carriers(self)

    # --- frames ---

    def _changed(self, name: str) -> pd.DataFrame:
        """Return one row a part of the queries and metric: the change in points."""
        columns, block = self.frame_columns[name], self.change
        parts: list[tuple[str, str, Any]] = []
        if block is not None:
            parts = [("all", "all", block)]
            parts += [
                (dimension, level, part)
                for dimension in block.slices.__struct_fields__
                for level, part in getattr(block.slices, dimension).items()
            ]
        rows = []
        for dimension, level, part in parts:
            own: Row = {"dimension": dimension, "level": level}
            own["n_queries"] = getattr(part, "n_queries", self.n_compared)
            for metric, change in part.metrics.items():
                n = None if dimension == "all" and not self.part else change.n_pairs
                own |= {self.of: metric, "noise_points": self.band(metric, n)}
                rows.append(read_row(change, columns, own))
        return make_frame(rows, columns)

    @handed_out
    def contributions(self) -> pd.DataFrame:
        """One row a query and metric that it moved, in points."""
        rows: Iterable[QueryContribution | QueryDifference] = (
            self.change.queries if self.change else ()
        )
        found = [
            {"id": query.id, self.of: name, "points": points}
            for query in rows
            for name, points in query.contributions.items()
        ]
        return make_frame(found, self.frame_columns["contributions"])

    def frame(self, name: str) -> pd.DataFrame:
        """Return a frame by its name in :mod:`retrieval_eval.report.columns`."""
        if name not in self.frame_columns:
            raise KeyError(name)
        found: pd.DataFrame = getattr(self, name)
        return found

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return rows with what a page prints for their ids, codes and ends of intervals.

        Parameters
        ----------
        frame
            Rows of a frame of this run or difference, or of a table made from it.

        Returns
        -------
        pandas.DataFrame
            The same rows. Where they have an ``id``: ``query`` (its text, or its id in private
            reports), ``corpus``, ``query_page``, and beside a document (``doc``,
            ``first_document``) its page. Where they have an interval: ``Interval``, its two ends
            as text. Dimensions, sources, reasons and verdicts are in words.
        """
        made: dict[str, list[Any]] = {}
        if "id" in frame:
            ids = self.ids_of(frame)
            made["query"] = [self.title(name) for name in ids]
            made["corpus"] = [self.by_id[n].corpus if n in self.by_id else None for n in ids]
            made["query_page"] = [self.places.of_query(name) for name in ids]
            for name in ("doc", "first_document"):
                if name in frame:
                    made[f"{name}_page"] = [self.places.of_document(d) for d in frame[name]]
        for ends, signs in (
            (("ci_low_points", "ci_high_points"), True),
            (("ci_low", "ci_high"), False),
        ):
            if ends[0] in frame and "Interval" not in made:
                pairs = zip(*(frame[end].astype(object) for end in ends), strict=True)
                made["Interval"] = [brackets(known(a), known(b), signs=signs) for a, b in pairs]
        if "dimension" in frame:
            parts = list(zip(frame["dimension"], frame["level"], strict=True))
            made["dimension"] = [DIMENSIONS.get(d) or CODES.get(d, d) for d, _ in parts]
            made["level"] = [CODES.get(v, v) if d == "source" else v for d, v in parts]
        for name in ("source", "reason", "verdict"):
            if name in frame:
                made[name] = [CODES.get(code, code) for code in frame[name]]
        return frame.assign(**{name: objects(frame, found) for name, found in made.items()})

    # --- as the last line of a cell ---

    @property
    def answer(self) -> Block:
        """The verdict, what changed and how sure that is, with the headline metrics."""
        from retrieval_eval.report.search_opening import answer

        return answer(self)

    def block(self) -> Block:
        """Return what was measured or compared: the strip of facts that leads the report."""
        from retrieval_eval.report.search_opening import header

        return header(self)


def no_verdict(status: RunStatus, whose: str) -> str | None:
    """Return why a run has no verdict, without the words of its retriever; None when it has."""
    if status.has_verdict:
        return None
    if status.n_failed:
        failed = f"{status.n_failed:,} of {counted(status.n_queries, 'query')}{whose} failed"
        return f"{failed}, so the means are not those of the gold set."
    why = visible("; ".join(status.reasons) or "the reason was not recorded", 160)
    return f"{why[:1].upper()}{why[1:]}{whose}."


def values_of(change: Change) -> tuple[float | None, float | None]:
    """Return the means before and after."""
    if isinstance(change, MetricDifference):
        return change.a, change.b
    return change.baseline, change.current


def excludes_zero(change: Change) -> bool:
    """Whether a change has an interval and that lies on one side of 0."""
    low, high = change.ci_low_points, change.ci_high_points
    return low is not None and high is not None and not low <= 0 <= high


def brackets(low: Any, high: Any, *, signs: bool = False) -> str:
    """Return ``[low, high]``, or the dash where one end is unknown.

    Examples
    --------
    >>> brackets(0.1, 0.25), brackets(-1.0, 2.0, signs=True), brackets(None, 1.0)
    ('[0.10, 0.25]', '[−1.00, +2.00]', '—')
    """
    found = interval(low, high)
    return found if signs or found[0] != "[" else f"[{rate(low)}, {rate(high)}]"


def known(value: Any) -> float | None:
    """Return a number of a frame; None for a missing one."""
    return None if is_missing(value) else float(value)


def objects(frame: pd.DataFrame, values: Sequence[Any]) -> pd.Series[Any]:
    """Return values as a column of a frame: plain objects, as text may be no valid Unicode."""
    import pandas as pd

    return pd.Series(list(values), index=frame.index, dtype="object")
