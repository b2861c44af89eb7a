"""Notebook parameters: read from the tagged cell, and checked before anything runs."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval_eval.errors import BadInputError, RenderError
from retrieval_eval.report.notebook_files import read_notebook

TAG = "parameters"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter: its name, default value and the comment of its line."""

    name: str
    default: Any
    meaning: str


def declared(source: str) -> dict[str, Parameter]:
    """Return the parameters of a cell of annotated assignments with literal values.

    Examples
    --------
    >>> declared("seed: int = 7  # of every bootstrap")["seed"].meaning
    'of every bootstrap'
    """
    lines = source.splitlines()
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            comment = lines[(node.end_lineno or 1) - 1].partition("  # ")[2]
            default = ast.literal_eval(node.value)
            found[node.target.id] = Parameter(node.target.id, default, comment.strip())
    return found


def of_notebook(path: Path) -> dict[str, Parameter]:
    """Return the parameters a notebook declares in its cell tagged ``parameters``."""
    for cell in read_notebook(path).cells:
        if TAG in cell.metadata.get("tags", []):
            return declared(cell.source)
    raise RenderError(f"{path.name} has no cell tagged '{TAG}'")


def check(given: Mapping[str, Any], known: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return ``given`` when every name is declared and every value of its default's type.

    Raises
    ------
    BadInputError
        Naming the parameter, what was expected, and the closest declared names.
    """
    for name, value in given.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=2, cutoff=0.4) or sorted(known)
            raise BadInputError(
                f"the notebook has no parameter '{name}'; did you mean {' or '.join(close)}?"
            )
        if not _fits(value, known[name].default):
            expected = _kind(known[name].default)
            raise BadInputError(f"parameter '{name}' is {expected}, not {value!r}")
    return dict(given)


def _fits(value: Any, default: Any) -> bool:
    if isinstance(default, list):
        return (
            isinstance(value, list)
            and bool(value)
            and all(type(item) is type(default[0]) for item in value)
        )
    return type(value) is type(default)


def _kind(default: Any) -> str:
    match default:
        case bool():
            return "true or false"
        case int():
            return "a whole number"
        case list():
            return f"a list of one or more items, each {_kind(default[0])}"
        case _:
            return "text"
