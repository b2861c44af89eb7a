"""Reading and writing YAML: sets of parameters that people write.

What is read is plain data. No tag builds an object, and a value is a number or true or false only
where YAML 1.2 and JSON say so: ``2026-07-01``, ``010``, ``1:30``, ``no`` and ``off`` are texts.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible

_MOST: Final = 1_000_000
"""Characters of a text, and values that it may become once aliases and merge keys are written out.

A few lines can name each other so often that no memory holds what they expand to.
"""
_HEAD: Final = "tag:yaml.org,2002:"


def read_yaml(text: str, name: str) -> Any:
    """Return the value of a YAML document.

    Parameters
    ----------
    text
        The document.
    name
        What messages call it.

    Raises
    ------
    BadInputError
        When it is no YAML (with line and column), is too large or nested, also once aliases and
        merge keys are written out, has a key twice, or a tag that is not one of JSON's types.

    Examples
    --------
    >>> read_yaml("run_id: 2026-07-01", "params.yml")
    {'run_id': '2026-07-01'}
    """
    import yaml

    if len(text) > _MOST:
        raise BadInputError(f"{name}: longer than {_MOST:,} characters")
    try:
        loader = _loader()(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _refuse_endless(node, name)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" line {mark.line + 1}, column {mark.column + 1}:" if mark else ""
        raise BadInputError(f"{name}:{place} {error.problem or 'not YAML'}") from error
    except (yaml.YAMLError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise BadInputError(f"{name}: not YAML ({said})") from error
    except RecursionError as error:
        raise BadInputError(f"{name}: nested too deeply") from error


def _refuse_endless(top: Any, name: str) -> None:
    """Refuse a document that is too large once its aliases are written out, or holds itself.

    A merge key copies at most what its aliases expand to. Each node is looked at once.
    """
    sizes: dict[int, int] = {}
    waiting = [(top, False)]
    above: set[int] = set()
    while waiting:
        node, is_done = waiting.pop()
        inner = node.value if isinstance(node.value, list) else []
        nodes = [each for item in inner for each in (item if isinstance(item, tuple) else (item,))]
        if is_done:
            above.discard(id(node))
            sizes[id(node)] = min(1 + sum(sizes[id(each)] for each in nodes), _MOST + 1)
        elif id(node) in above:
            raise BadInputError(f"{name}: an alias stands inside of what it names")
        elif id(node) not in sizes:
            above.add(id(node))
            waiting.append((node, True))
            waiting.extend((each, False) for each in nodes if id(each) not in sizes)
    if sizes[id(top)] > _MOST:
        raise BadInputError(
            f"{name}: more than {_MOST:,} values once its aliases and merge keys are written out"
        )


def yaml_text(values: Mapping[str, Any]) -> str:
    """Return a mapping as YAML, in its order; invisible characters are escaped."""
    import yaml

    def dumped(*, is_readable: bool) -> str:
        options = {"sort_keys": False, "width": 4096, "allow_unicode": is_readable}
        return str(yaml.safe_dump(dict(values), **options))

    text = dumped(is_readable=True)
    return text if text.replace("\n", "").isprintable() else dumped(is_readable=False)


@cache
def _loader() -> Any:
    import re

    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """A safe loader that knows the types of JSON, and no key twice."""

        yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - as yaml declares it

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            keys: set[str] = set()
            for key, _ in node.value:
                if key.tag not in (f"{_HEAD}str", f"{_HEAD}merge"):
                    problem = "a key is text"
                elif key.value in keys:
                    problem = f"the key {visible(key.value, 60)!r} is there twice"
                else:
                    keys.add(key.value)
                    continue
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            found: dict[Hashable, Any] = super().construct_mapping(node, deep)
            return found

    for kind, pattern, first in (
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
        ("float", r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+][0-9]+)?", "-+0123456789"),
        ("null", r"~|null|Null|NULL|", "~nN"),
        ("merge", r"<<", "<"),
    ):
        characters = [*first, ""] if kind == "null" else [*first]
        Loader.add_implicit_resolver(f"{_HEAD}{kind}", re.compile(rf"(?:{pattern})\Z"), characters)
    for kind in ("timestamp", "binary", "set", "omap", "pairs"):
        Loader.add_constructor(f"{_HEAD}{kind}", Loader.construct_undefined)
    return Loader
