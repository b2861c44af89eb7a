"""The language of conditions: columns compared, counted with, and given to a few methods.

Conditions come with shared parameter sets, so that they are hostile input. Each is read into a
syntax tree of which every node must be on a list, and is then worked out here and nowhere else:
pandas would call anything that a text names. No operation gives more than a column of the length of
the frame, and none makes texts longer, so that time and memory grow with the length of the
condition times that of the frame.
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

LONGEST_PATTERN: Final = 200

TEXT_METHODS: Final = frozenset(
    {"contains", "startswith", "endswith", "lower", "upper", "strip", "len"}
)
NUMBER_METHODS: Final = frozenset(
    {"abs", "round", "min", "max", "mean", "median", "std", "sum", "quantile"}
)
METHODS: Final = frozenset(
    {
        *("isin", "isna", "isnull", "notna", "notnull", "fillna", "between", "count", "rank"),
        *("eq", "ne", "lt", "le", "gt", "ge"),
    }
)
FUNCTIONS: Final = frozenset(
    {"abs", "ceil", "exp", "expm1", "floor", "log", "log10", "log1p", "sqrt"}
)
OPTIONS: Final = frozenset(
    {
        *("case", "na", "regex", "inclusive", "decimals", "ddof", "pct", "ascending", "method"),
        *("q", "pat", "value", "values", "other", "left", "right"),
    }
)
_ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_LEXEME: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`([^`]*)`|[&|]""")
_COSTLY: Final = re.compile(r"[*+?{(]")
"""What can make the time of a pattern exponential, or quadratic: repetitions and groups."""


class UnreadableConditionError(ValueError):
    """A condition is not in the language."""


class NoColumnError(UnreadableConditionError):
    """A name is that of no column."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no column {name!r}")
        self.name = name


def evaluated(frame: pd.DataFrame, condition: str) -> Any:
    """Return what a condition is for each row of a frame.

    As in pandas, names in backticks are columns, ``&`` and ``|`` bind like ``and`` and ``or``, and
    ``==`` with a list means any of its values.

    Raises
    ------
    UnreadableConditionError
        When the condition is not in the language. Errors of values, as of a text compared with a
        number, are those of pandas.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"ndcg@10": [0.2, 0.7], "task": ["a", "b"]})
    >>> list(evaluated(frame, "`ndcg@10` > 0.5 & task == ['a', 'b']"))
    [False, True]
    >>> evaluated(frame, "task.to_csv('a.csv') == 1")
    Traceback (most recent call last):
    retrieval_eval.report.conditions.UnreadableConditionError: to_csv is no method of a condition
    """
    import numpy as np

    if len(condition) > LONGEST:
        raise UnreadableConditionError(f"it has more than {LONGEST:,} characters")
    quoted: list[str] = []

    def plain(found: re.Match[str]) -> str:
        if found[0] in ("&", "|"):
            return " and " if found[0] == "&" else " or "
        if found[1] is None:
            return found[0]
        quoted.append(found[1])
        return f" _column_{len(quoted) - 1} "

    text = _LEXEME.sub(plain, condition).strip()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        tree = ast.parse(text, mode="eval").body
        columns = {f"_column_{n}": name for n, name in enumerate(quoted)}
        return _Evaluation(frame, columns).value(tree)


class _Evaluation:
    """The values of the nodes of one condition: columns, single values and lists of constants."""

    def __init__(self, frame: pd.DataFrame, quoted: dict[str, str]) -> None:
        self.frame = frame
        self.quoted = quoted

    def value(self, node: ast.expr) -> Any:
        import pandas as pd

        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None):
                return node.value
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [_constant(item) for item in items]
            case ast.Name(id=name):
                return self._column(self.quoted.get(name, name))
            case ast.BoolOp(op=op, values=parts):
                both = operator.and_ if isinstance(op, ast.And) else operator.or_
                return reduce(both, map(self._truth, parts))
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=part):
                found = self._truth(part)
                return ~found if isinstance(found, pd.Series) else not found
            case ast.UnaryOp(op=sign, operand=part):
                number = self._number(part)
                return -number if isinstance(sign, ast.USub) else number
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return _ARITHMETIC[type(op)](self._number(left), self._number(right))
            case ast.Compare(left=left, ops=ops, comparators=rest):
                sides = pairwise([self.value(part) for part in (left, *rest)])
                return reduce(operator.and_, map(_compared, ops, sides))
            case ast.Call(func=ast.Attribute(value=of, attr=name)):
                return self._called(of, name, node)
            case ast.Call(func=ast.Name(id=name), args=[part], keywords=[]) if name in FUNCTIONS:
                import numpy as np

                return getattr(np, name)(self._number(part))
        raise UnreadableConditionError(f"{self._shown(node)!r} is not allowed in a condition")

    def _shown(self, node: ast.expr) -> str:
        text = ast.unparse(node)
        for placeholder, name in self.quoted.items():
            text = text.replace(placeholder, f"`{name}`")
        return text[:80]

    def _column(self, name: str) -> pd.Series[Any]:
        if name not in self.frame.columns:
            raise NoColumnError(name)
        return self.frame[name]

    def _truth(self, node: ast.expr) -> Any:
        import pandas as pd

        found = self.value(node)
        if isinstance(found, pd.Series) or pd.api.types.is_bool(found):
            return found
        raise UnreadableConditionError(f"{self._shown(node)!r} is neither True nor False")

    def _number(self, node: ast.expr) -> Any:
        """Return numbers; texts and lists would be repeated by ``*`` and laid out by ``%``."""
        import pandas as pd

        found = self.value(node)
        is_column = isinstance(found, pd.Series)
        if pd.api.types.is_numeric_dtype(found) if is_column else _is_number(found):
            return found
        raise UnreadableConditionError(f"{self._shown(node)!r} is no number")

    def _called(self, of: ast.expr, name: str, call: ast.Call) -> Any:
        import pandas as pd

        is_text = isinstance(of, ast.Attribute) and of.attr == "str"
        if name not in (TEXT_METHODS if is_text else METHODS | NUMBER_METHODS):
            raise UnreadableConditionError(f"{name} is no method of a condition")
        if isinstance(of, ast.Attribute) and is_text:
            of = of.value
        column = self._number(of) if not is_text and name in NUMBER_METHODS else self.value(of)
        if not isinstance(column, pd.Series):
            raise UnreadableConditionError(f"{name} is a method of columns")
        if len(call.args) > (2 if name == "between" else 1):
            raise UnreadableConditionError(f"{name} has too many arguments")
        options = {}
        for option in call.keywords:
            if option.arg not in OPTIONS:
                raise UnreadableConditionError(f"{name} has no option {option.arg} in a condition")
            options[option.arg] = self.value(option.value)
        values = [*map(self.value, call.args)]
        given = (*values, *options.values())
        if name not in METHODS and any(isinstance(value, pd.Series) for value in given):
            raise UnreadableConditionError(f"{name} takes no column")
        if name != "isin" and any(isinstance(value, list) for value in given):
            raise UnreadableConditionError(f"{name} takes no list")
        if name == "round" and any(not 0 <= decimals <= 15 for decimals in given):
            raise UnreadableConditionError("round has 0 to 15 decimals")
        if name == "contains" and options.get("regex", True) is not False:
            for pattern in given:
                _check_pattern(pattern)
        return getattr(column.str if is_text else column, name)(*values, **options)


def _constant(node: ast.expr) -> Any:
    with suppress(ValueError):
        found = ast.literal_eval(node)
        if found is None or isinstance(found, str) or _is_number(found):
            return found
    raise UnreadableConditionError("a list holds texts and numbers")


def _is_number(value: Any) -> bool:
    import pandas as pd

    return value is pd.NA or (pd.api.types.is_number(value) and not isinstance(value, complex))


def _compared(op: ast.cmpop, sides: tuple[Any, Any]) -> Any:
    import pandas as pd

    left, right = sides
    if isinstance(op, ast.In | ast.NotIn) or isinstance(right, list):
        if not isinstance(left, pd.Series) or not isinstance(right, list | pd.Series):
            raise UnreadableConditionError("a list is compared with a column on its left")
        if isinstance(op, ast.In | ast.Eq):
            return left.isin(right)
        if isinstance(op, ast.NotIn | ast.NotEq):
            return ~left.isin(right)
    if type(op) not in _COMPARISONS:
        raise UnreadableConditionError("'is' compares no columns; use == or isna()")
    return _COMPARISONS[type(op)](left, right)


def _check_pattern(pattern: Any) -> None:
    if not isinstance(pattern, str):
        return
    if len(pattern) > LONGEST_PATTERN:
        raise UnreadableConditionError(f"a pattern has more than {LONGEST_PATTERN} characters")
    if found := _COSTLY.search(pattern):
        raise UnreadableConditionError(
            f"{found[0]} in a pattern may take without end; add regex=False where it is plain text"
        )
