"""The search report: each method is what one notebook cell shows."""

from __future__ import annotations

from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.run import SearchRun
from retrieval_eval.report.search.sections import (
    change,
    closing,
    measured,
    opening,
    quality,
    single,
)


class SearchReport:
    """The search report, section by section.

    Parameters
    ----------
    run
        What was measured.
    privacy
        Leave out texts of queries, messages of the retriever, and how it was opened.
    """

    def __init__(self, run: SearchRun, *, privacy: bool = False) -> None:
        self.run = run
        self.privacy = privacy
        self._facts = Facts(run, privacy)

    def header(self) -> Block:
        """Show run, retriever, corpora, gold set, status, label sources and backlog."""
        return opening.header(self._facts)

    def answer(self) -> Block:
        """Show how good search is, whether it changed, how sure, and whether to trust it."""
        return opening.answer(self._facts)

    def setup(self) -> Block:
        """Show what was asked, and how."""
        return measured.setup(self._facts)

    def composition(self) -> Block:
        """Show what the gold set is made of, and who labelled it."""
        return measured.composition(self._facts)

    def judged(self) -> Block:
        """Show every measure, with what ties and unjudged documents could do to it."""
        return measured.judged(self._facts)

    def problems(self) -> Block:
        """Show what happened to queries."""
        return measured.problems(self._facts)

    def backlog(self) -> Block:
        """Show the review queue."""
        return measured.backlog(self._facts)

    def cutoffs(self) -> Block:
        """Show P, Recall and nDCG at each cut-off by corpus."""
        return quality.cutoffs(self._facts)

    def query_changes(self) -> Block:
        """Show the queries that moved a measure, by what each adds to the change."""
        return change.queries(self._facts)

    def first_documents(self) -> Block:
        """Show the queries whose first document is another one than in the baseline."""
        return change.first_documents(self._facts)

    def changes(self) -> Block:
        """Show the change of every measure."""
        return change.measures(self._facts)

    def slices(self) -> Block:
        """Show the headline measures by part of the queries."""
        return quality.sliced(self._facts)

    def slice_changes(self) -> Block:
        """Show the change of the headline measures by part of the queries."""
        return quality.sliced_changes(self._facts)

    def nothing_found(self) -> Block:
        """Show the queries that found nothing relevant."""
        return single.nothing_found(self._facts)

    def worst(self) -> Block:
        """Show the queries that found something and ranked it worst."""
        return single.worst(self._facts)

    def unanswerable(self) -> Block:
        """Show what came back for queries that no document answers."""
        return single.unanswerable(self._facts)

    def definitions(self) -> Block:
        """Show the definitions of the measures."""
        return closing.definitions(self._facts)

    def provenance(self) -> Block:
        """Show what this report was made from."""
        return closing.provenance(self._facts)
