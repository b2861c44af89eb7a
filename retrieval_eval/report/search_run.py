"""A search run as data frames, each built when it is first used, and what it says of itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.escape import visible
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.guard import GuardRuling, NoiseFloor
from retrieval_eval.model.search_diff import LabelSplit
from retrieval_eval.model.search_run import Delta, MetricMean, QueryResult
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report.columns import (
    SEARCH_FRAMES,
    Row,
    expand,
    frame_of,
    handed_out,
    make_frame,
    read_row,
)
from retrieval_eval.report.filtering import Where
from retrieval_eval.report.names import finite
from retrieval_eval.report.query_pages import Places, shown_names
from retrieval_eval.report.search_diff import SearchDiff
from retrieval_eval.report.searched import Filter, Searched, no_verdict
from retrieval_eval.search.change import diff
from retrieval_eval.search.change.anew import label_split, part_of
from retrieval_eval.search.change.baseline import compare_with_baseline
from retrieval_eval.search.decide.guard import check
from retrieval_eval.search.decide.guard.justification import Justification
from retrieval_eval.search.decide.thresholds import (
    Thresholds,
    pinned_lists,
    shipped_thresholds,
)
from retrieval_eval.search.gold.agreement import LabellerPair, agreement
from retrieval_eval.search.gold.chunks import drift
from retrieval_eval.search.gold.corpus import Corpus
from retrieval_eval.search.run import HEADLINE

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS: Final = {name: columns for name, (_, columns) in SEARCH_FRAMES.items()}
_MEAN: Final = tuple(c for c in _COLUMNS["metrics"] if c.name != "measure")
Relabelled = tuple[GoldSet, Mapping[tuple[str, str], Sequence[str]]]
"""The gold set of the baseline, and what became of its documents since."""

DOCUMENT_GONE: Final = "document_gone"
TEXT_CHANGED: Final = "text_changed"
_STALE: Final = {"gone": DOCUMENT_GONE, "changed": TEXT_CHANGED}


class SearchRun(Searched):
    """What was measured in one search run, beside its baseline where there is one.

    Every frame has exactly the columns declared in :mod:`retrieval_eval.report.columns`, and is
    handed out as a copy. As the last line of a cell the run shows what was measured, and
    ``run.answer`` the verdict of the guard and the headline metrics with their change.

    Parameters
    ----------
    stored
        The search run.
    path
        Where it was read from.
    baseline
        The search run it is compared with, when that was read; ``stored`` holds the change.
    backlog
        Counts of the review queue, as ``retrieval-eval gold backlog --json`` prints them; by
        default those that the run recorded.
    gold
        The gold set that was asked, for the relevant documents that were not retrieved.
    gold_problem
        Why there is no gold set although one was named.
    corpus
        The documents, to see which labels they have left behind.
    noise
        The noise of the system, to compare changes with.
    thresholds, justifications
        Of the guard; by default the shipped thresholds, and nothing is justified.
    relabelled
        The gold set of the baseline and the mapping of a re-labelling since, to separate the
        effect of labels from that of retrieval.
    privacy
        Queries go by their ids; messages of the retriever, how it was opened, texts of claims and
        names of labellers are left out.
    places
        Where the pages of single queries and documents lie; without, no name is a link.
    part
        The condition that the queries passed, as :meth:`filter` gives it.
    """

    owner = "search"
    frame_columns = _COLUMNS
    of = "measure"

    def __init__(
        self,
        stored: StoredRun,
        *,
        path: Path | None = None,
        baseline: StoredRun | None = None,
        backlog: Mapping[str, Any] | None = None,
        gold: GoldSet | None = None,
        gold_problem: str | None = None,
        corpus: Corpus | None = None,
        noise: NoiseFloor | None = None,
        thresholds: Thresholds | None = None,
        justifications: Sequence[Justification] = (),
        relabelled: Relabelled | None = None,
        privacy: bool = False,
        places: Places | None = None,
        part: Filter | None = None,
    ) -> None:
        delta, self.path = stored.delta, path
        change = delta if delta is not None and delta.is_comparable else None
        own = no_verdict(stored.status, "")
        before = baseline and no_verdict(baseline.status, " of the baseline")
        self.baseline_name = _named(delta)
        self.delta_withheld = next(map(_sentence, stored.delta_withheld), None)
        self.name = stored.label or (path.stem if path else "search-run")
        super().__init__(
            (stored,),
            baseline,
            change=change,
            names=(self.baseline_name, visible(self.name, 36)),
            settings=stored.run.settings,
            top1=change.queries_top1_changed if change else (),
            n_compared=len(stored.queries),
            withheld=own or before or self.delta_withheld,
            gold=gold,
            noise=noise,
            privacy=privacy,
            places=places,
            part=part,
        )
        self.stored = stored
        self.baseline = baseline
        self.backlog = stored.backlog if backlog is None else backlog
        self.gold_problem = gold_problem
        self.corpus = corpus
        self.thresholds = thresholds
        self.justifications = tuple(justifications)
        self.relabelled = relabelled

    def filter(self, where: Where) -> SearchRun:
        """Return the run of the queries that pass a condition, with every number measured anew.

        Parameters
        ----------
        where
            A condition over the columns of ``run.queries``, such as ``corpus == 'docs'``, or a
            function or values as for :meth:`Run.filter`; columns that are no plain words stand in
            backticks, such as ```P@5` < 0.5``.

        Returns
        -------
        SearchRun
            Means, slices, refusals, claims and the change against the baseline are those of the
            queries left. The guard, its composite and the review backlog are about whole runs and
            are left out.

        Raises
        ------
        BadInputError
            When the condition cannot be read or no query passes it.
        """
        ids, part = self._passing(where)
        gold = self.gold and GoldSet(
            tuple(query for query in self.gold.queries if query.id in ids), self.gold.fingerprint
        )
        stored = part_of(self.stored, ids, gold)
        baseline = self.baseline and part_of(self.baseline, ids)
        if baseline is not None and self.stored.delta is not None:
            stored = compare_with_baseline(baseline, stored, seed=self.seed)
        shown = Places.of(*shown_names(stored, baseline, gold)) if self.places.queries else None
        return SearchRun(
            stored,
            path=self.path,
            baseline=baseline,
            gold=gold,
            gold_problem=self.gold_problem,
            corpus=self.corpus,
            noise=self.noise_floor,
            relabelled=self.relabelled,
            privacy=self.privacy,
            places=shown,
            part=part,
        )

    # --- facts ---

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of the run, in reading order."""
        return tuple(dict.fromkeys(self.stored.run.settings.measures))

    @property
    def seed(self) -> int:
        """The seed of the run's own resampling."""
        return self.stored.run.settings.seed

    @cached_property
    def scored(self) -> list[QueryResult]:
        """The queries that have values: answered, and something is labelled relevant."""
        shown = (*HEADLINE, "RR", "nDCG@10")
        return [q for q in self.stored.queries if any(q.metrics.get(m) is not None for m in shown)]

    @cached_property
    def ruling(self) -> GuardRuling | None:
        """The ruling of the guard; None without the file of the baseline, and for a part."""
        if self.baseline is None or self.part is not None:
            return None
        thresholds = self.thresholds or shipped_thresholds()
        return check(
            [self.stored],
            [self.baseline],
            thresholds,
            today=self.day,
            gold=self.gold,
            lists=pinned_lists(thresholds),
            justifications=self.justifications,
            noise=self.noise_floor,
            seed=self.seed,
        )

    @cached_property
    def day(self) -> date:
        """The day of the run: the report is about that day, whenever it is written."""
        try:
            return datetime.fromisoformat(self.stored.generated_at).date()
        except ValueError as error:
            raise BadInputError(f"the run's /generated_at is no time: {error}") from error

    @cached_property
    def labeller_pairs(self) -> list[LabellerPair]:
        """The agreement of every pair of labellers; empty when no two labelled the same."""
        if self.gold is None:
            return []
        try:
            return agreement(self.gold, seed=self.seed)
        except NothingToEvaluateError:
            return []

    # --- the change ---

    @cached_property
    def label_effects(self) -> LabelSplit | None:
        """What labels and what retrieval did to every measure, after a re-labelling."""
        if self.relabelled is None or self.gold is None or self.baseline is None:
            return None
        old, mapping = self.relabelled
        return label_split(old, self.gold, mapping, self.baseline, self.stored)

    @cached_property
    def difference(self) -> SearchDiff | None:
        """The difference from the baseline; None where its file was not read or cannot compare."""
        if self.baseline is None or self.change is None:
            return None
        try:
            found = diff(self.baseline, self.stored, seed=self.seed)
        except NothingToEvaluateError:
            return None
        return SearchDiff(
            found,
            self.baseline,
            self.stored,
            noise=self.noise_floor,
            privacy=self.privacy,
            places=self.places,
            part=self.part,
        )

    @property
    def incomparable(self) -> Sequence[str]:
        """Why the baseline cannot be compared with, in sentences."""
        found = self.stored.delta
        if found is None or found.is_comparable:
            return ()
        given = [reason.partition(": ")[2] or reason for reason in found.reasons]
        return given or ("the reason was not recorded",)

    def _readable(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return differences, which no figure or table shows where there is no verdict."""
        frame.attrs |= {"withheld": self.withheld} if self.withheld else {}
        return frame

    # --- frames ---

    @handed_out
    def queries(self) -> pd.DataFrame:
        """One row a query: answer, status and every measure."""
        declared = expand(_COLUMNS["queries"], self.measures, of="measure")
        return make_frame([self._query_row(q, declared) for q in self.stored.queries], declared)

    def _query_row(self, query: QueryResult, declared: Sequence[Any]) -> Row:
        ranking = query.ranking
        known = self._relevant_by_query
        derived: Row = {
            "query": self.title(query.id, 10_000) if self.privacy else query.query,
            "error": None if self.privacy else query.error,
            "first_document": ranking[0].doc if ranking else None,
            "first_score": finite(ranking[0].score) if ranking else None,
            "first_relevant": next(
                (place for place, found in enumerate(ranking, 1) if (found.grade or 0) >= 1), None
            ),
            "n_relevant": None if known is None else len(known.get(query.id, {})),
        }
        return read_row(query, declared, derived)

    @handed_out
    def rankings(self) -> pd.DataFrame:
        """One row a query and retrieved document."""
        found = [entry for query in self.stored.queries for entry in query.ranking]
        values: dict[str, list[Any]] = {
            "id": [query.id for query in self.stored.queries for _ in query.ranking],
            "rank": [i for q in self.stored.queries for i in range(1, len(q.ranking) + 1)],
            "doc": [entry.doc for entry in found],
            "score": [finite(entry.score) for entry in found],
            "grade": [entry.grade for entry in found],
        }
        return frame_of(values, _COLUMNS["rankings"])

    @handed_out
    def relevant(self) -> pd.DataFrame:
        """One row a query and relevant document; without the gold set, those retrieved only."""
        found = [
            {"id": query.id, "doc": doc, "grade": grade, "rank": rank}
            for query in self.stored.queries
            for doc, grade, rank in self.relevant_of(query)
        ]
        return make_frame(found, _COLUMNS["relevant"])

    @handed_out
    def metrics(self) -> pd.DataFrame:
        """One row a measure: the mean over all queries."""
        return make_frame(list(_means(self.stored.metrics, {})), _COLUMNS["metrics"])

    @handed_out
    def slices(self) -> pd.DataFrame:
        """One row a part of the queries and measure."""
        found = [
            row
            for dimension in self.stored.slices.__struct_fields__
            for level, part in getattr(self.stored.slices, dimension).items()
            for row in _means(
                part.metrics,
                {"dimension": dimension, "level": level, "n_queries": part.n_queries},
            )
        ]
        return make_frame(found, _COLUMNS["slices"])

    @handed_out
    def delta(self) -> pd.DataFrame:
        """One row a part of the queries and measure: the change in points."""
        return self._readable(self._changed("delta"))

    @handed_out
    def guard(self) -> pd.DataFrame:
        """One row a threshold of the guard."""
        columns = _COLUMNS["guard"]
        rows = []
        for row in self.ruling.rows if self.ruling else ():
            part = row.slice
            rows.append(
                {c.name: getattr(row, c.name, None) for c in columns}
                | {
                    "part": None if part is None else f"{part.dimension} {part.value}",
                    "reasons": list(row.reasons),
                    "baseline": row.baseline.value,
                    "current": row.current.value,
                    "noise_points": self.band(row.metric, row.n_queries),
                }
            )
        return make_frame(rows, columns)

    @handed_out
    def roc(self) -> pd.DataFrame:
        """One row a threshold of the top score: what refusing below it does."""
        block = self.stored.abstention
        return self._records("roc", () if block is None else block.roc)

    def _records(self, name: str, found: Iterable[Any]) -> pd.DataFrame:
        return make_frame([read_row(one, _COLUMNS[name], {}) for one in found], _COLUMNS[name])

    @handed_out
    def claims(self) -> pd.DataFrame:
        """One row a claim of a draft."""
        block, columns = self.stored.claims, _COLUMNS["claims"]
        rows = [
            read_row(claim, columns, {"id": draft.id})
            for draft in (() if block is None else block.queries)
            for claim in draft.claims
        ]
        return make_frame([row | {"claim": None} if self.privacy else row for row in rows], columns)

    @handed_out
    def agreement(self) -> pd.DataFrame:
        """One row a pair of labellers, corpus and weighting."""
        rows = [
            {
                "labeller_a": self.labeller(pair.first),
                "labeller_b": self.labeller(pair.second),
                "corpus": corpus,
                "weights": weights,
                "kappa": kappa.value.value,
                "ci_low": kappa.interval.low.value,
                "ci_high": kappa.interval.high.value,
                "agreement": part.agreement.value,
                "n": part.n,
                "n_queries": part.n_queries,
            }
            for pair in self.labeller_pairs
            for corpus, part in [(None, pair.overall), *pair.corpora.items()]
            for weights, kappa in part.kappas.items()
        ]
        return make_frame(rows, _COLUMNS["agreement"])

    def labeller(self, name: str) -> str:
        """Return what a labeller is called: the name, or a number in private reports."""
        if not self.privacy:
            return name
        known = sorted({name for p in self.labeller_pairs for name in (p.first, p.second)})
        return f"labeller {known.index(name) + 1}"

    @handed_out
    def stale_labels(self) -> pd.DataFrame:
        """One row a judged pair whose document is gone from the corpus, or has another text."""
        rows = []
        gold, corpus = self.gold, self.corpus
        if gold is not None and corpus is not None:
            for one in sorted(drift(gold, corpus), key=lambda one: (one.query, one.doc)):
                if one.grade is not None and one.drift in _STALE:
                    row = {"id": one.query, "corpus": one.corpus, "doc": one.doc}
                    rows.append(row | {"grade": one.grade, "reason": _STALE[one.drift]})
        return make_frame(rows, _COLUMNS["stale_labels"])

    def __repr__(self) -> str:
        return f"<SearchRun {self.name}: {len(self.stored.queries)} queries>"


def _named(delta: Delta | None) -> str:
    """Return what the baseline is called, with the day it was measured."""
    if delta is None:
        return "no label, undated"
    label, moment = delta.baseline.label, delta.baseline.generated_at
    return f"{visible(label or 'no label', 36)}, {visible(moment)[:10] or 'undated'}"


def _sentence(reason: str) -> str:
    return f"{visible(reason[:1].upper() + reason[1:], 200)}."


def _means(metrics: Mapping[str, MetricMean], base: Row) -> Iterator[Row]:
    for name, mean in metrics.items():
        yield {**read_row(mean, _MEAN, {}), **base, "measure": name}
