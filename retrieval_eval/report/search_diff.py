"""A difference of two search runs as data frames, each built when it is first used."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.model.guard import GuardRuling, NoiseFloor
from retrieval_eval.model.search_diff import ComparedQuery, LabelSplit
from retrieval_eval.model.search_diff import SearchDiff as StoredDiff
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report.columns import (
    DIFF_FRAMES,
    Row,
    frame_of,
    handed_out,
    make_frame,
    read_row,
)
from retrieval_eval.report.filtering import Where
from retrieval_eval.report.query_pages import Places, shown_names
from retrieval_eval.report.searched import PART_ONLY, SIDES, Filter, Searched, no_verdict
from retrieval_eval.search.change import diff
from retrieval_eval.search.change.anew import Relabelled, part_of
from retrieval_eval.search.change.diff_text import compare_queries

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS: Final = {name: columns for name, (_, columns) in DIFF_FRAMES.items()}
NO_RULING: Final = "no thresholds were read"


class SearchDiff(Searched):
    """What changed from search run A to search run B.

    Every frame has exactly the columns declared in :mod:`retrieval_eval.report.columns`, and is
    handed out as a copy. As the last line of a cell the difference shows what was compared,
    and ``diff.answer`` the verdict of the guard and what changed.

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
    relabelled
        The gold sets of both runs, as for :func:`retrieval_eval.search.change.diff`.
    privacy
        Queries go by their ids, and messages of the retriever are left out.
    places
        Where the pages of single queries and documents lie; without, no name is a link.
    part
        The condition that the queries passed, as :meth:`filter` gives it.

    Attributes
    ----------
    labels
        What A and B are called: their labels, ``A`` and ``B`` without, or when they agree.
    """

    owner = "diff"
    frame_columns = _COLUMNS
    of = "metric"

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
        relabelled: Relabelled | None = None,
        privacy: bool = False,
        places: Places | None = None,
        part: Filter | None = None,
    ) -> None:
        first, second = document.a.label, document.b.label
        has_names = first and second and first != second
        self.labels = (first, second) if has_names else SIDES
        super().__init__(
            (a, b),
            a,
            change=document,
            names=(visible(self.labels[0], 36), visible(self.labels[1], 36)),
            settings=document.settings,
            top1=[one.id for one in document.top1_changed],
            n_compared=document.n_queries_in_both,
            withheld=_withheld(document, (a, b)),
            noise=noise,
            privacy=privacy,
            places=places,
            part=part,
        )
        self.document = document
        self.notices = notices
        self.guard = guard
        self.pinned = pinned
        self.relabelled = relabelled

    def filter(self, where: Where) -> SearchDiff:
        """Return the difference over the queries that pass a condition, measured anew.

        ``where`` is a condition over the columns of ``diff.queries``, such as
        ``corpus == 'docs'``. The guard is about whole runs, so there is no verdict of it then.

        Raises
        ------
        BadInputError
            When the condition cannot be read or no query passes it.
        """
        ids, part = self._passing(where)
        a, b = (part_of(run, ids) for run in self.runs)
        found = diff(
            a,
            b,
            accept=[one.code for one in self.document.accepted],
            flag_points=self.document.settings.flag_points,
            seed=self.document.settings.seed,
            pinned=None if self.pinned is None else set(self.pinned) & ids,
            relabelled=self.relabelled,
        )
        return SearchDiff(
            found,
            a,
            b,
            noise=self.noise_floor,
            notices=self.notices,
            guard=PART_ONLY,
            pinned=self.pinned,
            relabelled=self.relabelled,
            privacy=self.privacy,
            places=Places.of(*shown_names(b, a, both=True)) if self.places.queries else None,
            part=part,
        )

    # --- facts ---

    @property
    def label_effects(self) -> LabelSplit | None:
        """What labels and what retrieval did to every metric; None without both gold sets."""
        return self.document.label_split

    def compare(self, names: Sequence[str]) -> tuple[ComparedQuery, ...]:
        """Return some queries by id, each with both rankings and all its metrics.

        Raises
        ------
        BadInputError
            When neither run has one of them.
        """
        a, b = self.runs
        return compare_queries(self.document, a, b, names).queries

    @property
    def ruling(self) -> GuardRuling | None:
        """The ruling of the guard on B against A; None where it could not be asked."""
        return None if isinstance(self.guard, str) else self.guard

    @property
    def difference(self) -> SearchDiff:
        """The difference itself."""
        return self

    # --- frames ---

    @handed_out
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

    @handed_out
    def rankings(self) -> pd.DataFrame:
        """One row a query and rank: the documents of both runs side by side."""
        sides = [{query.id: query.ranking for query in run.queries} for run in self.runs]
        columns = _COLUMNS["rankings"]
        values: dict[str, list[Any]] = {column.name: [] for column in columns}
        for name in self.by_id:
            a, b = (side.get(name, ()) for side in sides)
            n = max(len(a), len(b))
            values["id"] += [name] * n
            values["rank"] += range(1, n + 1)
            for side, ranking in (("a", a), ("b", b)):
                rest = [None] * (n - len(ranking))
                values[f"doc_{side}"] += [found.doc for found in ranking]
                values[f"grade_{side}"] += [found.grade for found in ranking]
                values[f"doc_{side}"] += rest
                values[f"grade_{side}"] += rest
        return frame_of(values, columns)

    @handed_out
    def changes(self) -> pd.DataFrame:
        """One row a part of the queries and metric: the change in points."""
        return self._changed("changes")

    @handed_out
    def outcomes(self) -> pd.DataFrame:
        """One row a query that failed, or that the runs did not both answer, refuse or ask."""
        columns = _COLUMNS["outcomes"]
        found = [
            read_row(one, columns, {"query": self.title(one.id, 10_000)} if self.privacy else {})
            for one in self.document.outcomes
        ]
        return make_frame(found, columns)

    def __repr__(self) -> str:
        return f"<SearchDiff {' → '.join(self.labels)}: {len(self.document.queries)} queries>"


def _withheld(document: StoredDiff, runs: tuple[StoredRun, StoredRun]) -> str | None:
    """Return why a run has no verdict, as a sentence; None when both have one."""
    whose = [f" of run {side}" for side in SIDES]
    found = [no_verdict(run.status, of) for run, of in zip(runs, whose, strict=True)]
    # What a run cannot say of itself, such as that it holds a query twice.
    others = [f"{visible(text, 200)}." for text in document.no_verdict]
    return next((why for why in (*found, *others) if why), None)
