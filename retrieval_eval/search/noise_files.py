"""Noise files: reading and checking them, and when they no longer hold."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import read_json
from retrieval_eval.schema import check_version, faults
from retrieval_eval.search.delta import changes, differences

Document = Mapping[str, Any]

DEFAULT_NOISE: Final = Path("data/eval/noise.json")
OLDEST: Final = timedelta(days=92)
"""A quarter: noise that was measured longer ago is measured again."""


def read_noise(path: Path) -> dict[str, Any]:
    """Return the noise document in a file.

    Raises
    ------
    BadInputError
        When the file cannot be read or is no valid noise file; the message names JSON pointers.
    """
    if not path.is_file():
        raise BadInputError(f"{path}: no such file; `retrieval-eval search noise` writes one")
    found = read_json(path, path.parent)
    if found.problem is not None:
        raise BadInputError(f"not a noise file: {found.problem}")
    check_version(found.value, str(path))
    if wrong := faults(found.value, "search_noise"):
        raise BadInputError(f"{path}: not a valid noise file: {'; '.join(map(str, wrong[:5]))}")
    document: dict[str, Any] = found.value
    return document


def staleness(noise_doc: Document, run_doc: Document) -> list[str]:
    """Return why a noise document may not hold for a search run, in sentences; empty if it does.

    It was measured on another gold set, under other settings, with another retriever or corpus, or
    more than a quarter before the run.
    """
    found = [
        f"the noise was measured otherwise: {sentence}"
        for sentence in differences(noise_doc, run_doc).values()
    ]
    found += [
        f"the noise was measured before this changed: {change}"
        for change in changes(noise_doc, run_doc)
    ]
    then, now = (_moment(document["generated_at"]) for document in (noise_doc, run_doc))
    if now - then > OLDEST:
        found.append(
            f"the noise was measured {(now - then).days} days before the run, more than a quarter"
        )
    return found


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
