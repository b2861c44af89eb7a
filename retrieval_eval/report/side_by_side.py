"""Both rankings of a query side by side, as a table: on a difference and on pages of queries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from retrieval_eval.escape import visible
from retrieval_eval.model.search_diff import ComparedQuery, PlacedDocument
from retrieval_eval.report.exhibits import Block, Empty, Exhibit, Link, Links, Strong, Table
from retrieval_eval.report.names import SHOWN
from retrieval_eval.report.numbers import MISSING, contribution, of, rate
from retrieval_eval.search.change.diff_text import OUTCOMES, side_by_side
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from retrieval_eval.report.search_diff import SearchDiff
    from retrieval_eval.report.searched import Searched

CARRIERS: Final = 2
"""Queries shown with both rankings on the page of a difference."""

WHOLE: Final = 3
"""Ranks shown whatever they hold; deeper ones where a document is relevant."""

DEEPER: Final = 5
"""Rows shown of deeper ranks."""


MOST_CAUSES: Final = 5


def causes(view: Searched) -> Block:
    """Return what explains a change, as the difference names it; an empty block without one."""
    diff = view.difference
    if diff is None or not diff.moved:
        why = "Without two runs that can be compared there is no change to explain."
        return Block("section", exhibits=(Empty("causes", why, is_expected=True),))
    # Differences of earlier versions name none.
    found = [str(one.sentence) for one in getattr(diff.document, "causes", ())]
    if view.privacy or not found:
        why = "No pattern of queries, documents or ranks explains the change."
        return Block("section", exhibits=(Empty("causes", why, is_expected=True),))
    first, *rest = (f"{visible(text, 300)}." for text in found[:MOST_CAUSES])
    return Block("section", first.rstrip("."), tuple(rest))


def carriers(view: Searched, most: int = CARRIERS) -> Block:
    """Return the queries that carry the change, each with both rankings side by side.

    Parameters
    ----------
    view
        The difference, or a run with its baseline.
    most
        How many queries are shown, see `leading`.

    Returns
    -------
    Block
        The finding counts the queries that moved each headline metric, up and down.
    """
    diff = view.difference
    if diff is None:
        why = "Both rankings are shown when the file of a baseline that can be compared is read."
        return Block("section", exhibits=(Empty("carriers", why, is_expected=True),))
    names = leading(diff, most)
    shown = diff.compare(names)
    exhibits: tuple[Exhibit, ...] = tuple(
        ranking_table(diff, query, f"carrier-{place}", place=place)
        for place, query in enumerate(shown, 1)
    )
    if not exhibits:
        why = "No metric of any ranking has another value, so there is no query to show."
        return Block("section", "No query moved", (), (Empty("carriers", why),))
    return Block("section", _finding(diff), tuple(_sentences(diff, names)), exhibits)


def leading(diff: SearchDiff, most: int) -> list[str]:
    """Return the ids of queries that moved, those that add most to each headline metric in turn."""
    size = [[(-abs(own[m]), q) for q, own in diff.moved.items() if m in own] for m in diff.headline]
    turns = zip_longest(*(sorted(own) for own in size))
    found = [one[1] for turn in turns for one in turn if one is not None]
    rest = [row.id for row in diff.document.queries if row.id in diff.moved]
    return list(dict.fromkeys([*found, *rest]))[:most]


def _finding(diff: SearchDiff) -> str:
    parts = [f"{of(len(diff.moved), diff.n_compared)} queries moved"]
    for metric in diff.headline:
        change = diff.document.metrics[metric]
        ways = f"{change.n_up:,} up, {change.n_down:,} down"
        parts.append(f"{change.n_up + change.n_down:,} moved {metric} ({ways})")
    return "; ".join(parts)


def _sentences(diff: SearchDiff, names: list[str]) -> Iterator[str]:
    if diff.withheld is not None:
        yield (
            "There is no verdict: what follows shows single queries, and their sum is no measured "
            "difference."
        )
    shares = []
    for metric in diff.headline:
        points = {name: abs(own[metric]) for name, own in diff.moved.items() if metric in own}
        if total := sum(points.values()):
            part = sum(points.get(name, 0.0) for name in names)
            shares.append(f"{100 * part / total:.0f} % ({metric})")
    if len(diff.moved) > len(names):
        text = f"Below are the {len(names)} that add most to the change of "
        text += " and of ".join(diff.headline) or "a metric"
        made = f"; they make {' and '.join(shares)} of all movement up and down" if shares else ""
        yield f"{text}{made}."
    yield (
        f"The first {WHOLE} ranks are shown, and deeper ones with a relevant document (grade 1 or "
        "more). An unjudged document counts as not relevant."
    )


def ranking_table(
    diff: SearchDiff, query: ComparedQuery, key: str, *, place: int = 0, whole: int = WHOLE
) -> Table:
    """Return both rankings of a query as a table with what it adds to metrics.

    Parameters
    ----------
    diff
        The difference.
    query
        The compared query.
    key
        Key of the table.
    place
        Printed before the query, from 1; 0: none.
    whole
        Ranks shown whatever they hold.
    """
    a, b = diff.names
    rows: list[tuple[str, ...]] = []
    every = side_by_side(query, whole)
    for row in every[: whole + DEEPER]:
        if row.n_skipped:
            ranks = f"{row.rank - row.n_skipped}–{row.rank - 1}"
            ranks = ranks if row.n_skipped > 1 else str(row.rank - 1)
            rows.append((ranks, "none relevant", "none relevant"))
        sides = ((row.a, "now", f"not in {b}"), (row.b, "was", "new"))
        rows.append((str(row.rank), *(_cell(diff, *side) for side in sides)))
    number = f"{place}. " if place else ""
    return Table(
        key,
        f"{number}{diff.title(query.id, 300)} ({visible(query.id, 60)}, "
        f"{visible(query.corpus, 30)}): {points_of(query)}",
        ("Rank", _head(a, query.a.outcome), _head(b, query.b.outcome)),
        tuple(rows),
        ("right", "left", "left"),
        tuple(_notes(diff, query, whole + DEEPER if len(every) > whole + DEEPER else 0)),
        "rankings",
    )


def _head(name: str, outcome: str) -> str:
    words = {code: text for code, text in OUTCOMES.items() if code != "answered"}
    return f"{name} ({words[outcome]})" if outcome in words else name


def points_of(query: ComparedQuery) -> str:
    """Return the metrics of a query that moved, before and after, with the points it adds."""
    moved = [name for name, found in query.metrics.items() if found.points]
    shown = [m for m in SHOWN if m in moved] or moved[:4]
    parts = [
        f"{m} {rate(found.a)} → {rate(found.b)} ({contribution(found.points)} points)"
        for m in shown
        for found in [query.metrics[m]]
    ]
    unknown = sum((found.a is None) != (found.b is None) for found in query.metrics.values())
    if not parts and unknown:
        return f"{counted(unknown, 'metric')} with a value in one run only"
    return ", ".join(parts) or _unmoved(query)


def _unmoved(query: ComparedQuery) -> str:
    known = [(m, query.metrics[m].b) for m in SHOWN if m in query.metrics]
    parts = [f"{m} {rate(value)}" for m, value in known if value is not None]
    return f"no metric moved ({', '.join(parts)})" if parts else "it has no metric of the ranking"


def _cell(diff: SearchDiff, found: PlacedDocument | None, was: str, absent: str) -> str:
    """Return a document with its grade in words, and its rank in the other run."""
    if found is None:
        return MISSING
    link = Link(visible(found.doc, 60), diff.places.of_document(found.doc))
    if found.other_rank is None:
        move = f", {absent}"
    else:
        move = "" if found.other_rank == found.rank else f", {was} {found.other_rank}"
    if found.grade is None:
        return Links(link, f": unjudged{move}")
    if found.grade < 1:
        return Links(link, f": not relevant (grade {found.grade}){move}")
    return Links(link, ": ", Strong(f"relevant (grade {found.grade})"), move)


def _notes(diff: SearchDiff, query: ComparedQuery, n_shown: int) -> Iterator[str]:
    for name, side in zip(diff.names, (query.a, query.b), strict=True):
        match side.outcome:
            case "failed":
                why = "" if diff.privacy else f": {visible(side.error or 'no reason', 200)}"
                yield f"{name}: the query failed{why}. It has no metric, and counts as no 0."
            case "not_asked":
                yield f"{name}: the query was not asked, so it has no metric."
            case "refused" if not side.ranking:
                yield f"{name}: refused, as everything found lay below the floor."
            case "refused":
                yield f"{name}: refused, as its top score lies below the threshold of refusals."
            case "empty":
                yield f"{name}: nothing was returned, which scores 0 where a document is relevant."
    seconds = [
        f"{name} {side.seconds:.3g} s"
        for name, side in zip(diff.names, (query.a, query.b), strict=True)
        if side.seconds is not None
    ]
    if seconds:
        yield f"Time: {', '.join(seconds)}."
    if n_shown:
        yield f"The first {n_shown} rows; rankings.csv has every rank."
