"""The review backlog as every face shows it: the counts, or the sentence that says why not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from retrieval_eval.errors import BadInputError, RetrievalEvalError

DEFAULT_NAME: Final = "backlog"

NOT_CONFIGURED: Final = "no source of the backlog is configured; name one with --backlog"

BacklogReader = Callable[[], Mapping[str, Any]]
"""Reads the backlog afresh and returns it as JSON; raises ``BadInputError`` when it cannot."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_TAKEN = frozenset(
    {"latest_run", "n_runs", "runs", "skipped", "degraded_reasons", "package", "status"}
    | {"schema_versions", "latest_run_reason"}
)


def backlog_reader(source: str, *, table: str, status: str, created: str) -> BacklogReader:
    """Return a reader of the backlog in ``source``: a database URL or the path of a JSONL file.

    Nothing is opened before the reader is called. For the names, and what is raised then, see
    :func:`retrieval_eval.gold.backlog.read_backlog`.
    """

    def read() -> Mapping[str, Any]:
        from retrieval_eval.gold.backlog import read_backlog

        return read_backlog(source, table=table, status=status, created=created).to_json()

    return read


def backlog_block(reader: BacklogReader | None) -> tuple[dict[str, Any] | None, str | None]:
    """Return ``(block, None)``, or ``(None, reason)``: what is unknown is no row of zeros."""
    if reader is None:
        return None, NOT_CONFIGURED
    try:
        return dict(reader()), None
    except RetrievalEvalError as error:
        return None, str(error)


def check_name(name: str) -> str:
    """Return ``name`` when the backlog block may be called so.

    Raises ``BadInputError`` for what is no lower-case identifier or names another field.
    """
    if not _NAME.fullmatch(name) or name in _TAKEN:
        raise BadInputError(
            f"{name!r} cannot name the backlog block; expected lower-case letters, digits and "
            f"underscores, and none of: {', '.join(sorted(_TAKEN))}"
        )
    return name
