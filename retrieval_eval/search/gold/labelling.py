"""Labelling sheets: (query, document) pairs for labellers, and reading their grades."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.files import cell_text, csv_text, json_bytes, write_atomically
from retrieval_eval.io.user_files import read_user_json, read_user_text
from retrieval_eval.model.common import Record
from retrieval_eval.model.gold import GoldQuery, GoldSet, Label
from retrieval_eval.search.gold import max_grade_of, text_digest_of
from retrieval_eval.search.gold.chunks import digests_of
from retrieval_eval.search.gold.corpus import Corpus, Document
from retrieval_eval.search.gold.faults import kind, pointer, user_lines
from retrieval_eval.values import MAX_GRADE, counted

COLUMNS: Final = ("item", "query", "document", "grade", "comment")

_DELIMITERS: Final = ",;\t"


@dataclass(frozen=True, slots=True)
class Item:
    """One document to be graded for one query; ``id`` reveals nothing about either."""

    id: str
    query: str
    document: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a labeller wrote beside an item; ``grade`` is None where it was left empty."""

    item: str
    grade: int | None
    comment: str
    where: str


def shown_digest(query: str, document: str) -> str:
    """Return the SHA-256 (hexadecimal) of what is shown, white space collapsed.

    Spreadsheets change line ends when they save, but not the words.
    """
    words = "\0".join(" ".join(text.split()) for text in (query, document))
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def csv_sheet(items: Iterable[Item]) -> bytes:
    """Return a sheet as CSV: UTF-8 with a byte-order mark, which spreadsheets need to see it."""
    rows = ([item.id, item.query, item.document, "", ""] for item in items)
    return csv_text(COLUMNS, rows).encode("utf-8-sig")


def jsonl_sheet(items: Iterable[Item]) -> bytes:
    """Return a sheet as JSONL, one item a line, with ``grade`` null."""
    rows = (
        {"item": item.id, "query": item.query, "document": item.document, "grade": None}
        for item in items
    )
    lines = (json.dumps({**row, "comment": ""}, ensure_ascii=False) + "\n" for row in rows)
    return "".join(lines).encode("utf-8")


def read_sheet(
    path: Path, shown: Mapping[str, str], *, max_grade: int
) -> tuple[list[Answer], list[str]]:
    """Return the answers of a sheet that came back, and every fault by file and line.

    Parameters
    ----------
    path
        A ``.csv`` (commas, semicolons or tabs, as spreadsheets write it) or ``.jsonl`` sheet.
    shown
        The digest of what was shown, by item (see :func:`shown_digest`).
    max_grade
        The top of the scale.

    Raises
    ------
    BadInputError
        When the file cannot be read at all.
    """
    rows = _jsonl_rows(path) if path.suffix.lower() == ".jsonl" else _csv_rows(path)
    answers: list[Answer] = []
    faults: list[str] = []
    for where, row in rows:
        if isinstance(row, str):
            faults.append(f"{where}: {row}")
            continue
        answer, problem = _answer(where, row, shown, max_grade)
        if problem is not None:
            faults.append(f"{where}: {problem}")
        if answer is not None:
            answers.append(answer)
    return answers, faults


def _answer(
    where: str, row: Mapping[str, Any], shown: Mapping[str, str], max_grade: int
) -> tuple[Answer | None, str | None]:
    for name in ("item", "query", "document", "comment"):
        if not isinstance(row[name], str):
            return None, f"{name}: expected text, found {kind(row[name])}"
    item = row["item"].strip()
    if item not in shown:
        return None, f"the item {item[:80]!r} is not in the key; is this sheet of another pool?"
    if shown_digest(row["query"], row["document"]) != shown[item]:
        return None, (
            f"the text of item {item} was edited; a grade must belong to what was shown"
            " (restore query and document, and use the column comment)"
        )
    grade = _grade(row["grade"])
    if grade is None or not -1 <= grade <= max_grade:
        found = repr(row["grade"])[:40]
        return None, (
            f"the grade {found} of item {item} is off the scale;"
            f" expected a whole number from 0 to {max_grade}, or nothing"
        )
    return Answer(item, None if grade < 0 else grade, row["comment"], where), None


def _grade(value: Any) -> int | None:
    """Return a grade, -1 for an empty cell, or None for anything else."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return -1
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"\s*[0-9]{1,9}\s*", value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _jsonl_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any] | str]]:
    for line in user_lines(path):
        where = f"{path.name}: line {line.number}"
        if line.number == 0:
            raise BadInputError(f"{path}: cannot be read")
        if line.problem is not None:
            yield where, line.problem.removeprefix(f"{path}: line {line.number}").lstrip(": ")
        elif not isinstance(line.value, dict) or set(line.value) != set(COLUMNS):
            yield where, f"expected an object with {', '.join(COLUMNS)}"
        else:
            yield where, line.value


def _csv_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any] | str]]:
    text = read_user_text(path)
    head = text.split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=head.count)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        # Read at once, because the size limit is set for the whole process.
        rows = list(_numbered(text, delimiter))
    except csv.Error as error:
        raise BadInputError(f"{path}: not valid CSV ({error})") from None
    finally:
        csv.field_size_limit(limit)
    if not rows or sorted(rows[0][1]) != sorted(COLUMNS):
        raise BadInputError(
            f"{path.name}: line 1: expected the columns {', '.join(COLUMNS)};"
            " leave the heads as they are, and use the column comment for remarks"
        )
    names = rows[0][1]
    for number, cells in rows[1:]:
        where = f"{path.name}: line {number}"
        if len(cells) != len(names):
            yield where, f"has {len(cells)} cells instead of {len(names)}"
        else:
            yield where, {n: cell_text(cell) for n, cell in zip(names, cells, strict=True)}


def _numbered(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not blank with the line on which they begin."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    start = 1
    for cells in reader:
        if any(cells):
            yield start, cells
        start = reader.line_num + 1


DEFAULT_DEPTH: Final = 50
KEY_FILE: Final = "key.json"
KEY_VERSION: Final = 1

Ranking = Mapping[str, Sequence[str]]
"""The documents that one retriever found for each query id, best first."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}")
_MOST_NAMED: Final = 10
_ID_DIGITS: Final = 15


class Pool(Record, frozen=True):
    """Sheets by labeller, and the key with the query and document of each item.

    ``n_pairs`` is the number of (query, document) pairs that each labeller gets.
    ``n_without`` queries of the gold set have no candidate.
    """

    sheets: Mapping[str, tuple[Item, ...]]
    key: Mapping[str, Any]
    n_queries: int
    n_pairs: int
    n_without: int


def pooled(rankings: Iterable[Ranking], depth: int = DEFAULT_DEPTH) -> dict[str, frozenset[str]]:
    """Return the union of the first ``depth`` documents of every ranking, for each query.

    Depth-k pooling as in TREC (Sparck Jones and van Rijsbergen, 1975).

    Examples
    --------
    >>> sorted(pooled([{"q": ["a", "b", "c"]}, {"q": ["d", "a"]}], depth=2)["q"])
    ['a', 'b', 'd']
    """
    found: dict[str, set[str]] = {}
    for ranking in rankings:
        for query, docs in ranking.items():
            found.setdefault(query, set()).update(docs[:depth])
    return {query: frozenset(docs) for query, docs in sorted(found.items())}


def build_pool(
    gold: GoldSet,
    rankings: Iterable[Ranking],
    corpus: Corpus,
    labellers: Sequence[str],
    *,
    depth: int = DEFAULT_DEPTH,
    seed: int = 0,
    names: Sequence[str] = (),
) -> Pool:
    """Return shuffled sheets for labellers, and the key to them.

    The order of queries, the order of documents and the ids of items follow from the seed and
    the labeller alone: which retriever found a document, at which rank and with which score
    leaves no trace, and neither does a grade that the gold set has already.

    Parameters
    ----------
    gold
        The queries; those without any candidate are left out and counted.
    rankings
        What each retriever found.
    corpus
        The texts to show.
    labellers
        Their names, letters and digits; each gets all pairs in another order.
    depth
        How many documents of each ranking are taken.
    seed
        Seed of the order and of the ids.
    names
        What the retriever of each ranking is called. Which of them found a document then goes into
        the key, and with its labels into the gold set, but into no sheet.

    Raises
    ------
    BadInputError
        For labellers that cannot name a file or are named twice, and for queries or documents
        that the gold set or the corpus does not have; they are named.
    NothingToEvaluateError
        When no ranking found anything.
    """
    _check_labellers(labellers)
    rankings = list(rankings)
    candidates = pooled(rankings, depth)
    queries = {query.id: query for query in gold.queries}
    texts = {(document.corpus, document.id): document for document in corpus.documents}
    _check_known(candidates, queries, texts, corpus)
    pairs = [(queries[query], doc) for query, docs in candidates.items() for doc in sorted(docs)]
    if not pairs:
        raise NothingToEvaluateError("the runs found no document, so there is nothing to label")
    sheets: dict[str, tuple[Item, ...]] = {}
    items: dict[str, dict[str, str]] = {}
    for labeller in labellers:
        sheet = []
        for query, doc in sorted(pairs, key=lambda pair: _place(seed, labeller, *pair)):
            document = texts[query.corpus, doc]
            # Ids begin with a letter, or spreadsheets would read some as numbers.
            id_ = "i" + pair_digest(seed, labeller, "item", query.id, doc)[:_ID_DIGITS]
            item = Item(id_, query.query, shown_text(document))
            sheet.append(item)
            items[item.id] = {
                "labeller": labeller,
                "query": query.id,
                "doc": doc,
                "shown": shown_digest(item.query, item.document),
            }
        sheets[labeller] = tuple(sheet)
    if len(items) != len(pairs) * len(labellers):
        raise BadInputError(f"two items got the same id; choose another seed than {seed}")
    key = {
        "pool_key": KEY_VERSION,
        "gold_fingerprint": gold.fingerprint,
        "corpus_fingerprint": corpus.fingerprint,
        "max_grade": max_grade_of(gold),
        "depth": depth,
        "seed": seed,
        "items": dict(sorted(items.items())),
        DIGESTS: _digests_of(pairs, corpus),
    }
    if names:
        key[FOUND_BY] = _found_by(zip(names, rankings, strict=True), depth)
    n_queries = len({query.id for query, _ in pairs})
    return Pool(sheets, key, n_queries, len(pairs), len(queries) - n_queries)


def _digests_of(
    pairs: Iterable[tuple[GoldQuery, str]], corpus: Corpus
) -> dict[str, dict[str, str]]:
    digests = digests_of(corpus, {(query.corpus, doc) for query, doc in pairs})
    found: dict[str, dict[str, str]] = {}
    for (name, doc), digest in sorted(digests.items(), key=lambda item: item[0]):
        found.setdefault(name, {})[doc] = digest
    return found


def _found_by(
    rankings: Iterable[tuple[str, Ranking]], depth: int
) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, set[str]]] = {}
    for name, ranking in rankings:
        for query, docs in ranking.items():
            for doc in docs[:depth]:
                found.setdefault(query, {}).setdefault(doc, set()).add(name)
    return {
        query: {doc: sorted(names) for doc, names in sorted(docs.items())}
        for query, docs in sorted(found.items())
    }


def write_pool(pool: Pool, folder: Path, key: Path | None = None) -> list[Path]:
    """Write ``sheet-LABELLER.csv`` and ``.jsonl`` and the key, all or none; return their paths.

    The key must not reach a labeller; by default it is ``key.json`` in the same folder.
    """
    files = pool_files(pool, folder, key)
    write_atomically(files)
    return list(files)


def pool_files(pool: Pool, folder: Path, key: Path | None = None) -> dict[Path, bytes]:
    """Return the files of :func:`write_pool` by path."""
    files: dict[Path, bytes] = {}
    for labeller, items in pool.sheets.items():
        files[folder / f"sheet-{labeller}.csv"] = csv_sheet(items)
        files[folder / f"sheet-{labeller}.jsonl"] = jsonl_sheet(items)
    files[key or folder / KEY_FILE] = json_bytes(dict(pool.key), indent=1)
    return files


def shown_text(document: Document) -> str:
    """Return what a labeller sees of a document: its title and its text."""
    return f"{document.title}\n\n{document.text}" if document.title else document.text


def pair_digest(*parts: object) -> str:
    """Return a digest that decides the order and the ids of items."""
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()


def _place(seed: int, labeller: str, query: GoldQuery, doc: str) -> tuple[str, str, str]:
    """Return the sort key of a pair: the pairs of a query together, otherwise random."""
    return (
        pair_digest(seed, labeller, "query", query.id),
        query.id,
        pair_digest(seed, labeller, "doc", query.id, doc),
    )


def _check_labellers(labellers: Sequence[str]) -> None:
    if not labellers:
        raise BadInputError("there is no labeller; name at least one")
    for name in labellers:
        if not _NAME.fullmatch(name):
            raise BadInputError(
                f"the labeller {name[:80]!r} cannot name a file;"
                " use letters, digits, dot, dash and underscore"
            )
    if len({name.casefold() for name in labellers}) < len(labellers):
        raise BadInputError(f"a labeller is named twice in {', '.join(labellers)}")


def _check_known(
    candidates: Mapping[str, frozenset[str]],
    queries: Mapping[str, GoldQuery],
    texts: Mapping[tuple[str, str], Document],
    corpus: Corpus,
) -> None:
    unknown = [query for query in candidates if query not in queries]
    if unknown:
        raise BadInputError(
            f"not in the gold set: {counted(len(unknown), 'query')} of the runs, {_named(unknown)};"
            " were the runs made with another one?"
        )
    pairs = ((queries[query].corpus, doc) for query, docs in candidates.items() for doc in docs)
    lacking = sorted({doc for corpus_name, doc in pairs if (corpus_name, doc) not in texts})
    if lacking:
        raise BadInputError(
            f"not in {corpus.path.name}: {counted(len(lacking), 'document')} of the runs, so there"
            f" is no text to show: {_named(lacking)}"
        )


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    listed = ", ".join(repr(name[:80]) for name in names[:_MOST_NAMED])
    return f"{listed} and {more} more" if more > 0 else listed


PURPOSE: Final = "purpose"
"""The member of a key with the purpose for which its pairs are graded."""

LABELLING: Final = "labelling"
"""The purpose of a key that states none: the sheets of a pool."""

_MOST_LACKING: Final = 5


def pair_sheets(
    gold: GoldSet,
    corpus: Corpus,
    docs: Mapping[str, Sequence[str]],
    labellers: Sequence[str],
    *,
    purpose: str,
    seed: int,
) -> Pool:
    """Return shuffled sheets of given pairs, one for each labeller, and the key to them.

    As for `build_pool`, nothing in a sheet shows a known grade.

    Parameters
    ----------
    docs
        The documents to be graded by the id of their query; at least one.
    purpose
        Why they are graded; recorded in the key.

    Raises
    ------
    BadInputError
        When a document has no text in the corpus, or a labeller cannot name a file.
    """
    known = {(document.corpus, document.id) for document in corpus.documents}
    corpus_of = {query.id: query.corpus for query in gold.queries}
    lacking = sorted(
        {doc for query, found in docs.items() for doc in found if (corpus_of[query], doc)
         not in known}
    )  # fmt: skip
    if lacking:
        named = ", ".join(repr(doc[:80]) for doc in lacking[:_MOST_LACKING])
        more = len(lacking) - _MOST_LACKING
        raise BadInputError(
            f"not in {corpus.path.name}: {counted(len(lacking), 'document')} to be graded, so there"
            f" is no text to show: {named}{f' and {more} more' if more > 0 else ''}"
        )
    deepest = max(map(len, docs.values()), default=1)
    pool = build_pool(gold, [docs], corpus, labellers, depth=deepest, seed=seed)
    return replace(pool, key={PURPOSE: purpose, **pool.key})


_ITEM: Final = ("labeller", "query", "doc", "shown")

DIGESTS: Final = "digests"
"""The member of a key with the digest of every document, by corpus."""

FOUND_BY: Final = "found_by"
"""The member of a key with the retrievers that found a document, by query and document."""


def read_key(path: Path) -> dict[str, Any]:
    """Return a key with checked ``items`` and ``max_grade``.

    Raises
    ------
    BadInputError
        When the file cannot be read or is no such key.
    """
    value = read_user_json(path)
    if not isinstance(value, dict) or value.get("pool_key") != KEY_VERSION:
        raise BadInputError(f"{path}: not the key of these sheets; expected pool_key {KEY_VERSION}")
    items, max_grade = value.get("items"), value.get("max_grade")
    is_scale = type(max_grade) is int and 1 <= max_grade <= MAX_GRADE
    if not isinstance(items, dict) or not is_scale:
        raise BadInputError(f"{path}: expected 'items' and 'max_grade'; was the key edited?")
    for item, entry in items.items():
        if not isinstance(entry, dict) or not all(isinstance(entry.get(n), str) for n in _ITEM):
            raise BadInputError(f"{path}: /items/{item[:80]}: expected {', '.join(_ITEM)} as text")
    for member, is_right in ((DIGESTS, _is_digest), (FOUND_BY, _are_names)):
        for name, docs in _object(value.get(member, {}), path, member).items():
            for doc, one in _object(docs, path, member, name).items():
                if not is_right(one):
                    raise BadInputError(
                        f"{path}: {pointer(member, name, doc)}: cannot be used; was the key edited?"
                    )
    return value


def _object(value: Any, path: Path, *parts: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInputError(f"{path}: {pointer(*parts)}: expected an object, found {kind(value)}")
    return value


def _is_digest(value: Any) -> bool:
    return text_digest_of(value) is not None


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(n, str) and n.strip() for n in value)


COMMENTS: Final = "label_comments"
"""The field of a gold row that keeps what labellers wrote beside their grades."""


@dataclass(frozen=True, slots=True)
class PoolReading:
    """Gold rows with the labels that came back, in the order they had.

    Of the ``n_items`` of the sheets ``n_graded`` have a grade: ``n_added`` labels are new,
    ``n_changed`` replace another grade of the same labeller, the rest was known. ``n_absent``
    items of the key are in no sheet. ``promoted`` are the ids of rows that were ``bootstrap``
    and are now ``chair``, for the next bootstrap would have dropped the labels.
    """

    queries: tuple[GoldQuery, ...]
    n_items: int
    n_graded: int
    n_added: int
    n_changed: int
    n_comments: int
    n_absent: int
    promoted: tuple[str, ...]


def read_pool(gold: GoldSet, sheets: Sequence[Path], key: Path) -> PoolReading:
    """Add the grades of filled-in sheets to gold rows, as ``labels``.

    ``relevant`` does not change: settling grades from labels is a separate step. An item
    without a grade stays unlabelled; a label that a row has from before is kept unless the same
    labeller gives the document another grade now. Comments go to the field
    :data:`COMMENTS`. Reading the same sheets again changes nothing.

    Raises
    ------
    BadInputError
        With every fault by file and line: a grade off the scale, an unknown item, an item for
        the second time, text that was edited, or a query that the gold set no longer has.
    """
    known_items = read_key(key)
    items = known_items["items"]
    answers, faults = read_sheets(sheets, items, known_items["max_grade"])
    known = {query.id for query in gold.queries}
    for answer in answers:
        query = items[answer.item]["query"]
        if query not in known:
            faults.append(f"{answer.where}: the query {query!r} is not in the gold set any more")
    if faults:
        raise BadInputError("\n".join(faults))
    return _merged(gold, answers, known_items)


def read_sheets(
    sheets: Iterable[Path], items: Mapping[str, Mapping[str, str]], top: int
) -> tuple[list[Answer], list[str]]:
    """Return the answers of several sheets and every fault, an item given twice among them.

    Parameters
    ----------
    sheets
        The files that came back.
    items
        The ``items`` of their key.
    top
        The top of the scale of grades.
    """
    shown = {item: entry["shown"] for item, entry in items.items()}
    answers: list[Answer] = []
    faults: list[str] = []
    for path in sheets:
        found, problems = read_sheet(path, shown, max_grade=top)
        answers += found
        faults += problems
    first: dict[str, str] = {}
    for answer in answers:
        if answer.item in first:
            faults.append(
                f"{answer.where}: the item {answer.item} is a second time, first"
                f" {first[answer.item]}; keep one of them"
            )
        first.setdefault(answer.item, answer.where)
    return answers, faults


def _merged(gold: GoldSet, answers: Sequence[Answer], key: Mapping[str, Any]) -> PoolReading:
    items: Mapping[str, Mapping[str, str]] = key["items"]
    per_query: dict[str, list[Answer]] = {}
    for answer in answers:
        per_query.setdefault(items[answer.item]["query"], []).append(answer)
    queries, promoted = [], []
    n_added = n_changed = 0
    for query in gold.queries:
        grades = {
            (items[a.item]["labeller"], items[a.item]["doc"]): a.grade
            for a in per_query.get(query.id, ())
            if a.grade is not None
        }
        before = {(label.labeller, label.doc): label.grade for label in query.labels}
        n_added += sum(pair not in before for pair in grades)
        n_changed += sum(before.get(pair, grade) != grade for pair, grade in grades.items())
        comments = _comments(query, per_query.get(query.id, ()), items)
        if grades and query.source != "chair":
            promoted.append(query.id)
        queries.append(_with(query, grades, before, comments, key))
    return PoolReading(
        tuple(queries),
        n_items=len(answers),
        n_graded=sum(answer.grade is not None for answer in answers),
        n_added=n_added,
        n_changed=n_changed,
        n_comments=sum(bool(answer.comment) for answer in answers),
        n_absent=len(items) - len(answers),
        promoted=tuple(promoted),
    )


def _with(
    query: GoldQuery,
    grades: Mapping[tuple[str, str], int],
    before: Mapping[tuple[str, str], int],
    comments: list[Any] | None,
    key: Mapping[str, Any],
) -> GoldQuery:
    if grades:
        both = {**before, **dict(sorted(grades.items()))}
        labels = tuple(Label(*pair, grade) for pair, grade in both.items())
        docs = {doc for _, doc in grades}
        digests = key.get(DIGESTS, {}).get(query.corpus, {})
        names = key.get(FOUND_BY, {}).get(query.id, {})
        query = replace(
            query,
            labels=labels,
            source="chair",
            # An earlier digest is of the text that earlier labels were given to.
            digests={
                **{
                    doc: known
                    for doc, one in digests.items()
                    if doc in docs and (known := text_digest_of(one)) is not None
                },
                **query.digests,
            },
            found_by={
                **query.found_by,
                **{
                    doc: tuple(sorted({*found, *query.found_by.get(doc, ())}))
                    for doc, found in names.items()
                    if doc in docs
                },
            },
        )
    if comments is not None:
        query = replace(query, extra={**query.extra, COMMENTS: comments})
    return query


def _comments(
    query: GoldQuery, answers: Iterable[Answer], items: Mapping[str, Mapping[str, str]]
) -> list[Any] | None:
    """Return the comments of a row with the new ones, or None when there is none to add."""
    new = {
        (items[a.item]["labeller"], items[a.item]["doc"]): a.comment for a in answers if a.comment
    }
    if not new:
        return None
    old = query.extra.get(COMMENTS, [])
    others = [one for one in old if not _is_replaced(one, new)] if isinstance(old, list) else []
    return others + [
        {"labeller": labeller, "doc": doc, "comment": comment}
        for (labeller, doc), comment in sorted(new.items())
    ]


def _is_replaced(one: Any, new: Mapping[tuple[str, str], str]) -> bool:
    return isinstance(one, dict) and (one.get("labeller"), one.get("doc")) in new
