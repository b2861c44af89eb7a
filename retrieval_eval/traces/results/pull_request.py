"""GitHub's one tool for everything about a pull request; its ``method`` says what is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from retrieval_eval.traces.results.base import NOTHING, Found, Seen
from retrieval_eval.traces.results.mentions import read_mentions

_ABOUT_FILES: Final = frozenset({"get_diff", "get_files"})


def pull_request_category(arguments: Mapping[str, Any]) -> str:
    """Return ``commit_search`` when the change itself is read, else ``other``."""
    method = arguments.get("method")
    is_change = isinstance(method, str) and method in _ABOUT_FILES
    return "commit_search" if is_change else "other"


def read_pull_request(seen: Seen) -> Found:
    """Return the files of a change; reviews and states are about no file in particular."""
    return NOTHING if seen.category == "other" else read_mentions(seen)
