"""The secret of a pseudonymised gold set: the key, and who is who."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import string
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.pseudonym_list import Entity, letters
from retrieval_eval.io.files import json_bytes
from retrieval_eval.io.named import named_json
from retrieval_eval.io.private import is_private

VERSION: Final = 1
_MOST_DRAWS: Final = 1000
_KEY_BYTES: Final = 32
_ONSETS: Final = (*"bdfgklmnprstvz", "br", "dr", "fl", "gl", "kl", "pr", "st", "tr")
_VOWELS: Final = tuple("aeiou")
_CODAS: Final = ("", "", "l", "n", "r", "s")


@dataclass(slots=True)
class PseudonymMapping:
    """A random key, and what was drawn with it.

    ``entities`` maps the letters of each form of a name to the pseudonym; ``kinds`` says what
    it is. ``identifiers`` maps kind and characters of an identifier to those of its stand-in.
    The mapping grows, but what is in it never changes.
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
    """Return the mapping in a file; raises `BadInputError` for none, or if others may read it."""
    real = Path(os.path.realpath(path))
    if real.exists() and not is_private(real):
        raise BadInputError(f"{path}: others may read it; it needs mode 0600 (chmod 600)")
    value = named_json(path)
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
            # A number that began with no zero does not begin with one now.
            low = 1 if place == 0 and char != "0" else 0
            drawn.append(str(low + next(stream) % (10 - low)))
        else:
            drawn.append(alphabet[next(stream) % len(alphabet)] if char.isalpha() else char)
    return "".join(drawn)


def _octet(n_digits: int, stream: Iterator[int]) -> str:
    low, n = {1: (0, 10), 2: (10, 90)}.get(n_digits, (100, 156))
    return str(low + next(stream) % n)
