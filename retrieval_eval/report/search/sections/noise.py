"""Whether a change is more than noise, and whether it holds on a corpus that is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import MISSING, interval, signed
from retrieval_eval.report.search import noise as bands
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.names import SHOWN
from retrieval_eval.search.noise import detectable_rows, level_rows, shown_metrics
from retrieval_eval.stats.calibration import MIN_INTERPRETABLE
from retrieval_eval.values import counted

NO_NOISE: Final = (
    "No noise file was read; `retrieval-eval search noise` repeats a run and writes one."
)
RANGE: Final = (
    "From the best case, in which the noise of runs alone hides a change, to the worst: two "
    "systems with nothing in common. Between them, where it was measured, a typical change."
)
SIGNS: Final = (
    f"Below {MIN_INTERPRETABLE} queries nothing is interpreted. An interval that holds 0 may have "
    "either sign by chance. The changes on the others, and more metrics, are in transfer.csv."
)
WORDS: Final[Mapping[str, str]] = {
    "holds": "holds",
    "reverses": "REVERSES",
    "vanishes": "vanishes",
    "no_change": "others unchanged",
    "not_computable": "not computable",
}


def noise(facts: Facts) -> Block:
    """Return how much repetition alone moves every metric, and what change could be seen."""
    return noise_block(facts.checks.noise, privacy=facts.privacy)


def noise_block(found: bands.Noise | None, *, privacy: bool) -> Block:
    """Return the section on a noise file: level, detectable changes, and why it is stale.

    What made it stale may be how the retriever was opened, which ``privacy`` leaves out.
    """
    if found is None:
        return section("The noise of the system is not known", Empty("noise", NO_NOISE))
    document = found.document
    rows = level_rows(document, shown_metrics(document))
    names = [row[0] for row in rows[1:]]
    level = Table(
        "noise",
        "Noise in points: between runs of one system, and from the choice of queries",
        (*map(_headed, rows[0][:5]), "Noise of a change"),
        tuple(
            (*map(visible, row[:5]), found.words(name))
            for name, row in zip(names, rows[1:], strict=True)
        ),
        notes=(bands.MEANING,),
    )
    sizes = detectable_rows(document)
    detectable = Table(
        "detectable",
        "Smallest change in points that 80 % of comparisons would find, by number of queries",
        tuple(map(_headed, sizes[0])),
        tuple(tuple(row) for row in sizes[1:]),
        notes=(RANGE,),
    )
    n_runs = counted(document.n_runs, "run")
    if found.is_deterministic:
        finding = f"{n_runs} of the same system gave the same documents: it is deterministic"
    else:
        varied = counted(document.n_queries_varied, "query")
        finding = f"{varied} of {document.n_queries:,} varied between {n_runs} of the system"
    if found.stale:
        finding = f"Stale noise: {finding[:1].lower()}{finding[1:]}"
    said = [visible(sentence, 300) + "." for sentence in found.stale]
    if privacy and said:
        said = [
            f"There {'is' if len(said) == 1 else 'are'} {counted(len(said), 'reason')} for that."
        ]
    return section(finding, level, detectable, sentences=[_headed(one) for one in said])


def _headed(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def transfer(facts: Facts) -> Block:
    """Return the change with one corpus left out at a time: does its sign hold there."""
    found = facts.checks.transfer
    if found is None:
        why = "There is no baseline, whose file was read, that this run can be compared with."
        return section("Whether the change holds elsewhere is not known", Empty("transfer", why))
    if facts.withheld is not None:
        return section("No change is given without a verdict", Empty("transfer", facts.withheld))
    if not found["computable"]:
        why = "Fewer than two corpora were asked, so none can be left out."
        return section("Whether the change holds elsewhere is not known", Empty("transfer", why))
    shown = {m: found["metrics"][m] for m in SHOWN if m in found["metrics"]}
    rows = [
        (visible(corpus, 40), *(_cell(row["corpora"][corpus]) for row in shown.values()))
        for corpus in found["corpora"]
    ]
    summary = [f"{metric} {_holds(row)}" for metric, row in shown.items()]
    table = Table(
        "transfer",
        f"Change on the corpus left out: points, {facts.coverage} interval, queries, and whether "
        "its sign is that of the change on all others",
        ("Left out", *shown),
        tuple(rows),
        ("left",) * (1 + len(shown)),
        (SIGNS,),
    )
    return section("; ".join(summary) or "No measure to compare", table)


def _holds(row: Mapping[str, Any]) -> str:
    parts = [part["verdict"] for part in row["corpora"].values()]
    if row["holds_everywhere"] is True:
        return f"moves alike on all {len(parts)} corpora"
    n = parts.count("holds")
    return f"holds on {n} of {len(parts)} corpora left out"


def _cell(part: Mapping[str, Any]) -> str:
    change = part["held_out"]
    n = change["n_pairs"]
    if n < MIN_INTERPRETABLE:
        return f"not interpreted (n = {n})"
    if change["delta_points"] is None:
        return MISSING
    ends = interval(change["ci_low_points"], change["ci_high_points"])
    return f"{signed(change['delta_points'])} {ends} (n = {n}), {WORDS[part['verdict']]}"
