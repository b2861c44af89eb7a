"""The report of a difference: each method is what one notebook cell shows."""

from __future__ import annotations

from retrieval_eval.report.exhibits import shows
from retrieval_eval.report.search.diffs import closing, means, opening, queries
from retrieval_eval.report.search.diffs.facts import DiffFacts
from retrieval_eval.report.search.diffs.run import SearchDiff


class DiffReport:
    """The report of a difference of two search runs, section by section.

    Parameters
    ----------
    diff
        What lies between the runs.
    privacy
        Leave out texts of queries, messages of the retriever, and how it was opened.
    """

    def __init__(self, diff: SearchDiff, *, privacy: bool = False) -> None:
        self.diff = diff
        self.privacy = privacy
        self.facts = DiffFacts(diff, privacy)

    header = shows(opening.header)
    answer = shows(opening.answer)
    contributions = shows(queries.contributions)
    documents = shows(queries.documents)
    first_documents = shows(queries.first_documents)
    metrics = shows(means.metrics)
    noise = shows(means.noise)
    slices = shows(means.slices)
    setup = shows(closing.setup)
    definitions = shows(closing.definitions)
    provenance = shows(closing.provenance)
