"""What a Git host records of a pull request: who wrote it, and who approved its last commit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import read_json
from retrieval_eval.search.guard.justification import Justification, accounts

_EXPECTED: Final = (
    "expected what `gh pr view NUMBER --json author,headRefOid,reviews` prints, or the event of a "
    "review, which GitHub Actions puts into $GITHUB_EVENT_PATH"
)
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
# A comment leaves an earlier decision of its author as it is.
_DECISIONS: Final = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")


@dataclass(frozen=True, slots=True)
class Approvals:
    """The record of one pull request: accounts in small letters, without the sign ``@``.

    ``approvers`` are those whose last decision approved ``commit``, the last of the pull request.
    """

    author: str
    commit: str
    approvers: frozenset[str]

    def problem(self, one: Justification) -> str | None:
        """Return why the record does not show the approval of a justification; None: it does."""
        names = list[str]()
        for role, text in (("author", one.author), ("second approver", one.second_approver)):
            found = accounts(text)
            if len(found) != 1:
                return f"its {role} names no account of the Git host, such as @name"
            names.extend(found)
        author, approver = names
        if author != self.author:
            return f"the pull request was written by @{self.author} and not by @{author}"
        if approver not in self.approvers or approver == self.author:
            return f"@{approver} did not approve the commit {self.commit[:12]}"
        return None


def read_approvals(path: Path) -> Approvals:
    """Return the record in a JSON file.

    Raises
    ------
    BadInputError
        When the file cannot be read or has neither of the two forms it may have.
    """
    if not path.is_file():
        raise BadInputError(f"{path}: no such file; {_EXPECTED}")
    found = read_json(path, path.parent)
    if found.problem is not None:
        raise BadInputError(found.problem)
    try:
        return _from_event(found.value) if _is_event(found.value) else _from_view(found.value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInputError(f"{path}: no record of approvals; {_EXPECTED}") from error


def _is_event(value: Any) -> bool:
    return isinstance(value, Mapping) and "pull_request" in value


def _from_event(value: Mapping[str, Any]) -> Approvals:
    request, review = value["pull_request"], value["review"]
    return _approvals(
        request["user"]["login"],
        request["head"]["sha"],
        [(review["user"]["login"], review["state"], review["commit_id"])],
    )


def _from_view(value: Mapping[str, Any]) -> Approvals:
    # A review that was not submitted has no time, one of an account that is gone no author.
    submitted = [r for r in value["reviews"] if r["submittedAt"] and r["author"]]
    reviews = sorted(submitted, key=lambda review: _moment(review["submittedAt"]))
    return _approvals(
        value["author"]["login"],
        value["headRefOid"],
        [(r["author"]["login"], r["state"], r["commit"]["oid"]) for r in reviews],
    )


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _approvals(author: str, commit: str, reviews: Sequence[tuple[str, str, str]]) -> Approvals:
    if not author or not _COMMIT.fullmatch(commit):
        raise ValueError("no author or no commit")
    last = {
        login.lower(): (state.upper(), oid)
        for login, state, oid in reviews
        if state.upper() in _DECISIONS
    }
    approvers = {login for login, decision in last.items() if decision == ("APPROVED", commit)}
    return Approvals(author.lower(), commit, frozenset(approvers))
