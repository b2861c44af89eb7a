"""Conditions on columns, as text: comparisons joined by and, or and not.

Conditions come with shared parameters, so that they are hostile input: pandas would call anything
that a text names. Each is read into a syntax tree, of which only comparisons of columns with
numbers, texts, lists of them and other columns are worked out. Anything else is a line in a
notebook.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd

LONGEST: Final = 4_000
"""Characters of a condition, which bound its depth, its constants and its lists."""

_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_LEXEME: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`([^`]*)`""")


class UnreadableConditionError(ValueError):
    """A condition is not in the language."""


class NoColumnError(UnreadableConditionError):
    """A name is that of no column."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no column {name!r}")
        self.name = name


def evaluated(frame: pd.DataFrame, condition: str) -> Any:
    """Return what a condition is for each row of a frame.

    Names in backticks are columns, and ``==`` or ``in`` with a list means any of its values.

    Raises
    ------
    UnreadableConditionError
        When the condition is not in the language. Errors of values, as of a text compared with a
        number, are those of pandas.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"ndcg@10": [0.2, 0.7], "task": ["a", "b"]})
    >>> list(evaluated(frame, "`ndcg@10` > 0.5 and task in ['a', 'b']"))
    [False, True]
    >>> evaluated(frame, "task.to_csv('a.csv') == 1")
    Traceback (most recent call last):
    retrieval_eval.report.conditions.UnreadableConditionError: "task.to_csv('a.csv')" is ...
    """
    if len(condition) > LONGEST:
        raise UnreadableConditionError(f"it has more than {LONGEST:,} characters")
    quoted: list[str] = []

    def plain(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        quoted.append(found[1])
        return f" _column_{len(quoted) - 1} "

    text = _LEXEME.sub(plain, condition).strip()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        tree = ast.parse(text, mode="eval").body
    return _Evaluation(frame, {f"_column_{n}": name for n, name in enumerate(quoted)}).truth(tree)


class _Evaluation:
    """The values of the nodes of one condition: columns, numbers, texts and lists of them."""

    def __init__(self, frame: pd.DataFrame, quoted: dict[str, str]) -> None:
        self.frame = frame
        self.quoted = quoted

    def truth(self, node: ast.expr) -> Any:
        match node:
            case ast.BoolOp(op=op, values=parts):
                both = operator.and_ if isinstance(op, ast.And) else operator.or_
                return reduce(both, map(self.truth, parts))
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return ~self.truth(part)
            case ast.Compare(left=left, ops=ops, comparators=rest):
                sides = pairwise([self._value(part) for part in (left, *rest)])
                return reduce(operator.and_, map(_compared, ops, sides))
            case ast.Name(id=name):
                return self._column(self.quoted.get(name, name))
        raise UnreadableConditionError(f"{self._shown(node)!r} compares no column")

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self._column(self.quoted.get(node.id, node.id))
        items = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        found = []
        for item in items:
            with suppress(ValueError):
                value = ast.literal_eval(item)
                if isinstance(value, bool | int | float | str):
                    found.append(value)
                    continue
            raise UnreadableConditionError(f"{self._shown(node)!r} is no column, number or text")
        return found if isinstance(node, ast.List | ast.Tuple) else found[0]

    def _shown(self, node: ast.expr) -> str:
        text = ast.unparse(node)
        for placeholder, name in self.quoted.items():
            text = text.replace(placeholder, f"`{name}`")
        return text[:80]

    def _column(self, name: str) -> pd.Series[Any]:
        if name not in self.frame.columns:
            raise NoColumnError(name)
        return self.frame[name]


def _compared(op: ast.cmpop, sides: tuple[Any, Any]) -> Any:
    import pandas as pd

    left, right = sides
    if isinstance(op, ast.In | ast.NotIn) or isinstance(right, list):
        if not isinstance(left, pd.Series) or not isinstance(right, list):
            raise UnreadableConditionError("a list is compared with a column on its left")
        if isinstance(op, ast.In | ast.Eq):
            return left.isin(right)
        if isinstance(op, ast.NotIn | ast.NotEq):
            return ~left.isin(right)
    if type(op) not in _COMPARISONS or not any(isinstance(side, pd.Series) for side in sides):
        raise UnreadableConditionError("a comparison is ==, !=, <, <=, >, >= or in, of a column")
    return _COMPARISONS[type(op)](left, right)
