"""Digests of the policy, and records of approvals."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.guard.approvals import read_approvals
from retrieval_eval.search.guard.justification import Justification, is_same_person
from retrieval_eval.search.guard.pinned import Pinned
from retrieval_eval.search.guard.policy import policy_of
from retrieval_eval.search.guard.rendering import to_comment, to_text
from tests.guards import drop, run_with, thresholds_of
from tests.plain_runs import check

TODAY = date(2026, 1, 10)
COMMIT = "0123abc" + "0" * 33
WHY = Justification({"P@5": 45}, "chunks changed", "Ann @ann", "Ben @Ben", date(2026, 2, 1))


def test_the_digest_is_that_of_what_decides(tmp_path):
    first = thresholds_of(tmp_path, drop("P@5", 1), drop("RR", 1))
    usual = policy_of(first, seed=1)
    other = tmp_path / "other"
    other.mkdir()
    assert (
        policy_of(thresholds_of(other, drop("P@5", 1) + " # why", drop("RR", 1)), seed=1) == usual
    )
    pinned = Pinned(("q1", "q2"), "0" * 64, tmp_path / "p.txt")
    changed = [
        policy_of(replace(first, alpha=0.01), seed=1),
        policy_of(replace(first, rule="threshold_and_real"), seed=1),
        policy_of(replace(first, rows=first.rows[:1]), seed=1),
        policy_of(thresholds_of(other, drop("P@5", 1.01), drop("RR", 1)), seed=1),
        policy_of(first, seed=2),
        policy_of(first, seed=1, pinned=pinned),
        policy_of(first, seed=1, pinned=replace(pinned, ids=("q1",))),
        policy_of(first, seed=1, lists={"p.txt": pinned}),
    ]
    assert len({one.digest for one in [usual, *changed]}) == len(changed) + 1
    justified = policy_of(first, seed=1, justifications=[WHY])
    assert (justified.digest, usual.justifications) == (usual.digest, None)
    wider = replace(WHY, expires=date(2026, 3, 1))
    assert policy_of(first, seed=1, justifications=[wider]).justifications != (
        justified.justifications
    )


def test_the_digest_is_in_text_and_comment_and_may_be_demanded(tmp_path):
    same, thresholds = run_with([3] * 10), thresholds_of(tmp_path, drop("P@5", 1))
    found = check([same], [same], thresholds, today=TODAY)
    digest = found.policy.digest
    assert f"Policy {digest[:12]}" in to_text(found)
    assert digest[:12] in to_comment(found)
    assert check([same], [same], thresholds, today=TODAY, policy=digest[:12].upper()).exit_code == 0
    other = check([same], [same], thresholds, today=TODAY, policy="0" * 64)
    assert (other.exit_code, other.reasons[0]) == (
        2,
        f"the policy is {digest[:12]}, and 000000000000 was expected",
    )


def review(login, state, oid=COMMIT, moment="2026-01-01T00:00:00Z"):
    return {
        "author": {"login": login},
        "state": state,
        "commit": {"oid": oid},
        "submittedAt": moment,
    }


def record(folder, *reviews, author="ann"):
    path = folder / "approvals.json"
    view = {"author": {"login": author}, "headRefOid": COMMIT, "reviews": reviews}
    path.write_text(json.dumps(view))
    return read_approvals(path)


def event(folder, **fields):
    path = folder / "event.json"
    document = {
        "action": "submitted",
        "review": {"user": {"login": "ben"}, "state": "approved", "commit_id": COMMIT, **fields},
        "pull_request": {"user": {"login": "Ann"}, "head": {"sha": COMMIT}},
    }
    path.write_text(json.dumps(document))
    return read_approvals(path)


def excused(folder, approvals, why=WHY):
    thresholds = thresholds_of(folder, drop("P@5", 1))
    runs = [run_with([1] * 9)], [run_with([3] * 9)]
    return check(*runs, thresholds, today=TODAY, justifications=[why], approvals=approvals)


def test_decisions_are_ordered_by_their_moment_in_whatever_zone(tmp_path):
    refusal = review("ben", "CHANGES_REQUESTED", moment="2026-01-05T09:00:00-05:00")
    approval = review("ben", "APPROVED", moment="2026-01-05T10:00:00Z")
    assert record(tmp_path, refusal, approval).approvers == frozenset()
    gone, draft = {**refusal, "author": None}, {**refusal, "submittedAt": None}
    assert record(tmp_path, approval, gone, draft).approvers == {"ben"}


def test_an_approval_of_the_last_commit_is_verified(tmp_path):
    for approvals in (record(tmp_path, review("ben", "APPROVED")), event(tmp_path)):
        found = excused(tmp_path, [approvals])
        (row,) = found.rows
        assert (found.exit_code, row.verdict) == (0, "overridden")
        assert (row.justification.approval, row.justification.approved_commit) == (
            "verified",
            COMMIT,
        )
        assert "approval of 0123abc00000 verified" in to_text(found)
    (row,) = excused(tmp_path, None).rows
    assert (row.verdict, row.justification.approval) == ("overridden", "unverified")
    other = record(tmp_path, author="eve")
    assert excused(tmp_path, [other, event(tmp_path)]).exit_code == 0


@pytest.mark.parametrize(
    ("reviews", "author", "why"),
    [
        ([], "ann", "@ben did not approve the commit 0123abc00000"),
        ([review("ben", "COMMENTED")], "ann", "@ben did not approve"),
        ([review("ben", "APPROVED", "f" * 40)], "ann", "@ben did not approve"),
        ([review("eve", "APPROVED")], "ann", "@ben did not approve"),
        ([review("ben", "APPROVED")], "eve", "was written by @eve and not by @ann"),
        (
            # The later decision, whatever the order in the file.
            [
                review("ben", "CHANGES_REQUESTED", moment="2026-01-02T00:00:00Z"),
                review("ben", "APPROVED"),
            ],
            "ann",
            "@ben did not approve",
        ),
    ],
)
def test_a_justification_that_no_record_supports_does_not_count(tmp_path, reviews, author, why):
    found = excused(tmp_path, [record(tmp_path, *reviews, author=author)])
    assert (found.exit_code, found.rows[0].verdict) == (1, "breach")
    (note,) = [note for note in found.notes if "justification" in note]
    assert note.startswith("the justification of P@5 does not count: ")
    assert why in note


def test_a_justification_without_accounts_cannot_be_verified(tmp_path):
    found = excused(tmp_path, [event(tmp_path)], replace(WHY, second_approver="Ben Ray"))
    assert "its second approver names no account of the Git host, such as @name" in found.notes[-1]


def test_an_account_beside_a_name_is_no_other_person():
    assert is_same_person("Ann Lee @ann-lee", "Ann Lee")
    assert is_same_person("Ann Lee @ann-lee", "@Ann-Lee")
    assert is_same_person("A. Lee @ann-lee <a@x.org>", "Ann @ann-lee")
    assert not is_same_person("Ann Lee @ann", "Ben Ray @ben")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "3",
        '{"author": {"login": "ann"}, "headRefOid": "no commit", "reviews": []}',
        '{"author": {"login": null}, "headRefOid": "0123abc", "reviews": []}',
        '{"author": {"login": "ann"}, "headRefOid": "0123abc", "reviews": [{"state": 1}]}',
        '{"pull_request": {"user": {"login": "ann"}, "head": {"sha": "0123abc"}}}',
        '{"pull_request": [], "review": "x"}',
    ],
)
def test_what_is_no_record_is_refused(tmp_path, content):
    path = tmp_path / "record.json"
    path.write_text(content)
    with pytest.raises(BadInputError, match=r"record\.json"):
        read_approvals(path)
    with pytest.raises(BadInputError, match="no such file"):
        read_approvals(tmp_path / "none.json")
