"""A difference of two search runs as data frames, each built when it is first used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.model.guard import GuardRuling
from retrieval_eval.model.noise import NoiseFloor
from retrieval_eval.model.search_diff import MetricDifference
from retrieval_eval.model.search_diff import SearchDiff as StoredDiff
from retrieval_eval.model.search_run import QueryResult
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report import frames
from retrieval_eval.report.columns import DIFF_FRAMES
from retrieval_eval.report.frames import Row, make_frame, read_row
from retrieval_eval.report.search.noise import Noise
from retrieval_eval.report.search.pages import shown_names
from retrieval_eval.report.search.places import Places
from retrieval_eval.report.search.run import Filter, excludes_zero, passing
from retrieval_eval.search.diff import diff
from retrieval_eval.search.named_metrics import BLOCK_OF
from retrieval_eval.search.noise import staleness
from retrieval_eval.search.part import part_of
from retrieval_eval.search.settings import HEADLINE
from retrieval_eval.stats.multiplicity import adjust_family
from retrieval_eval.study.verdict import ALPHA
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS: Final = {name: columns for name, (_, columns) in DIFF_FRAMES.items()}
NO_RULING: Final = "no thresholds were read"
PART_ONLY: Final = "the guard is about whole runs, and this page shows some of the queries"


class SearchDiff(frames.Measured):
    """What changed from search run A to search run B.

    Every frame has exactly the columns declared in :mod:`retrieval_eval.report.columns`, and is
    handed out as a copy. As the last line of a cell the difference shows itself: what changed in
    the set-up, how many queries moved, and the verdict of the guard.

    Parameters
    ----------
    document
        The difference.
    a, b
        The two runs.
    noise
        The noise of the system, to compare changes with.
    notices
        How runs were chosen, where that had to be decided.
    guard
        The ruling of the guard on B against A, or in a sentence why there is none.
    pinned
        Ids of the pinned list that is shown as a slice of its own.
    privacy
        Queries go by their ids, and messages of the retriever are left out.
    places
        Where the pages of single queries and documents lie; without, no name is a link.
    part
        The condition that the queries passed, as :meth:`filter` gives it.
    """

    owner = "diff"
    frame_columns = _COLUMNS

    def __init__(
        self,
        document: StoredDiff,
        a: StoredRun,
        b: StoredRun,
        *,
        noise: NoiseFloor | None = None,
        notices: tuple[str, ...] = (),
        guard: GuardRuling | str = NO_RULING,
        pinned: Collection[str] | None = None,
        privacy: bool = False,
        places: Places | None = None,
        part: Filter | None = None,
    ) -> None:
        self.document = document
        self.runs = (a, b)
        self.notices = notices
        self.guard = guard
        self.noise_floor = noise
        self.pinned = pinned
        self.privacy = privacy
        self.places = places or Places()
        self.part = part

    def filter(self, where: str) -> SearchDiff:
        """Return the difference over the queries that pass a condition, measured anew.

        ``where`` is a condition over the columns of ``diff.queries``, such as
        ``corpus == 'docs'``. The guard is about whole runs, so there is no verdict of it then.

        Raises
        ------
        BadInputError
            When the condition cannot be read or no query passes it.
        """
        ids = passing(self.queries, where)
        a, b = (part_of(run, ids) for run in self.runs)
        found = diff(
            a,
            b,
            accept=[one.code for one in self.document.accepted],
            flag_points=self.document.settings.flag_points,
            seed=self.document.settings.seed,
            pinned=None if self.pinned is None else set(self.pinned) & ids,
        )
        before = self.part
        return SearchDiff(
            found,
            a,
            b,
            noise=self.noise_floor,
            notices=self.notices,
            guard=PART_ONLY,
            privacy=self.privacy,
            places=Places.of(*shown_names(b, a, None)) if self.places.queries else None,
            part=Filter(
                f"{before.condition}, and {where}" if before else where,
                before.n_all if before else len(self.by_id),
            ),
        )

    # --- facts ---

    @property
    def n_simulated(self) -> int:
        """How many queries of either gold set are invented."""
        return max(run.run.gold_set.n_simulated or 0 for run in self.runs)

    @property
    def labels(self) -> tuple[str, str]:
        """What A and B are called: their labels, ``A`` and ``B`` without, or when they agree."""
        a, b = self.document.a.label, self.document.b.label
        return (a, b) if a and b and a != b else ("A", "B")

    @property
    def names(self) -> tuple[str, str]:
        """What A and B are called in print."""
        a, b = self.labels
        return visible(a, 36), visible(b, 36)

    @property
    def coverage(self) -> str:
        """The coverage of the intervals, such as ``95 %``."""
        return f"{100 * self.document.settings.confidence:g} %"

    @property
    def filtered(self) -> str:
        """How many of how many queries are left, and by which condition; empty without one."""
        if self.part is None:
            return ""
        n = f"{len(self.by_id):,} of {counted(self.part.n_all, 'query')}"
        return f"{n}, where {visible(self.part.condition, 160)}"

    @cached_property
    def by_id(self) -> dict[str, QueryResult]:
        """The queries of either run by id, those of B where both have one."""
        return {query.id: query for run in self.runs for query in run.queries}

    def title(self, query: str, limit: int = 140) -> str:
        """Return what a query is called in print: its text, or its id in private reports."""
        found = self.by_id.get(query)
        return visible(query if self.privacy or found is None else found.query or query, limit)

    @property
    def ruling(self) -> GuardRuling | None:
        """The ruling of the guard on B against A; None where it could not be asked."""
        return None if isinstance(self.guard, str) else self.guard

    @cached_property
    def level(self) -> Noise | None:
        """The noise of the system, with what makes it stale for run B."""
        floor = self.noise_floor
        return None if floor is None else Noise(floor, tuple(staleness(floor, self.runs[1])))

    @property
    def changes_by_name(self) -> Mapping[str, MetricDifference]:
        """The difference of every metric over all queries."""
        return self.document.metrics

    @property
    def headline(self) -> list[str]:
        """The headline metrics that both runs have."""
        return [m for m in HEADLINE if m in self.document.metrics]

    @cached_property
    def clear(self) -> list[str]:
        """The headline metrics of which interval and adjusted test (Holm) show a change."""
        found = {m: self.document.metrics[m] for m in self.headline}
        adjusted = adjust_family({m: c.p_value for m, c in found.items()}).adjusted if found else {}
        ps = ((m, adjusted.get(m)) for m in found)
        return [m for m, p in ps if p is not None and p < ALPHA and excludes_zero(found[m])]

    @cached_property
    def moved(self) -> dict[str, dict[str, float]]:
        """The queries of which a ranking metric differs: id to the points each adds.

        This is what *moved* means on every page.
        """
        own = {
            query.id: {
                m: points
                for m, points in query.contributions.items()
                if points and m not in BLOCK_OF
            }
            for query in self.document.queries
        }
        return {query: given for query, given in own.items() if given}

    # --- frames ---

    @frames.handed_out
    def queries(self) -> pd.DataFrame:
        """One row a query of either run: both first documents, and whether it moved."""
        sides = [{query.id: query for query in run.queries} for run in self.runs]
        rows = []
        for name, query in self.by_id.items():
            own: Row = {"query": self.title(name, 10_000) if self.privacy else query.query}
            for side, found in zip(("a", "b"), sides, strict=True):
                ranking = found[name].ranking if name in found else ()
                own[f"doc_{side}"] = ranking[0].doc if ranking else None
                own[f"grade_{side}"] = ranking[0].grade if ranking else None
                own[f"n_retrieved_{side}"] = len(ranking) if name in found else None
            own["is_moved"] = name in self.moved
            rows.append(read_row(query, _COLUMNS["queries"], own))
        return make_frame(rows, _COLUMNS["queries"])

    @frames.handed_out
    def rankings(self) -> pd.DataFrame:
        """One row a query and rank: the documents of both runs side by side."""
        sides = [{query.id: query.ranking for query in run.queries} for run in self.runs]
        rows = []
        for name in self.by_id:
            a, b = (side.get(name, ()) for side in sides)
            for i in range(max(len(a), len(b))):
                own: Row = {"id": name, "rank": i + 1}
                for side, ranking in (("a", a), ("b", b)):
                    own[f"doc_{side}"] = ranking[i].doc if i < len(ranking) else None
                    own[f"grade_{side}"] = ranking[i].grade if i < len(ranking) else None
                rows.append(own)
        return make_frame(rows, _COLUMNS["rankings"])

    @frames.handed_out
    def changes(self) -> pd.DataFrame:
        """One row a part of the queries and metric: the change in points."""
        columns, slices = _COLUMNS["changes"], self.document.slices
        wholes = [("all", "all", self.document.n_queries_in_both, self.document.metrics)]
        wholes += [
            (dimension, level, part.n_queries, part.metrics)
            for dimension in slices.__struct_fields__
            for level, part in getattr(slices, dimension).items()
        ]
        found = []
        for dimension, level, n_queries, metrics in wholes:
            for name, change in metrics.items():
                n = None if dimension == "all" and not self.part else change.n_pairs
                noise = None if self.level is None else self.level.band(name, n)
                own: Row = {"dimension": dimension, "level": level, "metric": name}
                own["n_queries"] = n_queries
                found.append(read_row(change, columns, {**own, "noise_points": noise}))
        return make_frame(found, columns)

    @frames.handed_out
    def contributions(self) -> pd.DataFrame:
        """One row a query and metric that it moved, in points."""
        found = [
            {"id": query.id, "metric": name, "points": points}
            for query in self.document.queries
            for name, points in query.contributions.items()
        ]
        return make_frame(found, _COLUMNS["contributions"])

    @frames.handed_out
    def documents(self) -> pd.DataFrame:
        """One row a query, cut-off and document that came or went."""
        columns = _COLUMNS["documents"]
        found = [
            read_row(entry, columns, {"id": query.id, "k": int(k), "moved": moved})
            for query in self.document.queries
            for k, sides in query.documents.items()
            for moved, entries in (("gained", sides.gained), ("lost", sides.lost))
            for entry in entries
        ]
        return make_frame(found, columns)

    @frames.handed_out
    def first_documents(self) -> pd.DataFrame:
        """One row a query with another first document: both, with their grades."""
        columns = _COLUMNS["first_documents"]
        found = [
            read_row(one, columns, {"query": self.title(one.id, 10_000)} if self.privacy else {})
            for one in self.document.top1_changed
        ]
        return make_frame(found, columns)

    def frame(self, name: str) -> pd.DataFrame:
        """Return a frame by its name in :data:`retrieval_eval.report.columns.DIFF_FRAMES`."""
        if name not in DIFF_FRAMES:
            raise KeyError(name)
        found: pd.DataFrame = getattr(self, name)
        return found

    def _repr_mimebundle_(
        self,
        include: Any = None,  # noqa: ARG002 - the notebook protocol passes it
        exclude: Any = None,  # noqa: ARG002
    ) -> dict[str, str]:
        from retrieval_eval.report.search.diff_words import answer, header
        from retrieval_eval.report.search.opening import bundle

        return bundle(header(self), answer(self))

    def __repr__(self) -> str:
        return f"<SearchDiff {' → '.join(self.labels)}: {len(self.document.queries)} queries>"
