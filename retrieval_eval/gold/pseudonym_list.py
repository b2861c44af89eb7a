"""What has to be hidden: listed entities, and patterns of identifiers."""

from __future__ import annotations

import os
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.faults import kind
from retrieval_eval.io.files import iter_jsonl
from retrieval_eval.io.named import named_text

ANYWHERE_FROM: Final = 5
"""From this many letters and digits on, a name is also found inside longer words."""

MATCHES: Final = ("anywhere", "word")

IDENTIFIERS: Final[Mapping[str, str]] = {
    "email": r"[A-Za-z0-9._%+'-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
    "iban": r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?"
    r"(?![A-Za-z0-9])",
    "ipv6": r"(?<![A-Za-z0-9:])(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}"
    r"|(?:[0-9A-Fa-f]{1,4}:){1,6}:(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,5})?)"
    r"(?![A-Za-z0-9:])",
    "ipv4": r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?!\.?\d)",
    "phone": r"(?<![A-Za-z0-9])(?:\+|(?<![-/._])00)\d{1,3}(?:(?:[ /()-]{0,2}|\.)\d){6,12}(?!\d)"
    r"|(?<![A-Za-z0-9/._-])\(?0\d{1,4}\)?[ ./-]\d(?:[ ./-]?\d){4,9}(?!\d)"
    r"|(?<![A-Za-z0-9-])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?![A-Za-z0-9-])",
    "contract": r"(?<![A-Za-z0-9])[A-Z]{2,8}[-/_]\d{4}[-/_]\d{2,8}(?![A-Za-z0-9])",
    "digest": r"(?<![A-Za-z0-9])(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})(?![A-Za-z0-9])",
    "account": r"(?<![A-Za-z0-9])(?<!\d\.)\d{8,34}(?![A-Za-z0-9])",
}
"""Patterns that are always looked for. ``digest`` hides sums by which a guess could be checked."""

_ENTITY: Final = {"kind", "name", "aliases", "match"}
_TOP: Final = {"entity", "identifier"}
# Scripts that are written without spaces, or whose words are short.
_UNSPACED: Final = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something to hide, under all its ``forms`` (the name first, then aliases).

    ``is_word`` says by form whether it is found only as a word of its own.
    """

    kind: str
    forms: tuple[str, ...]
    is_word: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """Everything to hide: entities, and patterns of identifiers by kind."""

    entities: tuple[Entity, ...]
    identifiers: Mapping[str, re.Pattern[str]]


def read_listed(path: Path) -> Listed:
    """Read the entities to hide, and further patterns of identifiers.

    TOML has ``[[entity]]`` tables with ``kind``, ``name``, perhaps ``aliases`` and ``match``
    (``anywhere`` or ``word``), and perhaps ``[identifier]`` with regular expressions by kind,
    which are added to :data:`IDENTIFIERS` or replace one (an empty one removes it). JSONL has one
    entity a line.

    Raises
    ------
    BadInputError
        When the file cannot be read or an entry cannot be used; every fault is named.
    """
    faults: list[str] = []
    rows, patterns = _jsonl(path) if path.suffix.lower() == ".jsonl" else _toml(path)
    entities = [entity for where, row in rows for entity in _entity(where, row, faults)]
    identifiers = {name: re.compile(pattern) for name, pattern in IDENTIFIERS.items()}
    for name, pattern in patterns.items():
        try:
            if not isinstance(pattern, str):
                raise re.error(f"expected text, found {kind(pattern)}")
            identifiers[name] = re.compile(pattern)
            if pattern and identifiers[name].match(""):
                raise re.error("it also matches nothing at all")
        except (re.error, OverflowError, RecursionError) as error:
            faults.append(f"{path}: [identifier] {name}: no usable pattern ({error})")
        if pattern == "":
            identifiers.pop(name, None)
    first: dict[str, str] = {}
    for entity in entities:
        for form in entity.forms:
            other = first.setdefault(letters(form), entity.forms[0])
            if other != entity.forms[0]:
                faults.append(f"{path}: {form[:80]!r} is listed for two entities")
    if not entities and not faults:
        faults.append(f"{path}: lists no entity; expected [[entity]] with kind and name")
    if faults:
        raise BadInputError("\n".join(faults))
    return Listed(tuple(entities), identifiers)


def letters(text: str) -> str:
    """Return the letters and digits of a name in the one form in which names are compared.

    Case, accents, full-width forms, spaces and punctuation do not count.

    Examples
    --------
    >>> letters("Café  Müller-GmbH")
    'cafemullergmbh'
    """
    return "".join(char for char in folded(text) if char.isalnum())


def folded(text: str) -> str:
    """Return text without accents, in compatibility form and folded case."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    plain = unicodedata.normalize("NFKD", plain)
    return "".join(char for char in plain if not unicodedata.combining(char))


def _toml(path: Path) -> tuple[list[tuple[str, Any]], Mapping[str, Any]]:
    text = named_text(path)
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInputError(f"{path}: not valid TOML ({error})") from None
    if set(document) - _TOP:
        raise BadInputError(f"{path}: expected [[entity]] and [identifier] only")
    rows, patterns = document.get("entity", []), document.get("identifier", {})
    if not isinstance(rows, list) or not isinstance(patterns, dict):
        raise BadInputError(f"{path}: expected [[entity]] tables and one table [identifier]")
    return [(f"{path}: entity {place}", row) for place, row in enumerate(rows, 1)], patterns


def _jsonl(path: Path) -> tuple[list[tuple[str, Any]], Mapping[str, Any]]:
    real = Path(os.path.realpath(path))
    rows = []
    for line in iter_jsonl(real, real.parent):
        if line.problem is not None:
            raise BadInputError(line.problem)
        rows.append((f"{path}: line {line.number}", line.value))
    return rows, {}


def _entity(where: str, row: Any, faults: list[str]) -> Iterator[Entity]:
    if not isinstance(row, dict) or set(row) - _ENTITY:
        faults.append(f"{where}: expected kind, name, and perhaps aliases and match")
        return
    what, name, aliases, match = (
        row.get("kind"),
        row.get("name"),
        row.get("aliases", []),
        row.get("match"),
    )
    if not isinstance(what, str) or not what.strip():
        faults.append(f"{where}: kind: expected text, found {kind(what)}")
        return
    if match is not None and match not in MATCHES:
        faults.append(f"{where}: match: expected {' or '.join(MATCHES)}")
        return
    forms = [name, *aliases] if isinstance(aliases, list) else []
    if not forms or not all(isinstance(form, str) and len(letters(form)) > 1 for form in forms):
        faults.append(f"{where}: name and aliases need at least two letters or digits each")
        return
    yield Entity(what, tuple(forms), tuple(_is_word(form, match) for form in forms))


def _is_word(form: str, match: str | None) -> bool:
    if match is not None:
        return match == "word"
    plain = letters(form)
    is_unspaced = any(unicodedata.name(char, "").startswith(_UNSPACED) for char in plain)
    return len(plain) < ANYWHERE_FROM and not is_unspaced
