"""Finding what has to be hidden in a text, also where markup splits it, and replacing it."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote_to_bytes

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.pseudonym_list import Entity, Listed, folded, letters
from retrieval_eval.gold.pseudonym_mapping import PseudonymMapping

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
            When a listed name would still be there, which only a text made for it can cause.
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
    """Yield spans that overlap as one, with the longest of them; nothing of the others stays."""
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
    """Return what makes an identifier: its letters and digits, however they are set apart."""
    if kind == "ipv4":
        return identifier
    return "".join(c for c in _changed_part(kind, identifier).lower() if c.isalnum())


def _changed_part(kind: str, identifier: str) -> str:
    # The top-level domain says nothing, and keeps an address in the shape of one.
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
