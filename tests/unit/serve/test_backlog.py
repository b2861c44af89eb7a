from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.gold.database import BacklogSource
from retrieval_eval.serve.dashboard import backlog_reader, check_name
from tests.unit.serve.documents import dashboard_of


def shown(folder, reader):
    """The block and the reason as the dashboard of a folder without runs has them."""
    found = dashboard_of(folder, backlog=reader)
    return found["backlog"], found["backlog_reason"]


def test_a_file_is_read_afresh_at_every_call(tmp_path):
    path = tmp_path / "items.jsonl"
    read = backlog_reader(BacklogSource(str(path)))
    block, reason = shown(tmp_path, read)
    assert block is None
    assert "items.jsonl" in reason

    statuses = ["pending_review", "pending_review", "approved", "lost"]
    lines = [{"review_status": s, "created_at": "2026-01-02T00:00:00Z"} for s in statuses]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    block, reason = shown(tmp_path, read)
    assert reason is None
    counts = [block[k] for k in ("pending_review", "approved", "rejected", "published", "other")]
    assert counts == [2, 1, 0, 0, 1]
    assert sum(counts) == block["total"] == 4
    assert block["oldest_pending_at"] == "2026-01-02T00:00:00Z"


@pytest.mark.parametrize("name", ["backlog", "halacha_backlog"])
def test_names_of_the_block(name):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "Backlog", "a b", "9a", "runs", "latest_run", "status"])
def test_names_that_would_clash_are_refused(name):
    with pytest.raises(BadInputError, match="cannot name the backlog block"):
        check_name(name)
