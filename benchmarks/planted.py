"""A simulated search system, and changes planted in it whose cause is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from msgspec.structs import replace

from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.search.measure import run_search
from retrieval_eval.search.run import Settings

DEPTH = 30
FOLDERS = ("billing", "guide", "api", "legal", "news", "faq")
LANGUAGES = ("en", "de", "fr")
AREAS = ("fees", "terms", "limits", "errors")
WORDS = (
    *("refund", "invoice", "limit", "token", "page", "contract", "notice"),
    *("error", "retry", "region", "billing", "export", "import"),
)

Ranking = list[str]
Change = Callable[["Query", Ranking, Random], Ranking]


@dataclass(frozen=True)
class Query:
    """A query as the simulated system sees it: its row, and all documents it ranks."""

    row: GoldQuery
    ranking: Ranking

    def relevant(self, doc: str) -> bool:
        """Return whether a document is labelled relevant."""
        return doc in self.row.relevant


@dataclass
class World:
    """Queries of two corpora and four areas, some of a kind, over 900 documents in folders."""

    seed: int
    n: int = 120
    queries: list[Query] = field(default_factory=list)

    def __post_init__(self) -> None:
        g = Random(self.seed)
        docs = [f"{FOLDERS[i % 6]}/{LANGUAGES[i % 5 % 3]}/{i:04}" for i in range(900)]
        g.shuffle(docs)
        for i in range(self.n):
            candidates = g.sample(docs, 90)
            relevant = candidates[: g.randint(2, 6)]
            scores = {doc: g.gauss(2.2 if doc in relevant else 0.0, 1.0) for doc in candidates}
            row = GoldQuery(
                f"q{i:03}",
                self._text(i, g),
                g.choice(("law", "tech")),
                area=g.choice(AREAS),
                relevant=dict.fromkeys(relevant, 1),
            )
            self.queries.append(Query(row, sorted(candidates, key=lambda d: -scores[d])))
        self.gold = GoldSet(tuple(query.row for query in self.queries), f"{self.seed:064}")

    def _text(self, i: int, g: Random) -> str:
        words = [g.choice(WORDS) for _ in range(g.choice((2, 4, 5, 6, 13)))]
        if g.random() < 0.2:
            words[0] = f"{words[0]}{i}"
        if g.random() < 0.15:
            words[-1] = f'"{words[-1]}"'
        # No text comes twice.
        return " ".join(
            [*words[:-1], words[-1] + "s" * (i // 12 % 3), *(["of"] * (len(words) > 2))]
        )

    @cached_property
    def plain(self) -> SearchRun:
        """A run of the unchanged system."""
        return self.run()

    def run(
        self,
        change: Change | None = None,
        *,
        noise: float = 0.0,
        varies: float = 0.0,
        luck: int = 0,
        seconds: tuple[float, float] = (0.02, 0.3),
    ) -> SearchRun:
        """Return a run of the system with a change, in which a share ``noise`` of queries differ.

        ``varies`` is the share that is answered otherwise each time it is asked.
        """
        by_text = {(q.row.corpus, q.row.query): q for q in self.queries}
        g = Random(f"{self.seed} {luck}")
        answers: dict[str, Ranking] = {}

        class System:
            def search(self, text: str, *, corpus: str, k: int) -> Sequence[tuple[str, float]]:
                query = by_text[corpus, text]
                if query.row.id not in answers:
                    docs = [*query.ranking]
                    own = Random(f"{query.row.id} planted")
                    docs = change(query, docs, own) if change else docs
                    answers[query.row.id] = shaken(docs, g) if g.random() < noise else docs
                docs = answers[query.row.id][:]
                if g.random() < varies:
                    docs = shaken(docs, g)
                return [(doc, float(-place)) for place, doc in enumerate(docs[:k])]

        run = run_search(
            self.gold,
            System(),
            settings=Settings(k_values=(1, 5, 10, 20), depth=DEPTH, n_resamples=1),
            is_repeat=True,
        )
        middle, spread = seconds
        return replace(
            run,
            queries=tuple(
                replace(query, seconds=middle * g.lognormvariate(0.0, spread))
                for query in run.queries
            ),
        )


def shaken(docs: Ranking, g: Random) -> Ranking:
    """Return a ranking in which two documents of the first 20 changed places with near ones."""
    docs = [*docs]
    for _ in range(2):
        i = g.randrange(min(20, len(docs) - 3))
        j = min(i + g.randint(1, 3), len(docs) - 1)
        docs[i], docs[j] = docs[j], docs[i]
    return docs


def worse(query: Query, docs: Ranking, g: Random) -> Ranking:
    """Return a ranking whose relevant documents fell by ranks drawn at random."""
    place = {
        doc: n + (g.uniform(3, 25) if query.relevant(doc) else 0) for n, doc in enumerate(docs)
    }
    return sorted(docs, key=lambda doc: place[doc])


def where(is_one: Callable[[Query], bool], change: Change = worse) -> Change:
    """Return a change of some queries only."""
    return lambda query, docs, g: change(query, docs, g) if is_one(query) else docs


def without(is_one: Callable[[str], bool]) -> Change:
    """Return a change that no longer finds some documents."""
    return lambda _query, docs, _g: [doc for doc in docs if not is_one(doc)]


def lower(is_one: Callable[[str], bool]) -> Change:
    """Return a change that ranks some documents lower."""

    def change(_query: Query, docs: Ranking, g: Random) -> Ranking:
        place = {doc: n + (g.uniform(5, 25) if is_one(doc) else 0) for n, doc in enumerate(docs)}
        return sorted(docs, key=lambda doc: place[doc])

    return change


def _junk(_query: Query, docs: Ranking, g: Random) -> Ranking:
    found = [*docs]
    for doc in ("news/en/9001", "news/en/9002"):
        found.insert(g.randrange(3), doc)
    return found


def _one_on_top(_query: Query, docs: Ranking, g: Random) -> Ranking:
    return [f"ads/{g.randrange(40)}", *docs]


def _swap_first(query: Query, docs: Ranking, g: Random) -> Ranking:
    docs = [*docs]
    other = next(n for n, doc in enumerate(docs) if not query.relevant(doc))
    if query.relevant(docs[0]) and other < 4 and g.random() < 0.7:
        docs[0], docs[other] = docs[other], docs[0]
    return docs


def _words(query: Query) -> int:
    return len(query.row.query.split())


PLANTED: dict[str, tuple[str, Change]] = {
    "one corpus ranked worse": ("corpus", where(lambda q: q.row.corpus == "law")),
    "one area ranked worse": ("area", where(lambda q: q.row.area == "fees")),
    "a folder is gone": ("id_part", without(lambda doc: doc.startswith("billing/"))),
    "a folder ranked lower": ("id_part", lower(lambda doc: doc.startswith("guide/"))),
    "a language is gone": ("id_part", without(lambda doc: "/de/" in doc)),
    "a language ranked lower": ("id_part", lower(lambda doc: "/fr/" in doc)),
    "documents were deleted": ("documents_gone", without(lambda doc: Random(doc).random() < 0.1)),
    "more documents were deleted": (
        "documents_gone",
        without(lambda doc: Random(doc).random() < 0.25),
    ),
    "new documents on top": ("documents_new", _junk),
    "one result less": ("fewer_results", lambda _query, docs, _g: docs[: DEPTH - 1]),
    "ten results less": ("fewer_results", lambda _query, docs, _g: docs[: DEPTH - 10]),
    "the first result is left out": ("rank_shift", lambda _query, docs, _g: docs[1:]),
    "something stands before all": ("rank_shift", _one_on_top),
    "short queries ranked worse": ("query_kind", where(lambda q: _words(q) <= 2)),
    "long queries ranked worse": ("query_kind", where(lambda q: _words(q) >= 12)),
    "queries with digits ranked worse": (
        "query_kind",
        where(lambda q: any(map(str.isdigit, q.row.query))),
    ),
    "operators find nothing": (
        "query_kind",
        where(lambda q: '"' in q.row.query, lambda _query, _docs, _g: []),
    ),
    "some queries find nothing": (
        "empty",
        where(lambda q: int(q.row.id[1:]) * 7919 % 10 < 2, lambda _query, _docs, _g: []),
    ),
    "documents have other ids": (
        "other_ids",
        lambda _query, docs, _g: [f"v2:{doc}" for doc in docs],
    ),
    "the first relevant document is another one": ("drop", _swap_first),
}
"""Changes of rankings, each with the code that must be named first."""


def pair(
    world: World, name: str, *, noise: float = 0.0, luck: int = 0
) -> tuple[SearchRun, SearchRun]:
    """Return a run of the system and one with the planted change, by its name."""
    before = world.run(noise=noise, luck=luck) if noise or luck else world.plain
    if name == "slower":
        return before, world.run(noise=noise, luck=luck + 1, seconds=(0.06, 0.3))
    if name == "the slowest are slower":
        # One query of eight takes ten times as long.
        after = world.run(noise=noise, luck=luck + 1)
        slow = tuple(
            replace(q, seconds=(q.seconds or 0.0) * (10 if n % 8 == 0 else 1))
            for n, q in enumerate(after.queries)
        )
        return before, replace(after, queries=slow)
    if name == "no longer deterministic":
        return before, world.run(varies=0.8, luck=luck + 1)
    if name == "deterministic now":
        return world.run(varies=0.8, luck=luck), world.run(luck=luck + 1)
    return before, world.run(PLANTED[name][1], noise=noise, luck=luck + 1)


TRUTH: dict[str, str] = {
    **{name: code for name, (code, _) in PLANTED.items()},
    "slower": "latency",
    "the slowest are slower": "latency",
    "no longer deterministic": "determinism",
    "deterministic now": "determinism",
}
"""What must be named first, by what was planted."""
