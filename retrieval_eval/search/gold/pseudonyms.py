"""Pseudonyms for a gold set and its corpus, so that both can be shared."""

from __future__ import annotations

import hashlib
import hmac
import html
import json
import os
import re
import secrets
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import decode_toml, is_inside, is_there, json_bytes, write_atomically
from retrieval_eval.io.locks import alone
from retrieval_eval.io.user_files import is_private, read_user_json, read_user_text, write_private
from retrieval_eval.model.gold import DEFAULT_CORPUS, DEFAULT_MAX_GRADE, FieldMap
from retrieval_eval.search.gold import (
    HEADER_KEY,
    field_map,
    is_header,
    load_gold_set,
    parse_gold,
    refuse,
)
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.faults import kind as json_kind
from retrieval_eval.search.gold.faults import user_lines
from retrieval_eval.search.gold.identity import query_id

_PATIENCE: Final = 30.0
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
"""Patterns that are always replaced. ``digest`` hides checksums with which a guess could be
checked."""

_ENTITY: Final = {"kind", "name", "aliases", "match"}
_TOP: Final = {"entity", "identifier"}
# Scripts that are written without spaces, or whose words are short.
_UNSPACED: Final = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")


@dataclass(frozen=True, slots=True)
class Entity:
    """A person or thing to hide, under all its ``forms`` (the name first, then aliases).

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
    rows, patterns = (
        _jsonl_entities(path) if path.suffix.lower() == ".jsonl" else _toml_entities(path)
    )
    entities = [entity for where, row in rows for entity in _entity(where, row, faults)]
    identifiers = {name: re.compile(pattern) for name, pattern in IDENTIFIERS.items()}
    for name, pattern in patterns.items():
        try:
            if not isinstance(pattern, str):
                raise re.error(f"expected text, found {json_kind(pattern)}")
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


def _toml_entities(path: Path) -> tuple[list[tuple[str, Any]], Mapping[str, Any]]:
    document, problem = decode_toml(read_user_text(path))
    if problem is not None:
        raise BadInputError(f"{path}: {problem}")
    if set(document) - _TOP:
        raise BadInputError(f"{path}: expected [[entity]] and [identifier] only")
    rows, patterns = document.get("entity", []), document.get("identifier", {})
    if not isinstance(rows, list) or not isinstance(patterns, dict):
        raise BadInputError(f"{path}: expected [[entity]] tables and one table [identifier]")
    return [(f"{path}: entity {place}", row) for place, row in enumerate(rows, 1)], patterns


def _jsonl_entities(path: Path) -> tuple[list[tuple[str, Any]], Mapping[str, Any]]:
    rows = []
    for line in user_lines(path):
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
        faults.append(f"{where}: kind: expected text, found {json_kind(what)}")
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


VERSION: Final = 1
_MOST_DRAWS: Final = 1000
_KEY_BYTES: Final = 32
_ONSETS: Final = (*"bdfgklmnprstvz", "br", "dr", "fl", "gl", "kl", "pr", "st", "tr")
_VOWELS: Final = tuple("aeiou")
_CODAS: Final = ("", "", "l", "n", "r", "s")


@dataclass(slots=True)
class PseudonymMapping:
    """A random key, and the pseudonyms drawn with it.

    ``entities`` maps the letters of each form of a name to the pseudonym; ``kinds`` to its kind.
    ``identifiers`` maps kind and characters of an identifier to those of its stand-in. The mapping
    grows, but its entries never change.
    """

    key: bytes
    entities: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    identifiers: dict[tuple[str, str], str] = field(default_factory=dict)

    def add_entities(self, entities: Iterable[Entity]) -> None:
        """Draw a pseudonym for each entity that has none; all of its forms share it.

        Raises
        ------
        BadInputError
            When two forms of an entity were different entities before, or a listed name is a
            pseudonym already.
        """
        entities = tuple(entities)
        names = {letters(form) for entity in entities for form in entity.forms}
        taken = {letters(pseudonym) for pseudonym in self.entities.values()}
        if names & taken:
            raise BadInputError(
                "a listed name is also a pseudonym of the mapping; start a new mapping"
            )
        for entity in entities:
            forms = [letters(form) for form in entity.forms]
            before = {self.entities[form] for form in forms if form in self.entities}
            if len(before) > 1:
                raise BadInputError(
                    f"{entity.forms[0]!r}: its names were different entities in the mapping;"
                    " start a new mapping"
                )
            pseudonym = before.pop() if before else self._name(forms[0], entity.kind, names, taken)
            taken.add(letters(pseudonym))
            for form in forms:
                self.entities[form] = pseudonym
                self.kinds.setdefault(form, entity.kind)

    def add_identifiers(self, found: Iterable[tuple[str, str]]) -> None:
        """Draw a stand-in for each (kind, characters) that has none, whatever their order.

        Raises
        ------
        BadInputError
            When there are more identifiers of a shape than stand-ins, or an identifier is a
            stand-in already.
        """
        found = sorted(set(found) | set(self.identifiers))
        originals = {characters for _, characters in found}
        taken = set(self.identifiers.values())
        if originals & taken:
            raise BadInputError(
                "an identifier of the texts is also a stand-in of the mapping; are these texts"
                " pseudonymised already? Otherwise start a new mapping"
            )
        for kind, characters in found:
            if (kind, characters) in self.identifiers:
                continue
            stand_in = self._stand_in(kind, characters, originals | taken)
            self.identifiers[kind, characters] = stand_in
            taken.add(stand_in)

    def _name(self, name: str, kind: str, names: Collection[str], taken: Collection[str]) -> str:
        for draw in range(_MOST_DRAWS):
            stream = self._stream("entity", kind, name, draw)
            syllables = (
                _pick(_ONSETS, stream) + _pick(_VOWELS, stream) + _pick(_CODAS, stream)
                for _ in range(3)
            )
            drawn = "".join(syllables)
            if drawn not in taken and not any(one in drawn or drawn in one for one in names):
                return drawn.capitalize()
        raise BadInputError("no pseudonym is left that contains none of the listed names")

    def _stand_in(self, kind: str, characters: str, avoided: Collection[str]) -> str:
        for draw in range(_MOST_DRAWS):
            drawn = _shaped(kind, characters, self._stream("identifier", kind, characters, draw))
            if drawn not in avoided and not any(name in drawn for name in self.entities):
                return drawn
        raise BadInputError(
            f"no stand-in is left for an identifier of the kind {kind} with"
            f" {len(characters)} characters; narrow its pattern"
        )

    def _stream(self, *parts: object) -> Iterator[int]:
        """Yield bytes that follow from the key and the parts: HMAC-SHA-256 in counter mode."""
        message = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
        counter = 0
        while True:
            block = counter.to_bytes(4, "big") + message
            yield from hmac.new(self.key, block, hashlib.sha256).digest()
            counter += 1


def new_mapping() -> PseudonymMapping:
    """Return an empty mapping with a random key."""
    return PseudonymMapping(secrets.token_bytes(_KEY_BYTES))


def read_mapping(path: Path) -> PseudonymMapping:
    """Return the mapping in a file that only its owner may read.

    Raises `BadInputError` for any other file.
    """
    real = Path(os.path.realpath(path))
    if real.exists() and not is_private(real):
        raise BadInputError(f"{path}: others may read it; it needs mode 0600 (chmod 600)")
    value = read_user_json(path)
    try:
        return _from_json(value)
    except (TypeError, KeyError, ValueError, AttributeError):
        raise BadInputError(f"{path}: not a mapping of pseudonyms, or it was edited") from None


def mapping_bytes(mapping: PseudonymMapping) -> bytes:
    """Return the bytes of a mapping file."""
    document = {
        "pseudonyms": VERSION,
        "key": mapping.key.hex(),
        "entities": [
            {"kind": mapping.kinds[form], "letters": form, "pseudonym": pseudonym}
            for form, pseudonym in sorted(mapping.entities.items())
        ],
        "identifiers": [
            {"kind": kind, "characters": characters, "stand_in": stand_in}
            for (kind, characters), stand_in in sorted(mapping.identifiers.items())
        ],
    }
    return json_bytes(document, indent=1)


def _from_json(value: Any) -> PseudonymMapping:
    if value["pseudonyms"] != VERSION:
        raise ValueError
    mapping = PseudonymMapping(bytes.fromhex(value["key"]))
    if len(mapping.key) != _KEY_BYTES:
        raise ValueError
    for row in value["entities"]:
        mapping.entities[_text(row["letters"])] = _text(row["pseudonym"])
        mapping.kinds[row["letters"]] = _text(row["kind"])
    for row in value["identifiers"]:
        key = _text(row["kind"]), _text(row["characters"])
        mapping.identifiers[key] = _text(row["stand_in"])
        if len(row["stand_in"]) != len(row["characters"]):
            raise ValueError
    return mapping


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _pick(options: tuple[str, ...], stream: Iterator[int]) -> str:
    return options[next(stream) % len(options)]


def _shaped(kind: str, characters: str, stream: Iterator[int]) -> str:
    """Return other characters of the same shape: digits for digits, letters for letters."""
    if kind == "ipv4":
        return re.sub(r"\d+", lambda octet: _octet(len(octet[0]), stream), characters)
    alphabet = "abcdef" if kind in {"digest", "ipv6"} else string.ascii_lowercase
    drawn = []
    for place, char in enumerate(characters):
        if char.isdigit():
            # A number without a leading zero gets none.
            low = 1 if place == 0 and char != "0" else 0
            drawn.append(str(low + next(stream) % (10 - low)))
        else:
            drawn.append(alphabet[next(stream) % len(alphabet)] if char.isalpha() else char)
    return "".join(drawn)


def _octet(n_digits: int, stream: Iterator[int]) -> str:
    low, n = {1: (0, 10), 2: (10, 90)}.get(n_digits, (100, 156))
    return str(low + next(stream) % n)


_TOKEN: Final = re.compile(
    r"(?P<reference>&(?:\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)"
    r"|(?P<percent>(?:%[0-9A-Fa-f]{2})+)"
    r"|(?P<markup><[^<>]{0,300}>|[*`~]+)"
    r"|.",
    re.DOTALL,
)
_PLAIN_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,9}\s*/?>|[*`~]+")
_CODED: Final = re.compile(r"[&%]")
_MARKED: Final = re.compile(r"[<*`~]")
_LETTER: Final = r"[^\W\d_]"
_BETWEEN: Final = r"[\W_]{0,12}"


@dataclass(frozen=True, slots=True)
class _View:
    """A text as a reader sees it, with the place of each character in the text itself."""

    text: str
    starts: list[int] | range
    ends: list[int] | range


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    kind: str
    value: str
    is_entity: bool


@dataclass(slots=True)
class Hider:
    """Replaces entities and identifiers in texts.

    Every text is first given to :meth:`collect`, so that stand-ins do not depend on the order of
    texts; then :meth:`draw` is called, and then :meth:`hide` for each text.
    """

    listed: Listed
    mapping: PseudonymMapping
    n_hidden: Counter[str] = field(default_factory=Counter)
    n_by_form: Counter[str] = field(default_factory=Counter)
    _found: set[tuple[str, str]] = field(default_factory=set)
    _pattern: re.Pattern[str] = field(init=False)
    _kinds: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        forms = [
            (letters(form), entity, form, is_word)
            for entity in self.listed.entities
            for form, is_word in zip(entity.forms, entity.is_word, strict=True)
        ]
        # Longest first; the lookahead finds those that begin inside another one, too.
        forms.sort(key=lambda row: (-len(row[0]), row[0]))
        alternatives = "|".join(_form_pattern(form, is_word) for _, _, form, is_word in forms)
        self._pattern = re.compile(f"(?=({alternatives}))")
        self._kinds = {plain: entity.kind for plain, entity, _, _ in forms}

    def collect(self, text: str) -> None:
        """Remember the identifiers of a text."""
        self._found.update(
            (span.kind, span.value) for span in self._spans(text) if not span.is_entity
        )

    def draw(self) -> None:
        """Draw pseudonyms and stand-ins for what was collected."""
        self.mapping.add_entities(self.listed.entities)
        self.mapping.add_identifiers(self._found)

    def hide(self, text: str) -> str:
        """Return the text with everything replaced.

        Raises
        ------
        BadInputError
            When a listed name would remain, which only a text constructed for it can cause.
        """
        spans = sorted(self._spans(text), key=lambda span: (span.start, -span.end))
        if not spans:
            return text
        pieces, done = [], 0
        for start, end, winner in _clusters(spans):
            pieces += [text[done:start], self._replacement(text, start, end, winner)]
            done = end
        hidden = "".join([*pieces, text[done:]])
        if self.holds_name(hidden):
            raise BadInputError(
                "a listed name is put together by what surrounds a pseudonym, near"
                f" {hidden[:60]!r}; edit this text by hand"
            )
        return hidden

    def holds_name(self, text: str) -> bool:
        """Return whether a listed name is found in a text."""
        return any(True for view in _views(text) for _ in self._entities(view))

    def _spans(self, text: str) -> set[_Span]:
        spans: set[_Span] = set()
        for view in _views(text):
            spans.update(self._entities(view))
            spans.update(self._identifiers(view))
        return spans

    def _entities(self, view: _View) -> Iterator[_Span]:
        plain = _folded(view)
        for found in self._pattern.finditer(plain.text):
            start, end = found.span(1)
            form = letters(found[1])
            yield _Span(
                plain.starts[start], plain.ends[end - 1], self._kinds[form], form, is_entity=True
            )

    def _identifiers(self, view: _View) -> Iterator[_Span]:
        for kind, pattern in self.listed.identifiers.items():
            for found in pattern.finditer(view.text):
                start, end = found.span()
                characters = _characters(kind, found[0])
                if characters:
                    yield _Span(
                        view.starts[start], view.ends[end - 1], kind, characters, is_entity=False
                    )

    def _replacement(self, text: str, start: int, end: int, span: _Span) -> str:
        self.n_hidden[span.kind] += 1
        markup = "".join(
            tag for tag in _PLAIN_TAG.findall(text[start:end]) if not self.holds_name(tag)
        )
        if span.is_entity:
            self.n_by_form[span.value] += 1
            own = text[span.start : span.end]
            return _cased(self.mapping.entities[span.value], own) + markup
        stand_in = self.mapping.identifiers[span.kind, span.value]
        return _dressed(span.kind, stand_in, _seen(span, text)) + markup


def entities_found(listed: Listed, hider: Hider) -> int:
    """Return how many listed entities occurred under any of their names."""
    return sum(_occurs(entity, hider.n_by_form) for entity in listed.entities)


def _occurs(entity: Entity, counts: Counter[str]) -> bool:
    return any(counts[letters(form)] for form in entity.forms)


def _form_pattern(form: str, is_word: bool) -> str:
    words = re.findall(r"[^\W_]+", folded(form))
    pattern = _BETWEEN.join(map(re.escape, words))
    if is_word:
        return f"(?<!{_LETTER}){pattern}(?=s?(?!{_LETTER}))"
    return pattern


def _clusters(spans: list[_Span]) -> Iterator[tuple[int, int, _Span]]:
    """Yield overlapping spans as one, with the longest of them."""
    cluster = spans[:1]
    end = cluster[0].end
    for span in spans[1:]:
        if span.start < end:
            cluster.append(span)
            end = max(end, span.end)
            continue
        yield cluster[0].start, end, _longest(cluster)
        cluster, end = [span], span.end
    yield cluster[0].start, end, _longest(cluster)


def _longest(cluster: list[_Span]) -> _Span:
    return max(cluster, key=lambda s: (s.end - s.start, not s.is_entity, -s.start, s.kind, s.value))


def _views(text: str) -> list[_View]:
    """Return the text with its references decoded, and the same without markup if it has any."""
    whole = _view(text, without_markup=False)
    return [whole, _view(text, without_markup=True)] if _MARKED.search(text) else [whole]


def _view(text: str, *, without_markup: bool) -> _View:
    if text.isascii() and not without_markup and not _CODED.search(text):
        return _View(text, range(len(text)), range(1, len(text) + 1))
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for token in _TOKEN.finditer(text):
        if token["markup"] is not None and without_markup:
            continue
        for char, start, end in _decoded(token):
            if unicodedata.category(char) != "Cf":
                chars.append(char)
                starts.append(start)
                ends.append(end)
    return _View("".join(chars), starts, ends)


def _decoded(token: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    start, end = token.span()
    if token["reference"] is not None:
        for char in html.unescape(token[0]):
            yield char, start, end
    elif token["percent"] is not None:
        data = unquote_to_bytes(token[0])
        if data.isascii():
            for place, char in enumerate(data.decode("ascii")):
                yield char, start + 3 * place, start + 3 * place + 3
        else:
            for char in data.decode("utf-8", "replace"):
                yield char, start, end
    else:
        for place, char in enumerate(token[0], start):
            yield char, place, place + 1


def _folded(view: _View) -> _View:
    if view.text.isascii():
        return _View(view.text.lower(), view.starts, view.ends)
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for char, start, end in zip(view.text, view.starts, view.ends, strict=True):
        plain = folded(char)
        if not plain and ends and unicodedata.combining(char):
            # An accent belongs to the letter before it.
            ends[-1] = end
        for one in plain:
            chars.append(one)
            starts.append(start)
            ends.append(end)
    return _View("".join(chars), starts, ends)


def _cased(pseudonym: str, original: str) -> str:
    cased = [char for char in original if char.isupper() or char.islower()]
    if len(cased) > 1 and all(char.isupper() for char in cased):
        return pseudonym.upper()
    if cased and all(char.islower() for char in cased):
        return pseudonym.lower()
    return pseudonym


def _seen(span: _Span, text: str) -> str:
    """Return an identifier as its view showed it, with what stands between its characters."""
    views = [view.text for view in _views(text[span.start : span.end])]
    return next((seen for seen in views if _characters(span.kind, seen) == span.value), "")


def _characters(kind: str, identifier: str) -> str:
    """Return the letters and digits of an identifier, without separators."""
    if kind == "ipv4":
        return identifier
    return "".join(c for c in _changed_part(kind, identifier).lower() if c.isalnum())


def _changed_part(kind: str, identifier: str) -> str:
    # The top-level domain does not identify a person and keeps the shape of an address.
    return identifier.rpartition(".")[0] if kind == "email" else identifier


def _dressed(kind: str, stand_in: str, original: str) -> str:
    """Return the stand-in with the case and the punctuation of the original."""
    if kind == "ipv4" or not original:
        return stand_in
    part = _changed_part(kind, original)
    characters = iter(stand_in)
    dressed = [_like(next(characters), char) if char.isalnum() else char for char in part]
    return "".join(dressed) + original[len(part) :]


def _like(drawn: str, char: str) -> str:
    return drawn.upper() if char.isupper() else drawn


GOLD_FILE: Final = "gold-set.jsonl"
CORPUS_FILE: Final = "corpus.jsonl"

_ENUMERATED: Final = frozenset({"source", "origin", "answerable"})
_LABEL: Final = frozenset({"labeller", "doc", "grade"})
_DOCUMENT: Final = frozenset({"id", "_id", "title", "text", "corpus"})
_LONG: Final = 10**7

Text = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class PseudonymResult:
    """The files written, and the number of replacements by kind.

    ``n_found`` of the ``n_entities`` listed occurred at all. ``n_anchors`` were left out, and
    ``n_ids`` ids that were digests of their query are digests of the new one.
    """

    gold: Path
    corpus: Path | None
    mapping: Path
    n_hidden: Mapping[str, int]
    n_entities: int
    n_found: int
    n_queries: int
    n_documents: int
    n_anchors: int
    n_ids: int


def pseudonymize(
    gold: Path, entities: Path, out: Path, mapping: Path, *, corpus: Path | None = None
) -> PseudonymResult:
    """Write a gold set and its corpus with pseudonyms for names and stand-ins for identifiers.

    An entity has one pseudonym wherever it occurs: in queries, texts, document ids, notes, labels,
    paths and unknown fields; in any letter case, with any punctuation between its words, and where
    markup, invisible characters or escapes split it. Ids are renamed alike on both sides, so that
    judgements still match. Anchors are left out: their places belong to the original sources, and
    their digests would let anyone check a guess.

    Parameters
    ----------
    gold, corpus
        The files to read.
    entities
        The list of names and of further patterns (see :func:`read_listed`).
    out
        The folder for ``gold-set.jsonl`` and ``corpus.jsonl``.
    mapping
        The secret file with the key and all pseudonyms, outside ``out``. If it exists it is used
        and extended: the same input then gives the same bytes. Its mode is 0600.

    Raises
    ------
    BadInputError
        When a file has faults, the mapping would lie beside the shared files, or two ids would
        become one. No pseudonymised file is written then.
    """
    _check_places(gold, out, mapping, corpus)
    # Read to check them: every fault is named by line before anything is written.
    n_queries = len(load_gold_set(gold).queries)
    documents = 0 if corpus is None else len(read_corpus(corpus).documents)
    listed = read_listed(entities)
    with alone(mapping, "adds to it", patience=_PATIENCE):
        secret = read_mapping(mapping) if is_there(mapping) else new_mapping()
        fields = field_map(gold)
        gold_rows = [row for row in _rows(gold) if not is_header(row)]
        corpus_rows = [] if corpus is None else _rows(corpus)
        hider = Hider(listed, secret)
        for row in gold_rows:
            _gold_row(row, fields, _collecting(hider))
        for row in corpus_rows:
            _corpus_row(row, _collecting(hider))
        hider.draw()
        _check_field_names(fields, hider)
        new_gold = [_gold_row(row, fields, hider.hide) for row in gold_rows]
        new_corpus = [_corpus_row(row, hider.hide) for row in corpus_rows]
        _check_ids(corpus_rows, new_corpus)
        target = out / GOLD_FILE
        lines = _lines([*_header(fields), *new_gold])
        refuse(
            f"{target.name} (not written)",
            parse_gold(lines, FieldMap(fields.names, fields.max_grade))[1],
        )
        files = {target: lines}
        if corpus is not None:
            files[out / CORPUS_FILE] = _lines(new_corpus)
        # The mapping first: without it, what was written could never be extended.
        write_private(mapping, mapping_bytes(secret))
        write_atomically(files)
    return PseudonymResult(
        gold=target,
        corpus=None if corpus is None else out / CORPUS_FILE,
        mapping=mapping,
        n_hidden=dict(sorted(hider.n_hidden.items())),
        n_entities=len(listed.entities),
        n_found=entities_found(listed, hider),
        n_queries=n_queries,
        n_documents=documents,
        n_anchors=sum(len(_named(row, fields).get("anchors") or ()) for row in gold_rows),
        n_ids=sum(_is_derived(_named(row, fields)) for row in gold_rows),
    )


def _check_places(gold: Path, out: Path, mapping: Path, corpus: Path | None) -> None:
    if is_inside(mapping, out):
        raise BadInputError(f"{mapping}: lies in {out}, the folder to give away; keep it elsewhere")
    written = {os.path.realpath(out / name) for name in (GOLD_FILE, CORPUS_FILE)}
    for path in (gold, corpus):
        if path is not None and os.path.realpath(path) in written:
            raise BadInputError(f"{path}: would be replaced; choose another folder than {out}")


def _rows(path: Path) -> list[dict[str, Any]]:
    return [line.value for line in user_lines(path)]


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    texts = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return "".join(f"{text}\n" for text in texts).encode("utf-8")


def _header(fields: FieldMap) -> list[dict[str, Any]]:
    """Return the header line with the settings of ``gold.toml`` beside the original."""
    if not fields.names and fields.max_grade == DEFAULT_MAX_GRADE:
        return []
    settings: dict[str, Any] = {"max_grade": fields.max_grade}
    if fields.names:
        settings["fields"] = dict(fields.names)
    return [{HEADER_KEY: settings}]


def _collecting(hider: Hider) -> Text:
    def collect(text: str) -> str:
        hider.collect(text)
        return text

    return collect


def _named(row: Mapping[str, Any], fields: FieldMap) -> dict[str, Any]:
    """Return the values of a row under the standard field names."""
    meanings = fields.meanings()
    return {meanings[name]: value for name, value in row.items() if name in meanings}


def _is_derived(named: Mapping[str, Any]) -> bool:
    corpus = named.get("corpus") or DEFAULT_CORPUS
    return named.get("id") == query_id(corpus, named["query"])


def _gold_row(row: Mapping[str, Any], fields: FieldMap, text: Text) -> dict[str, Any]:
    meanings = fields.meanings()
    named = _named(row, fields)
    new: dict[str, Any] = {}
    for name, value in row.items():
        standard = meanings.get(name)
        if standard is None:
            _put(new, text(name), _hidden(value, text))
        elif standard in _ENUMERATED:
            new[name] = value
        elif standard == "labels" and value is not None:
            new[name] = [{key: _hidden(label[key], text) for key in label} for label in value]
        elif standard == "id" and _is_derived(named):
            # A digest of the original query: anyone could check a guess with it.
            corpus = text(named.get("corpus") or DEFAULT_CORPUS)
            new[name] = query_id(corpus, text(named["query"]))
        elif standard not in ("anchors", "digests"):
            new[name] = _hidden(value, text)
    return new


def _corpus_row(row: Mapping[str, Any], text: Text) -> dict[str, Any]:
    new: dict[str, Any] = {}
    for name, value in row.items():
        _put(new, name if name in _DOCUMENT else text(name), _hidden(value, text))
    return new


def _put(row: dict[str, Any], name: str, value: Any) -> None:
    if name in row:
        raise BadInputError(f"two fields would be called {name[:80]!r}; rename one of them first")
    row[name] = value


def _hidden(value: Any, text: Text) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        new = {text(key): _hidden(item, text) for key, item in value.items()}
        if len(new) < len(value):
            raise BadInputError(_clash(value, text))
        return new
    if isinstance(value, list):
        return [_hidden(item, text) for item in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and value == int(value) and abs(value) >= _LONG:
        # An account number may be stored as a number, 1234567890.0 as well as 1234567890.
        changed = text(str(int(value)))
        return int(changed) if changed.lstrip("-").isdigit() else changed
    return value


def _clash(names: Iterable[str], text: Text) -> str:
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(text(name), name)
        if other != name:
            return (
                f"{other[:80]!r} and {name[:80]!r} would become the same;"
                " list them as entities of their own, or rename one"
            )
    return "two names would become the same"


def _check_ids(old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]) -> None:
    first: dict[tuple[str, str], str] = {}
    for before, after in zip(old, new, strict=True):
        name = "_id" if "_id" in after else "id"
        key = after.get("corpus") or DEFAULT_CORPUS, after[name]
        if key in first:
            raise BadInputError(
                f"the documents {first[key][:80]!r} and {before[name][:80]!r} would get the same"
                " id; list their names as entities of their own, or rename one"
            )
        first[key] = before[name]


def _check_field_names(fields: FieldMap, hider: Hider) -> None:
    for name in fields.names.values():
        if hider.holds_name(name):
            raise BadInputError(
                f"the field {name[:80]!r} has a listed name in it; rename the field first"
            )
