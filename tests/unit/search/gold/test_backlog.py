"""The review backlog, counted from a database and from JSONL."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.errors import BadInputError
from retrieval_eval.model import to_builtins
from retrieval_eval.search.gold.database import STATUSES, BacklogSource, read_backlog

AS_OF = datetime(2026, 6, 1, tzinfo=UTC)
COUNTED = (*STATUSES, "other")


def _insert(database, *rows, status="TEXT", created="TIMESTAMP WITH TIME ZONE"):
    database.run(
        f"CREATE TABLE review_items (review_status {status}, created_at {created})",
        (
            "INSERT INTO review_items VALUES (:status, :created)",
            [{"status": state, "created": at} for state, at in rows],
        ),
    )


ROWS = (
    ("approved", "2020-01-01T00:00:00+00:00"),
    ("approved", None),
    ("pending_review", "2026-05-31T23:30:00+00:00"),
    # 2026-05-30T12:00Z, though its text sorts after the one above.
    ("pending_review", "2026-05-31T02:00:00+14:00"),
    ("pending_review", None),
    ("rejected", "2026-01-01T00:00:00+00:00"),
    ("published", "2026-01-01T00:00:00+00:00"),
    ("on hold", "2019-01-01T00:00:00+00:00"),
    ("Approved", "2019-01-01T00:00:00+00:00"),
    (None, "2019-01-01T00:00:00+00:00"),
)
EXPECTED = {
    "pending_review": 3,
    "approved": 2,
    "rejected": 1,
    "published": 1,
    "other": 3,
    "total": 10,
    "oldest_pending_at": "2026-05-30T12:00:00Z",
    "oldest_pending_age_days": 1.5,
    "n_pending_undated": 1,
    "other_statuses": {"(none)": 1, "Approved": 1, "on hold": 1},
    "as_of": "2026-06-01T00:00:00Z",
}


def test_items_of_a_database_are_counted_by_status(database):
    _insert(database, *ROWS)
    backlog = read_backlog(database.url, as_of=AS_OF)
    assert to_builtins(backlog) == EXPECTED
    assert sum(to_builtins(backlog)[name] for name in COUNTED) == backlog.total == len(ROWS)


def test_items_of_a_file_are_counted_by_status(tmp_path):
    path = tmp_path / "items.jsonl"
    lines = [json.dumps({"review_status": state, "created_at": at}) for state, at in ROWS]
    path.write_text("\r\n\n".join(lines), encoding="utf-8")
    assert to_builtins(read_backlog(str(path), as_of=AS_OF)) == EXPECTED


@pytest.mark.parametrize("kind", ["TIMESTAMP", "DATE"])
def test_a_time_without_a_zone_is_utc(database, kind):
    _insert(database, ("pending_review", "2026-05-31"), created=kind)
    backlog = read_backlog(database.url, as_of=AS_OF)
    assert backlog.oldest_pending_at == datetime(2026, 5, 31, tzinfo=UTC)
    assert backlog.oldest_pending_age_days == 1.0


def test_the_moment_to_count_to_does_not_depend_on_where_the_machine_is(tmp_path, monkeypatch):
    path = tmp_path / "items.jsonl"
    path.write_text('{"review_status": "pending_review", "created_at": "2026-01-01"}\n')
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        found = read_backlog(str(path), as_of=datetime(2026, 1, 2))  # noqa: DTZ001
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found.oldest_pending_age_days == 1.0
    moment = datetime.fromisoformat("0001-01-01T00:00:00+14:00")
    with pytest.raises(BadInputError, match=r"the moment to count to: .* outside the years"):
        read_backlog(str(path), as_of=moment)


def test_other_tables_and_columns(database):
    database.run('CREATE TABLE "Review Items" (state TEXT, "since" TIMESTAMP)')
    database.run("INSERT INTO \"Review Items\" VALUES ('pending_review', '2026-05-31 12:00:00')")
    place = BacklogSource(database.url, table="Review Items", status="state", created="since")
    backlog = read_backlog(place, as_of=AS_OF)
    assert backlog.oldest_pending_age_days == 0.5


def test_what_is_missing_in_a_database_is_named(database):
    with pytest.raises(BadInputError, match="no table or view 'review_items'"):
        read_backlog(database.url)
    database.run("CREATE TABLE review_items (id INTEGER, created_at TIMESTAMP)")
    with pytest.raises(BadInputError, match=r"no column 'review_status' \(there: created_at, id\)"):
        read_backlog(database.url)


def test_an_unreadable_time_is_named(sqlite_database):
    _insert(
        sqlite_database, ("approved", "whenever"), ("pending_review", "long ago"), created="TEXT"
    )
    with pytest.raises(BadInputError, match="column 'created_at': 'long ago' is no time"):
        read_backlog(sqlite_database.url)


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-01:00"])
def test_a_time_that_has_no_year_in_utc_is_named(sqlite_database, tmp_path, time):
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps({"review_status": "pending_review", "created_at": time}) + "\n")
    with pytest.raises(BadInputError, match=r"line 1: .*outside the years 1 to 9999"):
        read_backlog(str(path))
    _insert(sqlite_database, ("pending_review", time), created="TEXT")
    with pytest.raises(BadInputError, match=r"'created_at': .*outside the years"):
        read_backlog(sqlite_database.url)


def test_faults_of_a_file_are_named_by_line(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_bytes(
        b'{"review_status": "approved"}\n'
        b'{"review_status": \n'
        b"[]\n\n"
        b'{"created_at": "2026-01-01"}\n'
        b'{"review_status": 7}\n'
        b'{"review_status": "pending_review", "created_at": 1748}\n'
        b"\xff\n"
    )
    with pytest.raises(BadInputError) as caught:
        read_backlog(str(path))
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[1] for line in lines if "UTF-8" not in line] == [
        f"line {number}" for number in (2, 3, 5, 6, 7)
    ]
    assert lines[-1] == f"{path}: line 8 is not UTF-8"


def test_many_faults_are_not_all_shown(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text("[]\n" * 50)
    with pytest.raises(BadInputError) as caught:
        read_backlog(str(path))
    lines = str(caught.value).splitlines()
    assert (len(lines), lines[-1]) == (21, "and 30 more")


states = st.sampled_from((*STATUSES, "on hold", "", None))
times = st.none() | st.datetimes(timezones=st.just(UTC))


@given(st.lists(st.tuples(states, times), max_size=20))
def test_counts_sum_to_the_total_and_the_oldest_is_the_smallest(tmp_path_factory, items):
    path = tmp_path_factory.getbasetemp() / "random-items.jsonl"
    rows = [
        {"review_status": state, "created_at": at and at.isoformat(), "more": 1}
        for state, at in items
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    document = to_builtins(read_backlog(str(path), as_of=AS_OF))
    assert sum(document[name] for name in COUNTED) == document["total"] == len(items)
    assert sum(document["other_statuses"].values()) == document["other"]
    pending = [at for state, at in items if state == "pending_review" and at is not None]
    expected = min(pending).isoformat().replace("+00:00", "Z") if pending else None
    assert document["oldest_pending_at"] == expected
