"""Notebook parameters: read from the tagged cell, and checked before anything runs."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError, RenderError
from retrieval_eval.report.notebook_files import read_notebook

TAG = "parameters"

OF_PAGE: Final = ("notebook", "renderer", "pdf")
"""Names in ``params.yml`` that are about the page and no parameters of the notebook."""

_INJECTED: Final = re.compile(r"\s*# *(?:injected[ -])?parameters *(?:\n|$)", re.IGNORECASE)
"""The comment with which papermill and Quarto begin the cell of given parameters."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter: its name, default value and the comment of its line."""

    name: str
    default: Any
    meaning: str


def declared(source: str) -> dict[str, Parameter]:
    """Return the parameters of a cell of assignments with literal values.

    Examples
    --------
    >>> declared("seed: int = 7  # of every bootstrap")["seed"].meaning
    'of every bootstrap'
    """
    lines = source.splitlines()
    found = {}
    for node in ast.parse(source).body:
        target = node.target if isinstance(node, ast.AnnAssign) else _only_target(node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name):
            comment = lines[(node.end_lineno or 1) - 1].partition("  # ")[2]
            try:
                default = ast.literal_eval(node.value) if node.value else None
            except ValueError:
                default = None  # computed, and so of a type that is not known here
            found[target.id] = Parameter(target.id, default, comment.strip())
    return found


def _only_target(node: ast.stmt) -> ast.expr | None:
    return node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None


def check_parameters() -> None:
    """Check the parameters that papermill or Quarto gave to the notebook that is running.

    They only warn of a name that the notebook does not declare, or inject it in silence, and the
    notebook would run with its defaults. What was given is in the cell behind the declarations.
    Where nothing was given, as in a session of Jupyter, there is nothing to check.

    Raises
    ------
    BadInputError
        As for :func:`check`.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        check_cells(shell.user_ns.get("In", ()), shell.user_ns)


def check_cells(cells: Sequence[str], values: Mapping[str, Any]) -> None:
    """Check the last cell of given parameters among the executed ``cells``.

    The declarations are in the nearest cell before it that has annotated ones; ``values`` are those
    of the names in the notebook.
    """
    given: str | None = None
    for cell in reversed(cells):
        is_declaration = _is_annotated(cell)
        if given is None and not is_declaration and _INJECTED.match(cell):
            given = cell
        elif given is not None and is_declaration:
            known = declared(cell)
            of_page = set(OF_PAGE) - set(known)  # papermill was given a whole params.yml
            names = [name for name in _names(given) if name in values and name not in of_page]
            hint = " (papermill: -r in place of -p gives text)"
            check({name: values[name] for name in names}, known, text_hint=hint)
            return


def _is_annotated(cell: str) -> bool:
    return any(isinstance(node, ast.AnnAssign) for node in _statements(cell))


def _names(cell: str) -> list[str]:
    nodes = (node for statement in _statements(cell) for node in ast.walk(statement))
    return [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _statements(cell: str) -> list[ast.stmt]:
    try:
        return ast.parse(cell).body
    except (SyntaxError, ValueError):
        return []  # a cell that is no Python, such as a magic


def of_notebook(path: Path) -> dict[str, Parameter]:
    """Return the parameters a notebook declares in its cell tagged ``parameters``."""
    for cell in read_notebook(path).cells:
        if TAG in cell.metadata.get("tags", []):
            return declared(cell.source)
    raise RenderError(f"{path.name} has no cell tagged '{TAG}'")


def check(
    given: Mapping[str, Any], known: Mapping[str, Parameter], *, text_hint: str = ""
) -> dict[str, Any]:
    """Return ``given`` when every name is declared and every value of its default's type.

    ``text_hint`` says, after what was given in place of text, how text is given.

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
            said = text_hint if isinstance(known[name].default, str) else ""
            raise BadInputError(f"parameter '{name}' is {expected}, not {value!r}{said}")
    return dict(given)


def _fits(value: Any, default: Any) -> bool:
    if default is None:
        return True
    if isinstance(default, float):
        return type(value) in (int, float)
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
        case float():
            return "a number"
        case list():
            return f"a list of one or more items, each {_kind(default[0])}"
        case _:
            return "text"
