"""Bootstrap over random databases and hand-edited files: idempotent, and the chair untouched."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.errors import NothingToEvaluateError
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.gold.bootstrap import bootstrap
from retrieval_eval.search.gold.identity import normalize_query, query_id
from tests.conftest import COSTLY
from tests.databases import WritableDatabase

# Few values, so that groups, ties and meetings with chair rows are common; some sort or fold
# differently in a collation than by code point.
QUERIES = (
    "levy",
    "Levy",
    " LEVY\n",
    "straße",
    "STRASSE",
    "e\u0301t\u00e9",
    "\u00e9t\u00e9",
    "z a",
    "Z  a",
    "\u05d4\u05d9\u05d8\u05dc",
    "",
    None,
)
CORPORA = ("library", "Decisions", "_x", "\u00e4", None)
AREAS = ("tax", "Tax", "\u00fcber", "", None)
DOCS = ("d1", "D1", "d10", "d2", "\u00c5", None)


@st.composite
def databases_rows(draw):
    """Searches, and feedback on them; now and then on a search that is gone."""
    log = st.tuples(st.sampled_from(QUERIES), st.sampled_from(CORPORA), st.sampled_from(AREAS))
    logs = draw(st.lists(log, min_size=1, max_size=12))
    row = st.tuples(
        st.integers(0, len(logs)), st.sampled_from(DOCS), st.sampled_from((3, 3, 3, 3, 2))
    )
    return logs, draw(st.lists(row, min_size=1, max_size=30))


indents = st.sampled_from(("", " ", "\t  "))
ends = st.sampled_from(("\n", "\r\n", "\n\n", "\n \t\n"))


@st.composite
def chair_rows(draw):
    """Rows as a person might leave them: (bytes without line end, line end)."""
    found = {}
    for query in draw(
        st.lists(st.sampled_from([each for each in QUERIES if each and each.strip()]), max_size=4)
    ):
        corpus = draw(st.sampled_from([each for each in CORPORA if each]))
        row = {"query": query, "corpus": corpus, "relevant": {"own": 2}, "source": "chair"}
        if draw(st.booleans()):
            row["id"] = query_id(corpus, query)
        row = dict(draw(st.permutations(list(row.items()))))
        text = json.dumps(
            row,
            ensure_ascii=draw(st.booleans()),
            separators=(draw(st.sampled_from((",", " ,"))), ": "),
        )
        found[corpus, normalize_query(query)] = (
            (draw(indents) + text + draw(indents)).encode(),
            draw(ends),
        )
    return list(found.values())


@pytest.fixture(scope="module")
def databases(tmp_path_factory, postgres_url):
    """One of each kind, with empty tables."""
    path = tmp_path_factory.mktemp("property") / "feedback.db"
    path.touch()
    made = [WritableDatabase(f"sqlite:///{path}"), WritableDatabase(postgres_url)]
    for database in made:
        database.make_feedback_tables()
    yield made
    made[1].run("DROP TABLE search_logs, search_relevance_feedback")


def _fill(databases, logs, feedback):
    """Fill the databases with the same rows, every other one in the opposite order."""
    for place, database in enumerate(databases):
        order = -1 if place else 1
        numbered = [(order * number, *log) for number, log in enumerate(logs)]
        judged = [(order * number, doc, score) for number, doc, score in feedback]
        database.set_feedback(numbered[::order], judged[::order])


def _bootstrap(database, path):
    """The file's bytes afterwards, None when there is none; unchanged when nothing is left."""
    before = path.read_bytes() if path.exists() else None
    try:
        bootstrap(database.url, path)
    except NothingToEvaluateError:
        assert (path.read_bytes() if path.exists() else None) == before
    return path.read_bytes() if path.exists() else None


def _chair_lines(path: Path) -> list[bytes]:
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    return [
        lines[query.line - 1] for query in load_gold_set(path).queries if query.source == "chair"
    ]


@st.composite
def edits(draw, lines: list[bytes], chair: list[tuple[bytes, str]]) -> bytes:
    """The file after a person promoted rows, added their own, and changed the order."""
    rows = []
    for number, line in enumerate(lines):
        if draw(st.booleans()):
            line = line.replace(b'"source":"bootstrap"', b'"source":"chair"')
            if draw(st.booleans()):
                line = re.sub(rb'"id":"[^"]*"', b'"id":"own-%d"' % number, line)
            rows.append((line, draw(ends)))
        else:
            rows.append((line, "\n"))
    edited = b"".join(line + end.encode() for line, end in draw(st.permutations(rows + chair)))
    return edited.rstrip() if draw(st.booleans()) else edited


@COSTLY
@given(rows=databases_rows(), chair=chair_rows(), data=st.data())
def test_bootstrap_writes_each_group_once_and_leaves_the_chair_alone(databases, rows, chair, data):
    logs, feedback = rows
    with TemporaryDirectory() as name:
        path = Path(name) / "gold-set.jsonl"
        _fill(databases, logs, feedback)
        first = _bootstrap(databases[0], path)
        # The other database finds nothing to change, so both give the same bytes.
        assert _bootstrap(databases[1], path) == first
        queries = load_gold_set(path).queries if first else ()
        assert {
            (query.corpus, normalize_query(query.query)): set(query.relevant) for query in queries
        } == _groups(logs, feedback)
        order = [(query.corpus, query.id) for query in queries]
        assert order == sorted(order)

        taken = {_key(json.loads(line)) for line in (first or b"").splitlines()}
        own = [row for row in chair if _key(json.loads(row[0])) not in taken]
        edited = data.draw(edits((first or b"").splitlines(), own))
        path.write_bytes(edited)
        expected = _chair_lines(path)
        fewer = feedback[: data.draw(st.integers(0, len(feedback)))]
        for left in (fewer, feedback):
            _fill(databases, logs, left)
            found = _bootstrap(databases[1], path)
            assert _chair_lines(path) == expected
            assert _bootstrap(databases[0], path) == found


def _key(row: dict[str, str]) -> tuple[str, str]:
    return row["corpus"], normalize_query(row["query"])


def _groups(logs, feedback) -> dict[tuple[str, str], set[str]]:
    """The documents of each group, by a plain reading of the definition."""
    found: dict[tuple[str, str], set[str]] = {}
    for log, doc, score in feedback:
        if log < len(logs) and score == 3 and doc:
            query, corpus, _ = logs[log]
            if query and query.strip() and corpus:
                found.setdefault((corpus, normalize_query(query)), set()).add(doc)
    return found
