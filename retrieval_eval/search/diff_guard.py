"""The verdict of the guard on the two runs of a diff, which a reader of it wants to know first."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.guard.files import Request, guard
from retrieval_eval.search.guard.verdict import Verdict

UNJUSTIFIED: Final = "no justification was read; `search guard --justification` reads one"
"""What stands beside a breach in a diff: the guard itself may pass it by justification."""


def guard_of(a: Path, b: Path, noise: Path | None = None) -> Verdict | str:
    """Return the verdict of the guard on B against A, or in a sentence why it cannot be asked.

    It is what `search guard B --baseline A` says with its own defaults: thresholds and noise where
    they usually lie, and nothing justified.
    """
    try:
        return guard(Request([b], [a], noise=noise), today=datetime.now(UTC).date())
    except BadInputError as error:
        return str(error)
