"""Why a run is another one than the run before: patterns over all queries first, then the queries.

A pattern is stated only where it explains most of what was lost, and far more of it than chance
would. Nothing here decides a verdict.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from msgspec.structs import replace

from retrieval_eval.escape import visible
from retrieval_eval.model.search_diff import Cause, CauseCode
from retrieval_eval.model.search_run import QueryResult, SearchRun
from retrieval_eval.search.change.paired_change import POINTS, pairs_of, quantile, seconds_of
from retrieval_eval.search.run.named_metrics import shares
from retrieval_eval.search.run.scoring import NO_NAME
from retrieval_eval.search.run.trust import trust_of
from retrieval_eval.stats.proportions import hypergeometric_tail
from retrieval_eval.stats.resampling import sign_flip_p
from retrieval_eval.values import counted

MOST: Final = 5
"""Sentences that are given at most."""

WATCHED: Final = ("P@1", "RR", "nDCG@10", "P@5", "Recall@20")
"""Metrics whose clear drop is named, whether or not a threshold holds it."""

TOP: Final = 10
"""Documents of a ranking that are compared."""

_LEAST_POINTS: Final = 0.5
_CLEAR: Final = 0.001
_CLEAR_WHERE_STILL: Final = 0.05
"""Levels of the sign-flip test, over all watched metrics: what runs of one system never reach, and
what is enough where equal questions get equal answers."""

_NEARLY_ALL: Final = 0.9
_MOST_OF: Final = 0.7
_RARE: Final = 1e-4
_SELDOM: Final = 0.01
_OFTEN: Final = 0.2
_LEAST: Final = 3
"""Queries, or lost documents, from which there is a pattern."""
_SLOWER: Final = 1.5
_LONGEST: Final = 60

_OPERATORS: Final = re.compile(r"\b(?:AND|OR|NOT|NEAR)\b|[\"*:+|()~^\\{}\[\]]|(?<!\w)-(?=\w)")
_PARTS: Final = re.compile(r"[/#:|_.\-]")
_LETTERS: Final = re.compile(r"[^\W\d_]+(?=\d)")
_MOST_PARTS: Final = 6

KINDS: Final[Mapping[str, Callable[[str], bool]]] = {
    "of one or two words": lambda text: len(text.split()) <= 2,
    "with digits": lambda text: any(map(str.isdigit, text)),
    "with operators or signs": lambda text: _OPERATORS.search(text) is not None,
    "of twelve words or more": lambda text: len(text.split()) >= 12,
    "with letters beyond ASCII": lambda text: not text.isascii(),
}
"""Kinds of queries, by what makes a text one."""


TITLE: Final = "What explains it, the most telling first"


def causes(
    before: SearchRun,
    after: SearchRun,
    *,
    breached: Collection[str] = (),
    within: Collection[str] | None = None,
) -> tuple[Cause, ...]:
    """Return what explains the change from one run to another, the most telling first.

    Parameters
    ----------
    before, after
        Search runs of one gold set.
    breached
        Metrics whose drop counts as clear whatever chance says, because a threshold does.
    within
        Ids of the queries to look at; None: all that both runs answered.

    Returns
    -------
    tuple of Cause
        At most :data:`MOST`; empty where nothing is clear. Patterns come first, then the metrics
        that dropped with the query that lost most.
    """
    if within is not None:
        before, after = (
            replace(run, queries=tuple(query for query in run.queries if query.id in within))
            for run in (before, after)
        )
    pairs = _pairs(before, after)
    if not pairs:
        return ()
    drops = _drops(before, after, breached)
    found = [*_everywhere(pairs)]
    if drops and not found:
        lost = _Lost(pairs, _worse(drops))
        found += [*_patterns(lost), *_emptied(lost)]
    found += [*_determinism(before, after), *_latency(before, after)]
    found = found[: MOST - bool(drops)]
    if drops:
        found.append(_dropped(after, drops))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Pair:
    """One query that both runs answered, and the documents of either ranking."""

    query: QueryResult
    before: tuple[str, ...]
    after: tuple[str, ...]
    relevant: frozenset[str]

    @property
    def id(self) -> str:
        return self.query.id


def _pairs(before: SearchRun, after: SearchRun) -> list[_Pair]:
    old = {query.id: query for query in before.queries if query.status == "ok"}
    return [
        _Pair(
            query,
            tuple(found.doc for found in old[query.id].ranking),
            tuple(found.doc for found in query.ranking),
            frozenset(found.doc for found in old[query.id].ranking if (found.grade or 0) >= 1),
        )
        for query in sorted(after.queries, key=lambda query: query.id)
        if query.status == "ok" and query.id in old
    ]


def _cause(code: CauseCode, sentence: str, n: int, of: int, query: _Pair | str) -> Cause:
    name = query if isinstance(query, str) else query.id
    return Cause(code=code, sentence=sentence, n=n, n_of=of, example=name)


def _shown(text: str) -> str:
    return visible(text, _LONGEST)


def _such_as(pair: _Pair) -> str:
    return f"such as {_shown(pair.id)} ({_shown(pair.query.query)!r})"


# --------------------------------------------------------------------------------------------------
# Clear drops.


@dataclass(frozen=True, slots=True)
class _Drop:
    name: str
    points: float
    harms: Mapping[str, float]
    """Points that each query of the metric lost, by id."""


def _drops(before: SearchRun, after: SearchRun, breached: Collection[str]) -> list[_Drop]:
    """Return the watched metrics that clearly fell, the largest drop first."""
    known = set(before.metrics) & set(after.metrics)
    names = [name for name in dict.fromkeys((*WATCHED, *sorted(breached))) if name in known]
    is_still = all(trust_of(run).is_deterministic for run in (before, after))
    level = (_CLEAR_WHERE_STILL if is_still else _CLEAR) / max(len(names), 1)
    found = []
    for name in names:
        pairs = pairs_of(shares(before, name), shares(after, name))
        harms = {query: POINTS * (a[0] - b[0]) for query, (a, b) in pairs.items()}
        if not harms:
            continue
        points = math.fsum(harms.values()) / len(harms)
        if points < (0 if name in breached else _LEAST_POINTS) or points <= 0:
            continue
        if name in breached or _chance([*harms.values()]) <= level:
            found.append(_Drop(name, points, harms))
    return sorted(found, key=lambda drop: -drop.points)


def _chance(harms: Sequence[float]) -> float:
    """Return the one-sided p-value of a mean harm: queries might as well have changed sides."""
    found = sign_flip_p(np.array(harms), seed=0, n_resamples=10_000)[0].value
    return 1.0 if found is None else found / 2


def _worse(drops: Sequence[_Drop]) -> dict[str, float]:
    """Return the queries that lost more than they won, over the metrics that dropped."""
    total: Counter[str] = Counter()
    for drop in drops:
        total.update(drop.harms)
    return {query: harm for query, harm in total.items() if harm > 0}


def _dropped(after: SearchRun, drops: Sequence[_Drop]) -> Cause:
    worse = _worse(drops)
    worst = max(worse, key=lambda query: (worse[query], query))
    text = next(query.query for query in after.queries if query.id == worst)
    fell = ", ".join(f"{drop.name} by {drop.points:.1f}" for drop in drops[: len(WATCHED)])
    n = max(len(drop.harms) for drop in drops)
    return _cause(
        "drop",
        f"{fell} points lower: {counted(len(worse), 'query')} of {n:,} got worse, most of all"
        f" {_shown(worst)} ({_shown(text)!r})",
        len(worse),
        n,
        worst,
    )


# --------------------------------------------------------------------------------------------------
# What happened to all rankings alike.


def _everywhere(pairs: Sequence[_Pair]) -> Iterator[Cause]:
    """Yield what is so of nearly every query: other ids, shifted ranks, fewer documents."""
    full = [pair for pair in pairs if pair.before and pair.after]
    if len(full) < _LEAST:
        return
    known = frozenset(doc for pair in pairs for doc in pair.before)
    n_new = sum(doc not in known for pair in full for doc in pair.after[:TOP])
    n_all = sum(len(pair.after[:TOP]) for pair in full)
    if n_new >= _NEARLY_ALL * n_all:
        first = next(pair for pair in full if pair.after[0] not in known)
        yield _cause(
            "other_ids",
            f"{n_new:,} of {counted(n_all, 'document')} among the first {TOP} were never returned"
            f" before, such as {_shown(first.after[0])} where {_shown(first.before[0])} was: do"
            " documents have other ids?",
            n_new,
            n_all,
            first,
        )
        return
    moved = _by_number(full, _shift)
    if moved is not None:
        yield _shifted(*moved, len(full), known)
        return
    shorter = _by_number(full, lambda pair: max(len(pair.before) - len(pair.after), 0))
    if shorter is not None:
        number, those = shorter
        pair = those[0]
        yield _cause(
            "fewer_results",
            f"{counted(number, 'document')} fewer in {len(those):,} of"
            f" {counted(len(full), 'query')}, such as {len(pair.after):,} instead of"
            f" {len(pair.before):,} for {_shown(pair.id)}",
            len(those),
            len(full),
            pair,
        )


def _shifted(number: int, those: list[_Pair], n: int, known: Collection[str]) -> Cause:
    """Return that all documents moved by one number of ranks, and what moved them."""
    words = counted(abs(number), "rank")
    where = f"in {len(those):,} of {counted(n, 'query')}, {_such_as(those[0])}"
    if number < 0:
        out = "the first document is" if number == -1 else f"the first {-number} documents are"
        text = f"{out} left out, and all others stand {words} higher, {where}"
        return _cause("rank_shift", text, len(those), n, those[0])
    new = Counter(doc for pair in those for doc in pair.after[:TOP] if doc not in known)
    doc, n_of = new.most_common(1)[0] if new else ("", 0)
    if n_of < _OFTEN * len(those):
        text = f"all documents stand {words} lower, behind what is new at the top, {where}"
        return _cause("rank_shift", text, len(those), n, those[0])
    text = f"{counted(len(new), 'document')} never returned before, such as {_shown(doc)} for"
    text += f" {n_of:,} queries, {_push(len(new))} all others {words} down, {where}"
    return _cause("documents_new", text, len(those), n, those[0])


def _push(n: int) -> str:
    return "pushes" if n == 1 else "push"


def _by_number(
    pairs: Sequence[_Pair], number_of: Callable[[_Pair], int]
) -> tuple[int, list[_Pair]] | None:
    """Return the number other than 0 that nearly all pairs have, and these pairs."""
    numbers = [number_of(pair) for pair in pairs]
    number, n = Counter(numbers).most_common(1)[0]
    if not number or n < _NEARLY_ALL * len(pairs):
        return None
    return number, [pair for pair, own in zip(pairs, numbers, strict=True) if own == number]


def _shift(pair: _Pair) -> int:
    """Return by how many ranks most documents of a query moved down; 0 where they differ."""
    places = {doc: rank for rank, doc in enumerate(pair.after)}
    steps = [places[doc] - rank for rank, doc in enumerate(pair.before) if doc in places]
    if len(steps) < _LEAST:
        return 0
    step, n = Counter(steps).most_common(1)[0]
    return step if n >= _MOST_OF * len(steps) else 0


# --------------------------------------------------------------------------------------------------
# What the queries, or the documents, that lost have in common.


class _Lost:
    """The queries that got worse, and the relevant documents that the first ranks lost."""

    def __init__(self, pairs: Sequence[_Pair], worse: Mapping[str, float]) -> None:
        self.pairs = pairs
        self.worse = [pair for pair in pairs if pair.id in worse]
        self.worse.sort(key=lambda pair: (-worse[pair.id], pair.id))
        self._ids = frozenset(pair.id for pair in self.worse)

    @cached_property
    def places(self) -> list[tuple[_Pair, str, bool]]:
        """Relevant documents among the first ranks before, and whether they fell out or down."""
        found = []
        for pair in self.pairs:
            now = {doc: rank for rank, doc in enumerate(pair.after)}
            for rank, doc in enumerate(pair.before[:TOP]):
                if doc in pair.relevant:
                    is_lost = now.get(doc, math.inf) > rank and pair.id in self._ids
                    found.append((pair, doc, is_lost))
        return found

    @cached_property
    def changed(self) -> list[_Pair]:
        """Queries with another beginning of the ranking that still get documents."""
        return [p for p in self.pairs if p.after and p.before[:TOP] != p.after[:TOP]]

    @cached_property
    def gone(self) -> frozenset[str]:
        """Documents of the first ranks before that no query gets now."""
        now = {doc for pair in self.pairs for doc in pair.after}
        return frozenset(doc for p in self.pairs for doc in p.before[:TOP] if doc not in now)

    @cached_property
    def new(self) -> frozenset[str]:
        """Documents of the first ranks now that no query got before."""
        old = {doc for pair in self.pairs for doc in pair.before}
        return frozenset(doc for p in self.pairs for doc in p.after[:TOP] if doc not in old)


@dataclass(frozen=True, slots=True)
class _Found:
    """A pattern: how much of what was lost it is, and how much of what it is was lost."""

    cause: Cause
    jaccard: float


def _patterns(lost: _Lost) -> list[Cause]:
    """Return what the losses have in common, what fits them best first."""
    if len(lost.worse) < _LEAST:
        return []
    found = [*_of_queries(lost), *_of_documents(lost), *_of_new(lost)]
    return [one.cause for one in sorted(found, key=lambda one: -one.jaccard)]


def _common(n_both: int, n_lost: int, n_part: int, n_all: int, n_tried: int) -> float | None:
    """Return how well a part fits what was lost (Jaccard); None where it does not or by chance.

    Chance: the hypergeometric probability of so many losses in a part of this size, for so many
    parts that were tried.
    """
    if n_both < _LEAST or n_both < _MOST_OF * n_lost or n_part == n_all:
        return None
    chance = hypergeometric_tail(n_both, n_all, n_part, n_lost)
    return None if chance * n_tried > _RARE else n_both / (n_lost + n_part - n_both)


def _of_queries(lost: _Lost) -> Iterator[_Found]:
    """Yield the corpora, areas and kinds of queries that nearly all losses are of."""
    parts: list[tuple[CauseCode, str, frozenset[str]]] = []
    for code in ("corpus", "area"):
        values = {getattr(pair.query, code) or NO_NAME for pair in lost.pairs}
        for value in sorted(values):
            ids = {p.id for p in lost.pairs if (getattr(p.query, code) or NO_NAME) == value}
            parts.append((code, f"of {code} {_shown(value)}", frozenset(ids)))
    for words, is_one in KINDS.items():
        ids = {pair.id for pair in lost.pairs if is_one(pair.query.query)}
        parts.append(("query_kind", words, frozenset(ids)))
    for code, words, part in parts:
        those = [pair for pair in lost.worse if pair.id in part]
        numbers = (len(those), len(lost.worse), len(part), len(lost.pairs))
        jaccard = _common(*numbers, len(parts))
        if jaccard is not None:
            yield _Found(
                _cause(
                    code,
                    f"{len(those):,} of {counted(len(lost.worse), 'query')} that got worse are"
                    f" {words if words.startswith('of') else f'queries {words}'}, and"
                    f" {len(part):,} of all {len(lost.pairs):,} are, {_such_as(those[0])}",
                    len(those),
                    len(lost.worse),
                    those[0],
                ),
                jaccard,
            )


def _of_documents(lost: _Lost) -> Iterator[_Found]:
    """Yield what ids of lost documents share (folder, prefix, field), or that they are gone."""
    places = lost.places
    those = [(pair, doc) for pair, doc, is_lost in places if is_lost]
    if len(those) < _LEAST:
        return
    gone = _explained(lost)
    all_of, lost_of = Counter[_Part](), Counter[_Part]()
    for _, doc, is_lost in places:
        parts = set(_parts(doc))
        all_of.update(parts)
        lost_of.update(parts if is_lost else ())
    best: tuple[float, int, _Part] | None = None
    for part, n in lost_of.items():
        numbers = (n, len(those), all_of[part], len(places))
        jaccard = _common(*numbers, len(all_of))
        # Of parts that fit alike the first field says most, and of these the longest text.
        if jaccard is not None and (
            best is None or (jaccard, *_rank(part)) > (best[0], *_rank(best[2]))
        ):
            best = jaccard, n, part
    if best is not None:
        jaccard, n, part = best
        pair, doc = next(one for one in those if part in _parts(one[1]))
        now = {doc for pair in lost.pairs for doc in pair.after}
        n_out = sum(part in _parts(doc) and doc not in now for _, doc in those)
        how = "no longer come back" if n_out >= _NEARLY_ALL * n else "fell"
        yield _Found(
            _cause(
                "id_part",
                f"{n:,} of {counted(len(those), 'relevant document')} that {how} {part.words}, and"
                f" {all_of[part]:,} of all {len(places):,} do, such as {_shown(doc)} for"
                f" {_shown(pair.id)} ({_shown(pair.query.query)!r})",
                n,
                len(those),
                pair,
            ),
            # Documents that are the same in all queries say more than the queries.
            jaccard + 1e-6,
        )
    if gone:
        hit = [(pair, doc) for pair, doc in those if doc in lost.gone]
        pair, doc = hit[0]
        n_queries = len({pair.id for pair, _ in hit})
        yield _Found(
            _cause(
                "documents_gone",
                f"{counted(len(lost.gone), 'document')} that came back before"
                f" {'comes' if len(lost.gone) == 1 else 'come'} back for no query now, relevant"
                f" to {n_queries:,} of {counted(len(lost.worse), 'query')} that got worse, such as"
                f" {_shown(doc)} for {_shown(pair.id)} ({_shown(pair.query.query)!r})",
                n_queries,
                len(lost.worse),
                pair,
            ),
            0.5,
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """A text that ids share: a folder or field (its place from the left), or the beginning."""

    place: int
    text: str

    @property
    def words(self) -> str:
        """What an id of it does."""
        if self.place < 0:
            return f"end with {_shown(self.text)}"
        if not self.place:
            return f"begin with {_shown(self.text)}"
        return f"have {_shown(self.text)} as part {self.place + 1} of their ids"


def _rank(part: _Part) -> tuple[int, int]:
    return (-abs(part.place), len(part.text))


def _parts(doc: str) -> list[_Part]:
    """Return the folders of an id, each whole from the left, and its fields by place."""
    ends = [hit.end() for hit in _PARTS.finditer(doc)][:_MOST_PARTS]
    found = [_Part(0, doc[:end]) for end in ends]
    if (letters := _LETTERS.match(doc)) is not None:
        found.append(_Part(0, letters[0]))
    fields = _PARTS.split(doc, _MOST_PARTS)
    found += [_Part(place, text) for place, text in enumerate(fields) if place and text]
    if len(fields) > 1 and fields[-1]:
        found.append(_Part(-1, fields[-1]))
    return found


def _explained(lost: _Lost) -> bool:
    """Return whether documents that no query gets now are the reason of most losses.

    Rankings without these documents must be those of before without them.
    """
    gone = lost.gone
    hit = [pair for pair in lost.worse if pair.after and gone.intersection(pair.before[:TOP])]
    n_places = sum(doc in gone for pair in hit for doc in pair.before[:TOP])
    if n_places < _LEAST or len(hit) < _MOST_OF * len(lost.worse):
        return False
    return _is_alike(hit, lambda docs: [doc for doc in docs if doc not in gone], None)


def _is_alike(
    pairs: Sequence[_Pair],
    old: Callable[[Iterable[str]], list[str]] | None,
    new: Callable[[Iterable[str]], list[str]] | None,
) -> bool:
    """Return whether rankings agree in nearly all queries once some documents are left out."""
    n_alike = 0
    for pair in pairs:
        before = (old(pair.before) if old else list(pair.before))[:TOP]
        after = (new(pair.after) if new else list(pair.after))[:TOP]
        size = min(len(before), len(after))
        common = len(set(before[:size]) & set(after[:size]))
        n_alike += size > 0 and common >= _NEARLY_ALL * size
    return n_alike >= _NEARLY_ALL * len(pairs)


def _of_new(lost: _Lost) -> Iterator[_Found]:
    """Yield documents that were never returned before and now push others down."""
    new = lost.new
    hit = [pair for pair in lost.worse if new.intersection(pair.after[:TOP])]
    n_of = Counter(doc for pair in hit for doc in pair.after[:TOP] if doc in new)
    if len(hit) < max(_LEAST, _MOST_OF * len(lost.worse)) or not n_of:
        return
    if not _is_alike(hit, None, lambda docs: [doc for doc in docs if doc not in new]):
        return
    if _explained(lost) and max(n_of.values()) < _LEAST:
        # They only take the places of what is gone.
        return
    doc, _ = n_of.most_common(1)[0]
    pair = next(pair for pair in hit if doc in pair.after[:TOP])
    yield _Found(
        _cause(
            "documents_new",
            f"{counted(len(n_of), 'document')} never returned before {_stand(len(n_of))} among the"
            f" first {TOP} of {len(hit):,} of {counted(len(lost.worse), 'query')} that got worse,"
            f" such as {_shown(doc)} for {_shown(pair.id)} ({_shown(pair.query.query)!r})",
            len(hit),
            len(lost.worse),
            pair,
        ),
        0.95,
    )


def _stand(n: int) -> str:
    return "stands" if n == 1 else "stand"


def _emptied(lost: _Lost) -> Iterator[Cause]:
    """Yield that queries come back with nothing."""
    those = [pair for pair in lost.worse if pair.before and not pair.after]
    if len(those) >= max(_LEAST, _MOST_OF * len(lost.worse)):
        yield _cause(
            "empty",
            f"{len(those):,} of {counted(len(lost.worse), 'query')} that got worse get no document"
            f" now, {_such_as(those[0])}",
            len(those),
            len(lost.worse),
            those[0],
        )


# --------------------------------------------------------------------------------------------------
# The system itself: whether it answers alike twice, and how long it takes.


def _determinism(before: SearchRun, after: SearchRun) -> Iterator[Cause]:
    """Yield that a system began, or ceased, to give the same answer twice."""
    old, new = trust_of(before), trust_of(after)
    n_old, n_new = (trust.n_asked_twice - trust.n_same_answer for trust in (old, new))
    if (n_old > 0) == (n_new > 0):
        return
    side, run, when = (
        (new, after, "now, and none before") if n_new else (old, before, "before, and none now")
    )
    n_all = old.n_asked_twice + new.n_asked_twice
    n_varied = n_old + n_new
    chance = hypergeometric_tail(n_varied, n_all, n_varied, side.n_asked_twice)
    if chance > _SELDOM:
        return
    varied = [q for q in run.queries if q.second_answer in ("other_answer", "failed")]
    yield _cause(
        "determinism",
        f"{len(varied):,} of {counted(side.n_asked_twice, 'query')} asked twice got another answer"
        f" {when}, such as {_shown(varied[0].id)} ({_shown(varied[0].query)!r})",
        len(varied),
        side.n_asked_twice,
        varied[0].id,
    )


def _latency(before: SearchRun, after: SearchRun) -> Iterator[Cause]:
    """Yield that queries take clearly longer, by the median or the 95th percentile.

    The ratio must exceed the larger of 1.5 and what the intervals of both quantiles leave open.
    """
    old, new = seconds_of(before), seconds_of(after)
    found = []
    for words, share in (("median", 0.5), ("95th percentile", 0.95)):
        was, now = (quantile([*side.values()], share) for side in (old, new))
        if was.value and now.value and was.ci_high and now.ci_low and was.ci_low and now.ci_high:
            ratio = now.value / was.value
            if now.ci_low > _SLOWER * was.ci_high:
                low, high = now.ci_low / was.ci_high, now.ci_high / was.ci_low
                found.append(f"{words} {ratio:.2f} times ({low:.2f} to {high:.2f})")
    if found:
        slowest = max(new, key=lambda query: (new[query], query))
        yield _cause(
            "latency",
            f"queries take longer: {', '.join(found)}, over {counted(len(new), 'query')}, such as"
            f" {_shown(slowest)} with {new[slowest]:.3f} s; it decides nothing",
            len(new),
            len(after.queries),
            slowest,
        )
