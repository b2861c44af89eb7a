"""What the fields of a gold set are called, and the scale of its grades."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.model import GoldSet
from retrieval_eval.io.files import decode, read_text
from retrieval_eval.metrics.ranking.measures import MAX_GRADE

FIELDS: Final = (
    "id",
    "query",
    "corpus",
    "area",
    "relevant",
    "source",
    "origin",
    "answerable",
    "note",
    "labels",
    "anchors",
)
"""Our names, in the order in which rows are written."""

ALSO_UNDERSTOOD: Final = {"practice_area": "area", "relevant_case_law_ids": "relevant"}
"""Names of other gold sets that need no setting."""

DEFAULT_MAX_GRADE: Final = 2
"""Not relevant, relevant, highly relevant."""

SETTINGS_FILE: Final = "gold.toml"
HEADER_KEY: Final = "gold_set"

_HEADER_HAS: Final = ("fields", "max_grade")


@dataclass(frozen=True, slots=True)
class FieldMap:
    """How to read a gold set.

    ``names`` maps our names to other names that the file uses besides ours, ``max_grade`` is the
    top of the scale of whole grades from 0, and ``header`` the header line, if the file has one.

    Examples
    --------
    >>> FieldMap({"relevant": "answers"}).meanings()["answers"]
    'relevant'
    """

    names: Mapping[str, str] = field(default_factory=dict)
    max_grade: int = DEFAULT_MAX_GRADE
    header: str | None = None

    def meanings(self) -> dict[str, str]:
        """Return every understood name of a field with our name for it."""
        stated = {theirs: ours for ours, theirs in self.names.items()}
        return {**{name: name for name in FIELDS}, **ALSO_UNDERSTOOD, **stated}


def field_map(path: Path) -> FieldMap:
    """Return how the gold set at ``path`` is read; the file itself need not exist.

    Our names and those of :data:`ALSO_UNDERSTOOD` need no setting. Others, and a scale other than
    0 to 2, are stated in ``gold.toml`` beside the file::

        max_grade = 3
        [fields]
        relevant = "answers"

    or in its first line, which goes before ``gold.toml``::

        {"gold_set": {"max_grade": 3, "fields": {"relevant": "answers"}}}

    Raises
    ------
    BadInputError
        When a setting cannot be used; the message names the file and the setting.
    """
    names, max_grade = _toml_settings(path.parent / SETTINGS_FILE)
    header = _first_line(path)
    value: Any = decode(header)[0]
    if not is_header(value):
        return FieldMap(names, max_grade)
    settings = value[HEADER_KEY]
    own_names, own_max_grade = _checked(settings, f"{path}: line 1: /{HEADER_KEY}")
    return FieldMap({**names, **own_names}, own_max_grade or max_grade, header)


def max_grade(gold: GoldSet) -> int:
    """Return the top of the scale of a gold set."""
    return field_map(gold.path).max_grade if gold.path else DEFAULT_MAX_GRADE


def is_header(value: Any) -> bool:
    """Return whether a decoded line states settings and is no row."""
    return isinstance(value, dict) and set(value) == {HEADER_KEY}


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            for raw in stream:
                text = raw.decode("utf-8-sig").strip()
                if text:
                    return text
    except (OSError, UnicodeDecodeError):
        # Whoever reads the rows says so, with the line.
        return ""
    return ""


def _toml_settings(path: Path) -> tuple[dict[str, str], int]:
    if not path.exists():
        return {}, DEFAULT_MAX_GRADE
    text = read_text(path, path.parent)
    if text.value is None:
        raise BadInputError(text.problem)
    try:
        settings = tomllib.loads(text.value)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInputError(f"{path}: not valid TOML: {error}") from error
    # Tables of other names are settings of other commands.
    ours = {k: v for k, v in settings.items() if k in _HEADER_HAS or not isinstance(v, dict)}
    names, max_grade = _checked(ours, f"{path}:")
    return names, max_grade or DEFAULT_MAX_GRADE


def _checked(settings: Any, where: str) -> tuple[dict[str, str], int | None]:
    if not isinstance(settings, dict):
        raise BadInputError(f"{where}: expected an object with 'fields' or 'max_grade'")
    for key in settings:
        if key not in _HEADER_HAS:
            raise BadInputError(f"{where} unknown setting {key[:80]!r}; known: fields, max_grade")
    max_grade = settings.get("max_grade")
    if max_grade is not None and not _is_scale(max_grade):
        raise BadInputError(
            f"{where} max_grade: expected a whole number from 1 to {MAX_GRADE},"
            f" not {str(max_grade)[:40]}"
        )
    return _checked_names(settings.get("fields", {}), f"{where} fields"), max_grade


def _is_scale(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_GRADE


def _checked_names(names: Any, where: str) -> dict[str, str]:
    if not isinstance(names, dict):
        raise BadInputError(f"{where}: expected our field names with the names in the file")
    for ours, theirs in names.items():
        if ours not in FIELDS:
            raise BadInputError(f"{where}: unknown field {ours[:80]!r}; known: {', '.join(FIELDS)}")
        if not isinstance(theirs, str) or not theirs:
            raise BadInputError(f"{where}: {ours}: expected a field name as text")
    if len(set(names.values())) < len(names):
        raise BadInputError(f"{where}: one name in the file stands for two fields")
    return dict(names)
