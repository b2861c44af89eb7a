"""The report of a difference: each method is what one notebook cell shows."""

from __future__ import annotations

from retrieval_eval.report.exhibits import Block
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
        self._facts = DiffFacts(diff, privacy)

    def header(self) -> Block:
        """Show which runs are compared, and what was accepted to differ."""
        return opening.header(self._facts)

    def answer(self) -> Block:
        """Show what moved, how sure that is, and who lost most."""
        return opening.answer(self._facts)

    def contributions(self) -> Block:
        """Show what each query adds to the change, the largest first."""
        return queries.contributions(self._facts)

    def documents(self) -> Block:
        """Show the documents that came and went, with their grades."""
        return queries.documents(self._facts)

    def first_documents(self) -> Block:
        """Show the queries with another first document."""
        return queries.first_documents(self._facts)

    def metrics(self) -> Block:
        """Show the change of every metric, with interval and noise."""
        return means.metrics(self._facts)

    def noise(self) -> Block:
        """Show how much repetition alone moves every metric."""
        return means.noise(self._facts)

    def slices(self) -> Block:
        """Show the change of the headline measures by part of the queries."""
        return means.slices(self._facts)

    def setup(self) -> Block:
        """Show both runs side by side, and what differs between their set-ups."""
        return closing.setup(self._facts)

    def definitions(self) -> Block:
        """Show the definitions of the metrics."""
        return closing.definitions(self._facts)

    def provenance(self) -> Block:
        """Show what this report was made from."""
        return closing.provenance(self._facts)
