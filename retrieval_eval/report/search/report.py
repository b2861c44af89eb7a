"""The search report: each method is what one notebook cell shows."""

from __future__ import annotations

from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.run import SearchRun
from retrieval_eval.report.search.sections import (
    change,
    claims,
    closing,
    guard,
    judging,
    labels,
    measured,
    noise,
    opening,
    quality,
    refusals,
    single,
)


class SearchReport:
    """The search report, section by section.

    Parameters
    ----------
    run
        What was measured.
    privacy
        Leave out texts of queries and drafts, messages of the retriever, how it was opened, and
        the names of labellers.
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

    def guard(self) -> Block:
        """Show the verdict of every threshold of the guard."""
        return guard.guard(self._facts)

    def composite(self) -> Block:
        """Show the composite score with its worst component."""
        return guard.composite(self._facts)

    def setup(self) -> Block:
        """Show what was asked, and how."""
        return measured.setup(self._facts)

    def composition(self) -> Block:
        """Show what the gold set is made of, and who labelled it."""
        return measured.composition(self._facts)

    def agreement(self) -> Block:
        """Show how far labellers agree, and where labels come from."""
        return labels.agreement(self._facts)

    def stale_labels(self) -> Block:
        """Show labels that the corpus has left behind."""
        return judging.stale(self._facts)

    def judged(self) -> Block:
        """Show every measure, with what ties and unjudged documents could do to it."""
        return measured.judged(self._facts)

    def to_judge(self) -> Block:
        """Show which documents to judge next."""
        return judging.to_judge(self._facts)

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

    def noise(self) -> Block:
        """Show how much repetition alone moves every metric."""
        return noise.noise(self._facts)

    def transfer(self) -> Block:
        """Show whether the change holds on a corpus that is left out."""
        return noise.transfer(self._facts)

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

    def abstention(self) -> Block:
        """Show what refusing catches and costs, beside two controls."""
        return refusals.abstention(self._facts)

    def unanswerable(self) -> Block:
        """Show what came back for queries that no document answers."""
        return single.unanswerable(self._facts)

    def claims(self) -> Block:
        """Show what of drafted answers is supported, and the worst drafts."""
        return claims.claims(self._facts)

    def definitions(self) -> Block:
        """Show the definitions of the measures."""
        return closing.definitions(self._facts)

    def provenance(self) -> Block:
        """Show what this report was made from."""
        return closing.provenance(self._facts)
