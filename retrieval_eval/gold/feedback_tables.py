"""Where the feedback lies: names of tables and columns, and what a score is worth."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.fields import SETTINGS_FILE

TABLES: Final = ("search_logs", "search_relevance_feedback")
OPTIONAL: Final = ("corpus", "practice_area")

SCORES: Final[Mapping[int, int]] = MappingProxyType({3: 1})
"""Feedback of score 3 (a finalised decision cites the document) is a judgement of grade 1."""

_SCORE: Final = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class FeedbackTables:
    """The names of the two tables and their columns; each field is the documented name.

    ``search_logs`` has ``id``, ``query``, ``corpus`` and ``practice_area``;
    ``search_relevance_feedback`` has ``search_log_id``, ``case_law_id`` and ``relevance_score``.
    An empty ``practice_area`` or ``corpus`` says that there is no such column: areas are then
    unknown, and the corpus is ``default``. A table may be named ``schema.table``.

    >>> FeedbackTables().renamed(columns={"query": "query_text"}).query
    'query_text'
    """

    search_logs: str = "search_logs"
    search_relevance_feedback: str = "search_relevance_feedback"
    id: str = "id"
    query: str = "query"
    corpus: str = "corpus"
    practice_area: str = "practice_area"
    search_log_id: str = "search_log_id"
    case_law_id: str = "case_law_id"
    relevance_score: str = "relevance_score"

    def renamed(
        self, *, tables: Mapping[str, str] = {}, columns: Mapping[str, str] = {}
    ) -> FeedbackTables:
        """Return the names with some replaced; raises :class:`BadInputError` for unknown ones."""
        for given, known, what in ((tables, TABLES, "table"), (columns, COLUMNS, "column")):
            for name, own in given.items():
                if name not in known:
                    raise BadInputError(
                        f"{name!r} is no {what} of the feedback; expected one of {', '.join(known)}"
                    )
                if not own and name not in OPTIONAL:
                    raise BadInputError(f"the {what} {name!r} cannot do without a name")
        return replace(self, **tables, **columns)


COLUMNS: Final = tuple(each.name for each in fields(FeedbackTables) if each.name not in TABLES)

DOCUMENTED: Final = FeedbackTables()


@dataclass(frozen=True, slots=True)
class FeedbackSettings:
    """What ``gold.toml`` says of the feedback: the names, and the grade each score is worth."""

    tables: FeedbackTables
    scores: Mapping[int, int]


def feedback_settings(gold: Path) -> FeedbackSettings:
    """Read ``[bootstrap.tables]``, ``[bootstrap.columns]`` and ``[bootstrap.scores]``.

    The file is the ``gold.toml`` beside the gold set; without one, or without these sections,
    the documented names hold.

    Raises
    ------
    BadInputError
        The file is no TOML, or a section holds what it should not; names file and section.
    """
    path = gold.parent / SETTINGS_FILE
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return FeedbackSettings(DOCUMENTED, SCORES)
    except (OSError, ValueError, RecursionError) as error:
        raise BadInputError(f"{path}: cannot be read as TOML ({error})") from None
    section = _section(document, "bootstrap", path)
    unknown = sorted(set(section) - {"tables", "columns", "scores"})
    if unknown:
        raise BadInputError(
            f"{path}: [bootstrap] has no {unknown[0]!r}; expected tables, columns or scores"
        )
    try:
        return FeedbackSettings(
            DOCUMENTED.renamed(
                tables=_names(section, "tables"), columns=_names(section, "columns")
            ),
            _scores(section) or SCORES,
        )
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}") from None


def _section(document: Mapping[str, Any], name: str, where: object) -> Mapping[str, Any]:
    value = document.get(name, {})
    if not isinstance(value, dict):
        raise BadInputError(f"{where}: [{name}] is a section, not a single value")
    return value


def _names(section: Mapping[str, Any], name: str) -> dict[str, str]:
    found = _section(section, name, "[bootstrap]")
    for key, value in found.items():
        if not isinstance(value, str):
            raise BadInputError(f"[bootstrap.{name}] {key}: expected a name in quotation marks")
    return dict(found)


def _scores(section: Mapping[str, Any]) -> dict[int, int]:
    scores = {}
    for key, grade in _section(section, "scores", "[bootstrap]").items():
        if not _SCORE.fullmatch(key) or type(grade) is not int or grade < 0:
            raise BadInputError(
                f"[bootstrap.scores] {key}: expected a whole score and the grade it is worth, "
                "0 or more, such as 3 = 1"
            )
        scores[int(key)] = grade
    return scores
