"""JSON that is sent to a server and comes back from it: templates, paths and conditions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import decode

PLACEHOLDERS: Final = ("query", "corpus", "k", "vector")
"""What a template can hold, each written as the JSON text ``"$name"``."""

_PART: Final = re.compile(r'\.?(?:\[(?:(\d{1,9})|(\*)|("(?:[^"\\]|\\.)*"))\]|([^.\[\]]+))')
_LONGEST_SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class Template:
    """A JSON value in which ``"$query"``, ``"$corpus"``, ``"$k"`` and ``"$vector"`` are replaced.

    A placeholder is a whole JSON text and is replaced by a whole JSON value, so that nothing in a
    query can change the structure around it. ``"$$query"`` is the text ``$query``. Names of fields
    are never replaced.

    Examples
    --------
    >>> template = Template.of('{"match": {"text": "$query"}, "size": "$k"}', "body")
    >>> template.filled({"query": 'a"}, {"match_all": {', "k": 5})
    {'match': {'text': 'a"}, {"match_all": {'}, 'size': 5}
    """

    value: Any
    names: frozenset[str]

    @classmethod
    def of(cls, text: str, what: str, known: tuple[str, ...] = PLACEHOLDERS) -> Template:
        """Return the template of JSON text; ``what`` names it in messages.

        Raises
        ------
        BadInputError
            When the text is not JSON, or holds a placeholder that is not one of ``known``.
        """
        value, problem = decode(text)
        if problem is not None:
            raise BadInputError(f"http: option {what} is {problem}")
        found = _names(value)
        for name in sorted(found.difference(known)):
            listed = ", ".join(f'"${each}"' for each in known)
            raise BadInputError(
                f'http: option {what} has the placeholder "${name}"; there are {listed}'
                f' (the text itself is written "$${name}")'
            )
        return cls(value, found)

    def filled(self, values: Mapping[str, Any]) -> Any:
        """Return the value with every placeholder replaced."""
        return _filled(self.value, values)


def _names(value: Any) -> frozenset[str]:
    if isinstance(value, str):
        is_one = value.startswith("$") and not value.startswith("$$")
        return frozenset([value[1:]]) if is_one else frozenset()
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return frozenset[str]().union(*map(_names, items))


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return value[1:] if value.startswith("$$") else values[value[1:]]
    if isinstance(value, dict):
        return {name: _filled(each, values) for name, each in value.items()}
    return [_filled(each, values) for each in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Path:
    """Where something is in a JSON value, such as ``hits.hits``, ``result[0].points``, ``a[*].b``.

    Parts are names of fields joined by dots, ``[0]`` an item of a list, ``[*]`` every item, and
    ``["a.b"]`` a name with a dot. A whole number as a name also finds an item of a list. The empty
    path is the value itself.

    Examples
    --------
    >>> Path.of("groups[*].hits", "results").at({"groups": [{"hits": [1]}, {"hits": [2, 3]}]})
    [1, 2, 3]
    """

    text: str
    parts: tuple[str | int | None, ...]

    @classmethod
    def of(cls, text: str, what: str, *, is_single: bool = False) -> Path:
        """Return the path that a text describes; ``what`` names it in messages.

        Raises
        ------
        BadInputError
            When the text is no path, or has ``[*]`` although it must lead to a single value.
        """
        parts: list[str | int | None] = []
        place = 0
        while place < len(text):
            found = _PART.match(text, place)
            if found is None or (place == 0 and text.startswith(".")):
                raise BadInputError(
                    f"http: option {what} is {text!r}; expected a path such as hits.hits,"
                    ' result[0].points or ["a.b"].c'
                )
            number, every, quoted, name = found.groups()
            known = int(number) if number else decode(quoted)[0] if quoted else name
            if every and is_single:
                raise BadInputError(f"http: option {what} is {text!r}; [*] leads to several values")
            parts.append(None if every else known)
            place = found.end()
        return cls(text, tuple(parts))

    def at(self, value: Any) -> Any:
        """Return what is there, None where there is nothing.

        After ``[*]`` the items found are one list, and an item that lacks the rest of the path
        makes the whole answer nothing.
        """
        return at(value, *self.parts)


def at(value: Any, *parts: str | int | None) -> Any:
    """Return what stands at the parts of a path; see `Path.at`, where None is ``[*]``."""
    for place, part in enumerate(parts):
        if part is None:
            rest = parts[place + 1 :]
            found: list[Any] = (
                [at(item, *rest) for item in value] if isinstance(value, list) else [None]
            )
            if any(each is None for each in found):
                return None
            if not rest or not all(isinstance(each, list) for each in found):
                return found
            return list(chain.from_iterable(found))
        value = _item(value, part)
    return value


def _item(value: Any, part: str | int) -> Any:
    if isinstance(value, dict) and isinstance(part, str):
        return value.get(part)
    is_index = isinstance(part, int) or (part.isdecimal() and len(part) < 10)
    if isinstance(value, list) and is_index and int(part) < len(value):
        return value[int(part)]
    return None


@dataclass(frozen=True, slots=True)
class Conditions:
    """What must stand in an answer: for each path a value, or a list of the values allowed.

    ``null`` also allows that nothing is there. Numbers equal numbers; ``false`` is not 0.

    Examples
    --------
    >>> whole = Conditions.of('{"timed_out": false, "_shards.failed": 0}', "require")
    >>> whole.breach({"timed_out": False, "_shards": {"failed": 2}})
    "'_shards.failed' is 2 and must be 0"
    """

    allowed: tuple[tuple[Path, tuple[Any, ...]], ...]

    @classmethod
    def of(cls, text: str, what: str) -> Conditions:
        """Return the conditions of a JSON object; raises BadInputError when it is none."""
        value, problem = decode(text or "{}")
        if problem is not None or not isinstance(value, dict):
            raise BadInputError(
                f"http: option {what} is {problem or 'no JSON object'}; expected"
                ' {"path": value, …}, a list for several allowed values'
            )
        return cls(
            tuple(
                (Path.of(path, what, is_single=True), tuple(v) if isinstance(v, list) else (v,))
                for path, v in value.items()
            )
        )

    def breach(self, answer: Any) -> str | None:
        """Return in which way an answer does not meet the conditions, None where it does."""
        for path, allowed in self.allowed:
            found = path.at(answer)
            if not any(_is_equal(found, each) for each in allowed):
                is_ = "is missing" if found is None else f"is {_shown(found)}"
                return f"{path.text!r} {is_} and must be {' or '.join(map(_shown, allowed))}"
        return None


def _is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:_LONGEST_SHOWN]
