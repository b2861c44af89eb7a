"""A search run as data frames, each built when it is first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.gold.corpus import Corpus
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.report import frames
from retrieval_eval.report.columns import SEARCH_FRAMES, expand
from retrieval_eval.report.search.check_rows import CHECKED, check_rows
from retrieval_eval.report.search.checks import Checks
from retrieval_eval.report.search.reading import Row, coerce, members, records
from retrieval_eval.search.guard.justification import Justification
from retrieval_eval.search.guard.thresholds import Thresholds

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.model.noise import NoiseFloor

Document = Mapping[str, Any]

_COLUMNS: Final = {name: columns for name, (_, columns) in SEARCH_FRAMES.items()}


class SearchRun(frames.Measured):
    """What was measured in one search run, beside its baseline where there is one.

    Every frame has exactly the columns declared in :mod:`retrieval_eval.report.columns`, and is
    handed out as a copy.

    Parameters
    ----------
    document
        The search run (schema ``search_run``).
    path
        Where it was read from.
    baseline
        The search run it is compared with, when that was read; ``document`` holds the change.
    backlog
        Counts of the review queue, as :meth:`retrieval_eval.gold.backlog.Backlog.to_json` gives
        them; by default those that the run recorded.
    gold
        The gold set that was asked, for the relevant documents that were not retrieved.
    gold_problem
        Why there is no gold set although one was named.
    corpus
        The documents, to see which labels they have left behind.
    noise
        The noise of the system (schema ``search_noise``), to compare changes with.
    thresholds, justifications
        Of the guard; by default the shipped thresholds, and nothing is justified.
    label_split
        What labels and what retrieval moved since the baseline, after re-labelling
        (:func:`retrieval_eval.search.label_split.label_split`).
    """

    frame_columns = _COLUMNS

    def __init__(
        self,
        document: Document,
        *,
        path: Path | None = None,
        baseline: Document | None = None,
        backlog: Document | None = None,
        gold: GoldSet | None = None,
        gold_problem: str | None = None,
        corpus: Corpus | None = None,
        noise: NoiseFloor | None = None,
        thresholds: Thresholds | None = None,
        justifications: Sequence[Justification] = (),
        label_split: Document | None = None,
    ) -> None:
        self.document = document
        self.path = path
        self.baseline = baseline
        self.backlog = document.get("backlog") if backlog is None else backlog
        self.gold = gold
        self.gold_problem = gold_problem
        self.corpus = corpus
        self.noise = noise
        self.thresholds = thresholds
        self.justifications = tuple(justifications)
        self.label_split = label_split

    @cached_property
    def checks(self) -> Checks:
        """What is computed beside the run: guard, noise, agreement, stale labels and others."""
        return Checks(self)

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of the run, in reading order."""
        return tuple(dict.fromkeys(self.document["run"]["settings"]["measures"]))

    @property
    def n_simulated(self) -> int:
        """How many queries of the gold set are invented, as their rows say."""
        return n_simulated(self.document)

    @property
    def name(self) -> str:
        """The run's label; without one, the name of its file."""
        return str(self.document["label"]) or (self.path.stem if self.path else "search-run")

    @cached_property
    def relevant_by_query(self) -> dict[str, dict[str, int]] | None:
        """The documents of grade 1 or more by query, or None when the gold set was not read."""
        if self.gold is None:
            return None
        return {
            query.id: {doc: grade for doc, grade in query.relevant.items() if grade >= 1}
            for query in self.gold.queries
        }

    @frames.handed_out
    def queries(self) -> pd.DataFrame:
        """One row a query: answer, status and every measure."""
        declared = expand(_COLUMNS["queries"], self.measures, of="measure")
        found = [self._query_row(query) for query in self.document["queries"]]
        return frames.make_frame(found, declared)

    def _query_row(self, query: Document) -> Row:
        ranking = query["ranking"]
        hits = (place for place, found in enumerate(ranking, 1) if (found["grade"] or 0) >= 1)
        known = self.relevant_by_query
        derived: Row = {
            "first_document": ranking[0]["doc"] if ranking else None,
            "first_score": coerce(ranking[0]["score"], "number") if ranking else None,
            "first_relevant": next(hits, None),
            "n_relevant": None if known is None else len(known.get(query["id"], {})),
        }
        derived |= {m: coerce(query["metrics"].get(m), "number") for m in self.measures}
        read = (c for c in _COLUMNS["queries"] if c.path and not c.path.startswith("metrics/"))
        return {c.name: coerce(query.get(c.name), c.type) for c in read} | derived

    @frames.handed_out
    def rankings(self) -> pd.DataFrame:
        """One row a query and retrieved document."""
        found = [
            {"id": query["id"], "rank": place}
            | {c.name: coerce(entry[c.name], c.type) for c in _COLUMNS["rankings"][2:]}
            for query in self.document["queries"]
            for place, entry in enumerate(query["ranking"], start=1)
        ]
        return frames.make_frame(found, _COLUMNS["rankings"])

    @frames.handed_out
    def relevant(self) -> pd.DataFrame:
        """One row a query and relevant document; without the gold set, those retrieved only."""
        found = [
            {"id": query["id"], "doc": doc, "grade": grade, "rank": rank}
            for query in self.document["queries"]
            for doc, grade, rank in self.relevant_of(query)
        ]
        return frames.make_frame(found, _COLUMNS["relevant"])

    def relevant_of(self, query: Document) -> list[tuple[str, int, int | None]]:
        """Return the relevant documents of a query: id, grade, rank; None: not retrieved."""
        places = {found["doc"]: place for place, found in enumerate(query["ranking"], start=1)}
        known = self.relevant_by_query
        grades = (
            {f["doc"]: f["grade"] for f in query["ranking"] if (f["grade"] or 0) >= 1}
            if known is None
            else known.get(query["id"], {})
        )
        found = [(doc, grade, places.get(doc)) for doc, grade in grades.items()]
        return sorted(found, key=lambda f: (f[2] is None, f[2] or 0, -f[1], f[0]))

    @frames.handed_out
    def metrics(self) -> pd.DataFrame:
        """One row a measure: the mean over all queries."""
        found = list(_mean_rows(self.document["metrics"], {}))
        return frames.make_frame(found, _COLUMNS["metrics"])

    @frames.handed_out
    def slices(self) -> pd.DataFrame:
        """One row a part of the queries and measure."""
        found = [
            row
            for dimension, levels in self.document["slices"].items()
            for level, part in levels.items()
            for row in _mean_rows(
                part["metrics"],
                {"dimension": dimension, "level": level, "n_queries": part["n_queries"]},
            )
        ]
        return frames.make_frame(found, _COLUMNS["slices"])

    @frames.handed_out
    def delta(self) -> pd.DataFrame:
        """One row a part of the queries and measure: the change in points."""
        block = members(self.document["delta"])
        wholes = [("all", "all", block.get("metrics"))]
        wholes += [
            (dimension, level, members(part).get("metrics"))
            for dimension, levels in members(block.get("slices")).items()
            for level, part in members(levels).items()
        ]
        found = [
            {"dimension": dimension, "level": level, "measure": name}
            | {c.name: coerce(members(change).get(c.name), c.type) for c in _COLUMNS["delta"][3:]}
            for dimension, level, metrics in wholes
            for name, change in members(metrics).items()
        ]
        return frames.make_frame(found, _COLUMNS["delta"])

    @frames.handed_out
    def contributions(self) -> pd.DataFrame:
        """One row a query and measure that it moved, in points."""
        found = [
            {"id": query["id"], "measure": name, "points": coerce(points, "number")}
            for query in records(members(self.document["delta"]).get("queries"))
            for name, points in query["contributions"].items()
        ]
        return frames.make_frame(found, _COLUMNS["contributions"])

    def frame(self, name: str) -> pd.DataFrame:
        """Return a frame by its name in :data:`retrieval_eval.report.columns.SEARCH_FRAMES`."""
        if name not in SEARCH_FRAMES:
            raise KeyError(name)
        if name in CHECKED:
            return frames.make_frame(check_rows(name, self.checks), _COLUMNS[name])
        found: pd.DataFrame = getattr(self, name)
        return found

    def __repr__(self) -> str:
        return f"<SearchRun {self.name}: {len(self.document['queries'])} queries>"


def n_simulated(document: Document) -> int:
    """Return how many queries of a search run's gold set are invented."""
    return coerce(document["run"]["gold_set"].get("n_simulated"), "integer") or 0


def _mean_rows(metrics: Document, base: Row) -> Iterator[Row]:
    for name, mean in metrics.items():
        read = (c for c in _COLUMNS["metrics"] if c.name != "measure")
        yield base | {"measure": name} | {c.name: coerce(mean[c.name], c.type) for c in read}
