"""BM25 over a corpus file: the retriever that needs no server."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.io.files import json_bytes
from retrieval_eval.search.ask import RetrieverError, ScoredDoc
from retrieval_eval.search.ask.options import Options
from retrieval_eval.search.ask.retrievers import RETRIEVERS, RetrieverKind, file_of
from retrieval_eval.search.gold.corpus import Corpus, Document, corpus_fingerprint, read_corpus

if TYPE_CHECKING:
    import bm25s

METHODS: Final = ("lucene", "robertson", "atire", "bm25l", "bm25+")
STOPWORDS: Final = {
    "none": "",
    "danish": "STOPWORDS_DANISH",
    "dutch": "STOPWORDS_DUTCH",
    "english": "STOPWORDS_EN",
    "french": "STOPWORDS_FRENCH",
    "german": "STOPWORDS_GERMAN",
    "italian": "STOPWORDS_ITALIAN",
    "norwegian": "STOPWORDS_NORWEGIAN",
    "portuguese": "STOPWORDS_PORTUGUESE",
    "russian": "STOPWORDS_RUSSIAN",
    "spanish": "STOPWORDS_SPANISH",
    "swedish": "STOPWORDS_SWEDISH",
    "turkish": "STOPWORDS_TURKISH",
}
STEMMERS: Final = ("none", "s")

TOKENIZER: Final = "words-1"
"""Name and version of the rules in :func:`tokenize`; a run records it."""

# Han, kana, Thai, Lao, Khmer and Burmese: no space tells where a word ends.
_UNSPACED: Final = (
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1780-\u17d3\u1000-\u1049"
)
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Bm25Settings:
    """How documents are weighted; each field is an option of the same name.

    ``k1`` and ``b`` default to Lucene's values. ``delta`` matters to ``bm25l`` and ``bm25+`` only.
    """

    k1: float = 1.2
    b: float = 0.75
    delta: float = 0.5
    method: str = "lucene"
    stopwords: str = "none"
    stemmer: str = "none"


def bm25_settings(given: Mapping[str, str]) -> Bm25Settings:
    """Return the settings of textual options.

    Raises
    ------
    BadInputError
        When an option is unknown or out of range; the message says what was expected.

    Examples
    --------
    >>> bm25_settings({"k1": "0.9", "b": "0.4"}).k1
    0.9
    """
    options = Options("bm25", given)
    default = Bm25Settings()
    options.only(tuple(asdict(default)))
    return Bm25Settings(
        k1=options.number("k1", default.k1, 0, 1000),
        b=options.number("b", default.b, 0, 1),
        delta=options.number("delta", default.delta, 0, 1000),
        method=options.choice("method", default.method, METHODS),
        stopwords=options.choice("stopwords", default.stopwords, tuple(STOPWORDS)),
        stemmer=options.choice("stemmer", default.stemmer, STEMMERS),
    )


def open_bm25(path: Path, options: Mapping[str, str]) -> Bm25Retriever:
    """Return a retriever over a corpus file; raises BadInputError naming the faults of either."""
    settings = bm25_settings(options)
    return Bm25Retriever(read_corpus(path), settings)


class Bm25Retriever:
    """BM25 as bm25s computes it, one index for each corpus of the file, held in memory.

    Title and text of a document are indexed together. Only documents that share a term with the
    query are returned, so an empty query, or one of unknown terms, finds nothing. Equal scores
    are ordered by document id, descending, also where the ``k``-th place is shared.
    """

    is_thread_safe = True
    is_deterministic = True

    def __init__(self, corpus: Corpus, settings: Bm25Settings | None = None) -> None:
        self._settings = settings or Bm25Settings()
        self._analyse = _Analyser.of(self._settings)
        self._where = corpus.path
        groups: dict[str, list[Document]] = {}
        for document in corpus.documents:
            groups.setdefault(document.corpus, []).append(document)
        # That of the file is that of its only corpus.
        known = corpus.fingerprint if len(groups) == 1 else None
        self._indexes = {
            name: _Index.build(groups[name], self._analyse, self._settings, known)
            for name in sorted(groups)
        }

    @property
    def known_documents(self) -> dict[str, list[str]]:
        """The ids of all documents of each corpus."""
        return {name: index.ids for name, index in self._indexes.items()}

    def search(self, query: str, *, corpus: str, k: int) -> list[ScoredDoc]:
        """Return the ``k`` best documents of ``corpus``, best first.

        Raises
        ------
        RetrieverError
            When the file holds no such corpus.
        """
        index = self._indexes.get(corpus)
        if index is None:
            there = ", ".join(map(repr, self._indexes)) or "none"
            raise RetrieverError(
                f"{self._where}: holds no corpus {corpus!r} (it has {there}); documents name"
                ' theirs in the field "corpus"'
            )
        return index.search(self._analyse(query), k)

    def describe(self) -> dict[str, Any]:
        """Return the settings, and for each corpus its size and a fingerprint of its documents.

        ``index`` is the SHA-256 over all that decides what this retriever answers.
        """
        import bm25s

        corpora = [
            {"corpus": name, "n_documents": len(index.ids), "fingerprint": index.fingerprint}
            for name, index in self._indexes.items()
        ]
        facts = {**asdict(self._settings), "tokenizer": TOKENIZER, "corpora": corpora}
        return {
            "name": "bm25",
            "reranker": None,
            "library": f"bm25s {bm25s.__version__}",
            **facts,
            "index": sha256(json_bytes(facts)).hexdigest(),
        }


@dataclass(frozen=True, slots=True)
class _Analyser:
    """Text to terms, with the stop words and the stemmer requested."""

    stopwords: frozenset[str]
    is_stemmed: bool

    @classmethod
    def of(cls, settings: Bm25Settings) -> _Analyser:
        from bm25s import stopwords

        listed = getattr(stopwords, STOPWORDS[settings.stopwords] or "none", ())
        words = frozenset(term for word in listed for term in tokenize(word))
        return cls(words, settings.stemmer == "s")

    def __call__(self, text: str) -> list[str]:
        terms = [term for term in tokenize(text) if term not in self.stopwords]
        return [stem(term) for term in terms] if self.is_stemmed else terms


@dataclass(frozen=True, slots=True)
class _Index:
    ids: list[str]
    terms: dict[str, int]
    bm25: bm25s.BM25 | None
    fingerprint: str

    @classmethod
    def build(
        cls,
        documents: Sequence[Document],
        analyse: _Analyser,
        settings: Bm25Settings,
        fingerprint: str | None = None,
    ) -> _Index:
        from bm25s import BM25

        terms: dict[str, int] = {}
        rows = []
        for document in documents:
            found = analyse(f"{document.title}\n{document.text}")
            rows.append([terms.setdefault(term, len(terms)) for term in found])
        bm25 = None
        if terms:
            bm25 = BM25(
                k1=settings.k1,
                b=settings.b,
                delta=settings.delta,
                method=settings.method,
                dtype="float64",
                backend="numpy",
            )
            bm25.index((rows, terms), create_empty_token=False, show_progress=False)
        ids = [document.id for document in documents]
        return cls(ids, terms, bm25, fingerprint or corpus_fingerprint(documents))

    def search(self, query: list[str], k: int) -> list[ScoredDoc]:
        import numpy as np

        known = [self.terms[term] for term in query if term in self.terms]
        if self.bm25 is None or not known:
            return []
        scores = self.bm25.get_scores_from_ids(known)
        # Not every match scores above 0, and under some methods every document does.
        starts, rows = self.bm25.scores["indptr"], self.bm25.scores["indices"]
        is_match = np.zeros(len(scores), np.bool_)
        for term in set(known):
            is_match[rows[starts[term] : starts[term + 1]]] = True
        matched = np.flatnonzero(is_match)
        if len(matched) > k:
            found_scores = scores[matched]
            least = np.partition(found_scores, len(matched) - k)[len(matched) - k]
            matched = matched[found_scores >= least]
        found = sorted(((float(scores[row]), self.ids[row]) for row in matched), reverse=True)
        return [ScoredDoc(doc, score) for score, doc in found[:k]]


def tokenize(text: str) -> list[str]:
    r"""Return the terms of ``text`` in their order, repeated ones repeated.

    The text is brought to Unicode's NFKC form and case-folded. A term is a run of letters, digits
    and the marks on them; everything else, underscores too, only separates. Scripts written
    without spaces (Han, kana, Thai, Lao, Khmer, Burmese) give overlapping pairs of characters, a
    lone character stands alone. Nothing is left out for being short or frequent.

    Examples
    --------
    >>> tokenize("Straßen-Nr. 5, CAFE\u0301")
    ['strassen', 'nr', '5', 'café']
    >>> tokenize("東京都 tax")
    ['東京', '京都', 'tax']
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    terms: list[str] = []
    for run in _word().finditer(folded):
        part = run.group()
        if run.lastgroup == "unspaced" and len(part) > 1:
            terms.extend(first + second for first, second in pairwise(part))
        else:
            terms.append(part)
    return terms


def stem(term: str) -> str:
    """Return an English term without its plural ending.

    The three rules of Harman's S stemmer (D. Harman, "How effective is suffixing?", 1991); the
    first whose ending fits decides, also when its exceptions then leave the term as it is.

    Examples
    --------
    >>> [stem(term) for term in ("policies", "bases", "levies", "costs", "class", "status")]
    ['policy', 'base', 'levy', 'cost', 'class', 'status']
    """
    if term.endswith("ies"):
        return term if term.endswith(("eies", "aies")) else term[:-3] + "y"
    if term.endswith("es"):
        return term if term.endswith(("aes", "ees", "oes")) else term[:-1]
    if term.endswith("s"):
        return term if term.endswith(("us", "ss")) else term[:-1]
    return term


@cache
def _word() -> re.Pattern[str]:
    # `re` knows letters and digits but no combining marks, without which words of many scripts
    # fall apart.
    places = (chr(point) for point in range(sys.maxunicode + 1))
    marks = "".join(re.escape(char) for char in places if unicodedata.category(char)[0] == "M")
    letter = rf"(?![{_UNSPACED}])[^\W_]"
    return re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|{letter}(?:{letter}|[{marks}])*")


RETRIEVERS.add(
    "bm25",
    RetrieverKind(
        "bm25:CORPUS.jsonl",
        lambda spec, options: open_bm25(file_of(spec), options),
        options=tuple(each.name for each in fields(Bm25Settings)),
    ),
)
