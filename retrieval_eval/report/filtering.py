"""A part of a run: which trials pass a condition, and the documents of these trials alone."""

from __future__ import annotations

import ast
import difflib
import operator
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Union

from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.agents.runs.comparison import relabelled
from retrieval_eval.agents.runs.layout import EVENTS_SUFFIX
from retrieval_eval.agents.runs.summary import run_summary
from retrieval_eval.agents.study import impact_analysis
from retrieval_eval.agents.study.stated import kept_design
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.io.remote import Place
from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.model.summary import RunSummary
from retrieval_eval.report.documents import TrialFiles
from retrieval_eval.values import DEFAULT_SEED, counted

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.report.run import Run

# Conditions on columns, as text: comparisons joined by and, or and not.

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
    retrieval_eval.report.filtering.UnreadableConditionError: "task.to_csv('a.csv')" is ...
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


# What passes, and the documents of it.

Condition = Union["pd.Series[Any]", Sequence[bool]]
Where = str | Callable[["pd.DataFrame"], Condition] | Condition
"""Which rows to keep: a query over the columns of their frame, such as ``run.trials``, a function
from that frame to True or False for every row, or these values themselves."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some trials of one or several runs, with the documents made of these trials alone.

    ``trials`` are those of each run in ``folders``, of which every one has some. ``n_all`` counts
    the trials there were, ``n_excluded`` the excluded folders: these are no trials, so that no
    condition can hold for one. ``page_folders`` are the folders of their pages among those of all.
    """

    folders: tuple[Path | Place, ...]
    summaries: tuple[RunSummary, ...]
    trials: tuple[tuple[TrialFiles, ...], ...]
    impact: ImpactAnalysis
    conditions: tuple[str, ...]
    n_all: int
    n_excluded: int
    page_folders: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """How many of how many trials are left, and the conditions."""
        n = sum(map(len, self.trials))
        return f"{n:,} of {self.n_all:,} trials, {', and '.join(self.conditions)}"

    @property
    def full_sentence(self) -> str:
        """The sentence, and what became of the excluded folders."""
        if not self.n_excluded:
            return self.sentence
        return f"{self.sentence}; {counted(self.n_excluded, 'excluded folder')} left out too"


def part_of(run: Run, where: Where) -> Part:
    """Return the trials of a run that pass a condition, summarised and analysed anew.

    The code is that of the evaluation, so the documents are those which these trials alone would
    have given; nothing is written.

    Raises
    ------
    BadInputError
        When the condition makes no sense, no trial passes it, or the metrics of one are missing.
    """
    kept = set(passing(run.trials, where))
    numbers = count()
    trials = [tuple(t for t in own if next(numbers) in kept) for own in run.trials_by_run]
    left = [i for i, own in enumerate(trials) if own]
    before = run.part
    summaries = tuple(_summary(run.summaries[i], trials[i]) for i in left)
    impact = _analysis(run.impact, [t for own in trials for t in own])
    return Part(
        tuple(run.folders[i] for i in left),
        summaries,
        tuple(trials[i] for i in left),
        impact,
        (*(before.conditions if before else ()), in_words(where)),
        before.n_all if before else len(run.trial_files),
        before.n_excluded if before else sum(len(summary.excluded) for summary in run.summaries),
        tuple(folder for place, folder in enumerate(run.trial_folders) if place in kept),
    )


def in_words(where: Where) -> str:
    """Return what a condition is, for the page: a query itself, of others their kind.

    Examples
    --------
    >>> in_words("reward > 0"), in_words(lambda trials: trials["reward"] > 0), in_words([True])
    ('where reward > 0', 'by a function', 'by a mask')
    """
    if isinstance(where, str):
        return f"where {visible(where, 160)}"
    return "by a function" if callable(where) else "by a mask"


@dataclass(frozen=True, slots=True)
class Rows:
    """What the rows of a frame are, as messages about conditions on them call them."""

    frame: str
    one: str
    many: str


TRIALS: Final = Rows("run.trials", "trial", "trials")


def passing(frame: pd.DataFrame, where: Where, rows: Rows = TRIALS) -> list[int]:
    """Return the places of the rows that pass; one of which that is not known does not.

    Raises
    ------
    BadInputError
        When the condition cannot be read, is not True or False for every row, or none passes it.
    """
    import pandas as pd

    if isinstance(where, str):
        found = _query(frame, where, rows)
    else:
        found = where(frame.copy()) if callable(where) else where
    values = _values(found, frame, rows)
    if len(values) != len(frame):
        raise BadInputError(f"the condition has {len(values)} values for {len(frame)} {rows.many}")
    known = pd.array(values)
    if not isinstance(known.dtype, pd.BooleanDtype):
        raise _not_boolean(getattr(found, "dtype", known.dtype), rows)
    kept = [place for place, value in enumerate(known) if value is not pd.NA and value]
    if not kept:
        raise BadInputError(
            f"no {rows.one} passes the condition: all {len(frame):,} {rows.many} are left out"
        )
    return kept


def _query(frame: pd.DataFrame, query: str, rows: Rows) -> Any:
    try:
        return evaluated(frame, query)
    except NoColumnError as error:
        close = difflib.get_close_matches(error.name, map(str, frame.columns), n=3)
        closest = f"; the closest: {', '.join(close)}" if close else ""
        raise BadInputError(
            f"the condition {visible(query, 160)!r} cannot be read: {rows.frame} has no column "
            f"{visible(error.name, 80)!r}{closest}"
        ) from None
    except Exception as error:  # noqa: BLE001  the text is at fault, also where pandas refuses it
        raise _unreadable(query, error, rows) from None


def _unreadable(query: str, error: object, rows: Rows) -> BadInputError:
    return BadInputError(
        f"the condition {visible(query, 160)!r} cannot be read: {visible(str(error), 200)}; a "
        f"name in it is a column of {rows.frame}, in backticks where it is no plain word, such "
        "as `ndcg@10` > 0.5; for anything else pass a function"
    )


def _values(found: Any, frame: pd.DataFrame, rows: Rows) -> list[Any]:
    """Return one value a row, those of a series by its index."""
    import numpy as np
    import pandas as pd

    if isinstance(found, pd.DataFrame):
        raise _not_boolean("a table; pass the condition itself, not the rows it chooses", rows)
    if isinstance(found, pd.Series) and len(found) == len(frame):
        if not found.index.is_unique or not found.index.isin(frame.index).all():
            raise BadInputError(
                f"the condition has another index than {rows.frame}; make it from {rows.frame}, or "
                f"pass its values as a list in the order of {rows.frame}"
            )
        found = found.reindex(frame.index)
    kinds = (list, tuple, np.ndarray, pd.Series, pd.api.extensions.ExtensionArray)
    if not isinstance(found, kinds):
        raise _not_boolean(type(found).__name__, rows)
    return list(found)


def _not_boolean(what: object, rows: Rows) -> BadInputError:
    return BadInputError(f"a condition gives True or False for every {rows.one}, not {what}")


def _summary(summary: RunSummary, trials: Sequence[TrialFiles]) -> RunSummary:
    rows = [(t.entry.events_file.removesuffix(EVENTS_SUFFIX), _metrics(t)) for t in trials]
    cutoffs = summary.parameters.get("k_values", ())
    return run_summary(summary.run_id, rows, (), cutoffs, generated_at=summary.generated_at)


def _analysis(impact: ImpactAnalysis, trials: Sequence[TrialFiles]) -> ImpactAnalysis:
    """Return the impact analysis over some trials, with the seed of that over all of them."""
    return impact_analysis(
        [_metrics(trial) for trial in trials],
        seed=impact.parameters.get("seed", DEFAULT_SEED),
        design=kept_design(impact),
        generated_at=impact.generated_at,
    )


def _metrics(trial: TrialFiles) -> TrialMetrics:
    """Return the metrics of a trial under the name that its config has in the run."""
    if trial.metrics is None:
        raise BadInputError(f"{trial.entry.metrics_file} is missing; evaluate the run again")
    return relabelled(trial.metrics, trial.entry.config_name)
