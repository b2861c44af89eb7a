"""What a user states of a design: ``study.toml``, a mapping, or arguments that override it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, get_args

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.trials import MCP, Trial
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import encodable, made_visible, visible
from retrieval_eval.io.files import decode_toml, is_there
from retrieval_eval.io.user_files import read_user_text
from retrieval_eval.model.design import (
    DESIGN_FILE,
    PROJECT_FILE,
    Clustering,
    Design,
    Family,
    Missing,
    Role,
)
from retrieval_eval.model.impact import ImpactAnalysis

ALPHA: Final = 0.05
"""The level of the test, where none is stated."""

HEADLINE: Final = "file_recall"
"""The metric of the verdict, where none is stated."""

ARGUMENT: Final = "argument"

UNCLEAR: Final = "unclear: "
"""Begins the source of an arm whose role cannot be inferred."""

SECTION: Final = "study"
"""The section of a project file that states a design."""

Scale = tuple[float, float]


@dataclass(frozen=True, slots=True)
class StatedArm:
    """What is stated of a configuration; None is inferred.

    Where any of the three lists is stated, those that are not are empty.
    """

    role: Role | None = None
    must_use: tuple[str, ...] | None = None
    may_use: tuple[str, ...] | None = None
    must_not_use: tuple[str, ...] | None = None
    source: str = ARGUMENT

    @property
    def names_tools(self) -> bool:
        """Whether any list of tools is stated."""
        return not self.must_use is self.may_use is self.must_not_use is None


@dataclass(frozen=True, slots=True)
class Stated:
    """What is stated of a design; the rest is inferred.

    ``arms`` are by configuration, ``reward_scale`` by suite (None: the scale is not known), and
    ``sources`` say by field where it was stated. With ``is_checked`` it was :func:`checked` with
    all trials of a study; parts of them may then lack what it names.
    """

    arms: Mapping[str, StatedArm] = field(default_factory=dict)
    cluster: Clustering | None = None
    missing: Missing | None = None
    reward_scale: Mapping[str, Scale | None] = field(default_factory=dict)
    headline: str | None = None
    margin: float | None = None
    alpha: float | None = None
    family: Family | None = None
    is_sequential: bool | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    is_checked: bool = False

    @property
    def level(self) -> float:
        """The level of the test, stated or not."""
        return ALPHA if self.alpha is None else self.alpha

    @property
    def values(self) -> dict[str, Any]:
        """Every value that is stated, without the arms."""
        every = {name: getattr(self, name) for name in _FIELDS}
        return {name: value for name, value in every.items() if value not in (None, {})}

    @property
    def mcp_configs(self) -> tuple[str, ...]:
        """The configurations that are stated to use MCP."""
        return tuple(c for c, arm in self.arms.items() if MCP in (arm.must_use or ()))

    def to_json(self) -> dict[str, Any]:
        """Return what is stated as :func:`stated_from` reads it, and where."""
        arms = {
            config: {n: list(v) if isinstance(v, tuple) else v for n, v in _members(arm).items()}
            for config, arm in self.arms.items()
        }
        scale = {s: UNKNOWN if v is None else list(v) for s, v in self.reward_scale.items()}
        values = self.values | ({"reward_scale": scale} if scale else {})
        sources = dict(self.sources) | {f"arms.{c}": arm.source for c, arm in self.arms.items()}
        return values | ({"arms": arms} if arms else {}) | {"sources": sources}

    def overridden(self, **values: Any) -> Stated:
        """Return the same with the values that are not None, stated as arguments."""
        given = {name: value for name, value in values.items() if value is not None}
        found = _read(given, ARGUMENT)
        return replace(
            self,
            **{name: getattr(found, name) for name in given},
            sources={**self.sources, **found.sources},
        )

    def with_headline(self, name: str) -> Stated:
        """Return the same with another metric of the verdict, also one that is not registered."""
        return replace(self, headline=name, sources={**self.sources, "headline": ARGUMENT})

    @property
    def pair(self) -> tuple[str, str] | None:
        """The baseline and the comparison, where exactly two configurations are stated.

        The control is the baseline, else the one that is stated first.
        """
        if len(self.arms) != 2:
            return None
        first, second = self.arms
        is_swapped = self.arms[second].role == "control" and self.arms[first].role != "control"
        return (second, first) if is_swapped else (first, second)

    def with_mcp(self, mcp_configs: Collection[str] | None, configs: Sequence[str]) -> Stated:
        """Return the same with some of all configurations meant to use MCP, the others not to."""
        if mcp_configs is None:
            return self
        arms = dict(self.arms)
        meant = {encodable(config) for config in mcp_configs}
        for config in map(encodable, configs):
            own = arms.get(config, StatedArm())
            name = "must_use" if config in meant else "must_not_use"
            lists = {
                other: tuple(tool for tool in getattr(own, other) or () if tool != MCP)
                for other in _LISTS
            }
            lists[name] = (MCP, *lists[name])
            is_mixed = config in arms and own.source != ARGUMENT
            arms[config] = StatedArm(
                source=f"{own.source} and {ARGUMENT}" if is_mixed else ARGUMENT,
                role="treatment" if config in meant else "control",
                must_use=lists["must_use"],
                may_use=lists["may_use"],
                must_not_use=lists["must_not_use"],
            )
        return replace(self, arms=arms)


Given = str | Path | Mapping[str, Any] | Design | Stated | None
"""A file, its content, a design, or nothing."""

UNKNOWN: Final = "unknown"
"""The scale of rewards in a file, where it is not known."""

_FIELDS: Final = tuple(
    f.name for f in fields(Stated) if f.name not in ("arms", "sources", "is_checked")
)
_LISTS: Final = ("must_use", "may_use", "must_not_use")


def _members(arm: StatedArm) -> dict[str, Any]:
    every = {name: getattr(arm, name) for name in ("role", *_LISTS)}
    return {name: value for name, value in every.items() if value is not None}


def stated_from(given: Given) -> Stated:
    """Return what a file, a mapping or a design states.

    Parameters
    ----------
    given
        The path of a ``study.toml``, or of a project file with a section ``study``; its text (which
        holds a line end); the same as a mapping; or a
        :class:`~retrieval_eval.model.design.Design`, every part of which is then stated
        but the arms whose role was unclear.

    Raises
    ------
    BadInputError
        When the file cannot be read, or a key or value makes no sense; the message names the file,
        the key and the closest there are.

    Examples
    --------
    >>> stated = stated_from({"alpha": 0.1, "arms": {"new": {"must_use": ["mcp"]}}})
    >>> stated.alpha, stated.arms["new"].must_use
    (0.1, ('mcp',))
    >>> stated_from({"aplha": 0.1})
    Traceback (most recent call last):
    retrieval_eval.errors.BadInputError: design: unknown key 'aplha'; closest: alpha
    """
    match given:
        case None:
            return Stated()
        case Stated():
            return given
        case Design():
            return _of_design(given)
        case Mapping():
            return _read(given, ARGUMENT)
        case str() if "\n" in given:
            return _read(_decoded(given, "design"), ARGUMENT)
        case str() | Path():
            path = Path(given)
            values = _decoded(read_user_text(path), visible(path))
            where = visible(path)
            if path.name == PROJECT_FILE:
                where = f"{where}: {SECTION}"
                values = dict(_table(values.get(SECTION, {}), where))
            return _read(values, visible(path.name), where)
    raise BadInputError(
        f"a design is the path of a {DESIGN_FILE}, a mapping or a Design, "
        f"not {type(given).__name__}"
    )


def _decoded(text: str, name: str) -> dict[str, Any]:
    values, problem = decode_toml(text)
    if problem is not None:
        raise BadInputError(f"{name}: {visible(problem, 200)}")
    return values


def _of_design(design: Design) -> Stated:
    names = (name for name in _FIELDS if getattr(design, name) is not None)
    return Stated(
        arms={
            encodable(arm.config_name): StatedArm(
                role=arm.role,
                must_use=arm.must_use,
                may_use=arm.may_use,
                must_not_use=arm.must_not_use,
            )
            for side, arm in zip(("baseline", "comparison"), design.arms, strict=True)
            if not design.sources.get(side, "").startswith(UNCLEAR)
        },
        **{name: getattr(design, name) for name in names},
        sources=dict.fromkeys(_FIELDS, ARGUMENT),
    )


def design_beside(folders: Iterable[Path]) -> Path | None:
    """Return the file that states a design in the first of some folders that has one.

    It is the project file with a section ``study``, else ``study.toml``.
    """
    for folder in folders:
        project = folder / PROJECT_FILE
        if is_there(project) and SECTION in _decoded(read_user_text(project), visible(project)):
            return project
        if is_there(folder / DESIGN_FILE):
            return folder / DESIGN_FILE
    return None


def kept_design(impact: ImpactAnalysis) -> Stated:
    """Return what was stated of the design of an impact analysis, as its parameters say."""
    kept = impact.parameters.get("design")
    if isinstance(kept, Mapping):
        return replace(stated_from(kept), is_checked=True)
    # Earlier versions kept only the configurations that were stated to use MCP.
    sides = {
        c for found in impact.comparisons for c in (found.baseline_config, found.comparison_config)
    }
    stated = Stated().with_mcp(impact.parameters.get("mcp_configs"), sorted(sides))
    return replace(stated, is_checked=True)


# Reading


def _read(given: Mapping[str, Any], source: str, where: str = "design") -> Stated:
    """Return what a mapping states; ``source`` is the name of its file, or that there is none.

    Messages begin with ``where``.
    """
    given = {name: value for name, value in given.items() if value is not None}
    sources: Mapping[str, str] = {}
    if source == ARGUMENT:
        # A design that is read back from a document has its sources.
        sources = _table(given.pop("sources", {}), f"{where}: sources")
    _refuse_unknown(given, (*_FIELDS, "arms", "unit"), where)
    if given.get("unit", "task") != "task":
        raise BadInputError(f"{where}: unit is 'task' in every study, not {given['unit']!r}")
    values = {
        name: _READERS[name](given[name], f"{where}: {name}") for name in _FIELDS if name in given
    }
    arms = given.get("arms", {})
    if source == ARGUMENT and isinstance(arms, list | tuple):
        arms = {arm.get("config_name"): arm for arm in arms if isinstance(arm, Mapping)}
    return Stated(
        arms={
            encodable(str(config)): _arm(
                arm, f"{where}: arms.{visible(config)}", sources.get(f"arms.{config}", source)
            )
            for config, arm in _table(arms, f"{where}: arms").items()
        },
        **values,
        sources={name: sources.get(name, source) for name in values},
    )


def _arm(given: Any, where: str, source: str) -> StatedArm:
    given = {name: value for name, value in _table(given, where).items() if value is not None}
    given.pop("config_name", None)
    _refuse_unknown(given, ("role", *_LISTS), where)
    role = _choice(Role)(given["role"], f"{where}.role") if "role" in given else None
    lists = {name: _tools(given[name], f"{where}.{name}") for name in _LISTS if name in given}
    for tool in lists.get("must_not_use", ()):
        for name in ("must_use", "may_use"):
            if tool in lists.get(name, ()):
                raise BadInputError(f"{where}: {tool!r} is in {name} and in must_not_use")
    return StatedArm(role=role, **lists, source=source)


def _table(given: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise BadInputError(f"{where}: expected a table, got {_shown(given)}")
    return given


def _tools(given: Any, where: str) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(
        isinstance(name, str) and name for name in given
    ):
        raise BadInputError(
            f'{where}: expected a list of names such as ["mcp"], got {_shown(given)}'
        )
    return tuple(dict.fromkeys(map(encodable, given)))


def _choice(kind: Any) -> Callable[[Any, str], Any]:
    names = get_args(kind)

    def read(given: Any, where: str) -> Any:
        if not isinstance(given, str) or given not in names:
            raise BadInputError(f"{where}: expected one of {', '.join(names)}, got {_shown(given)}")
        return given

    return read


def _headline(given: Any, where: str) -> str:
    if not isinstance(given, str):
        raise BadInputError(f"{where}: expected the name of a metric, got {_shown(given)}")
    if given not in BY_NAME:
        raise BadInputError(f"{where}: {given!r} is no metric; {_closest(given, BY_NAME)}")
    return given


def _number(given: Any, where: str, what: str) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise BadInputError(f"{where}: expected {what}, got {_shown(given)}")
    try:
        number = float(given)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadInputError(f"{where}: expected {what}, got {_shown(given)}")
    return number


def _alpha(given: Any, where: str) -> float:
    number = _number(given, where, "a number between 0 and 0.5")
    if not 0 < number < 0.5:
        raise BadInputError(f"{where}: expected a number between 0 and 0.5, got {_shown(given)}")
    return number


def _margin(given: Any, where: str) -> float:
    number = _number(given, where, "a number above 0")
    if number <= 0:
        raise BadInputError(f"{where}: expected a number above 0, got {_shown(given)}")
    return number


def _truth(given: Any, where: str) -> bool:
    if not isinstance(given, bool):
        raise BadInputError(f"{where}: expected true or false, got {_shown(given)}")
    return given


def _scales(given: Any, where: str) -> dict[str, Scale | None]:
    found: dict[str, Scale | None] = {}
    what = f'[lowest, highest] or "{UNKNOWN}"'
    for suite, ends in _table(given, where).items():
        place = f"{where}.{visible(suite)}"
        if ends is None or ends == UNKNOWN:
            found[encodable(suite)] = None
            continue
        if not isinstance(ends, list | tuple) or len(ends) != 2:
            raise BadInputError(f"{place}: expected {what}, got {_shown(ends)}")
        low, high = (_number(end, place, what) for end in ends)
        if not low < high or not math.isfinite(high - low):
            raise BadInputError(f"{place}: expected {what}, got {_shown(ends)}")
        found[encodable(suite)] = (low, high)
    return found


_READERS: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "cluster": _choice(Clustering),
    "missing": _choice(Missing),
    "reward_scale": _scales,
    "headline": _headline,
    "margin": _margin,
    "alpha": _alpha,
    "family": _choice(Family),
    "is_sequential": _truth,
}


def _refuse_unknown(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in given:
        if name not in known:
            raise BadInputError(
                f"{where}: unknown key {visible(name, 60)!r}; {_closest(str(name), known)}"
            )


def _closest(name: str, known: Collection[str], what: str = "there are") -> str:
    """Return the names closest to one that is unknown, or all of them."""
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    shown = ", ".join(visible(n, 80) for n in near or sorted(known)[:_MOST_NAMED])
    if near:
        return f"closest: {shown}"
    return f"{what}: {shown}" if shown else "there is none"


def _shown(value: Any) -> str:
    return visible(repr(value), 60)


_MOST_NAMED: Final = 12

# Writing


def toml_of(stated: Stated) -> str:
    """Return what is stated as text that :func:`stated_from` reads, with its sources.

    Examples
    --------
    >>> text = toml_of(Stated(alpha=0.1, arms={"new": StatedArm(must_use=("mcp",))}))
    >>> stated_from(text).arms["new"].must_use
    ('mcp',)
    """
    lines = [f"{n} = {_toml(v)}" for n, v in stated.values.items() if n != "reward_scale"]
    if stated.reward_scale:
        lines += ["", "[reward_scale]"]
        lines += [f"{_text(s)} = {_toml(e or UNKNOWN)}" for s, e in stated.reward_scale.items()]
    for config, arm in stated.arms.items():
        lines += ["", f"[arms.{_text(config)}]"]
        lines += [f"{name} = {_toml(value)}" for name, value in _members(arm).items()]
    sources = stated.to_json()["sources"]
    lines += ["", "[sources]", *(f"{_text(n)} = {_text(source)}" for n, source in sources.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
    return repr(value)


def _text(value: str) -> str:
    """Return text as a quoted TOML string; every character that does not show is escaped."""
    escaped = encodable(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{made_visible(escaped, _toml_escape)}"'


def _toml_escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# Against the trials

_ALIKE: Final = 0.75
"""A name that is this much like another, whatever the case, is taken as a spelling mistake."""


def checked(
    stated: Stated, trials: Sequence[Trial], configs: Collection[str] | None = None
) -> Stated:
    """Return what is stated with configurations as the trials name them.

    A configuration that several runs have (``mcp@run``) may be named with its run or without.
    ``configs`` are all configurations there are, where the trials are of some of them; what is
    stated of the others is left out.

    Raises
    ------
    BadInputError
        When a configuration, suite or tool is not in the trials, or no task states the repository
        that is to be its cluster; the message names the closest. When the margin holds every
        difference that the metric can have.
    """
    there = sorted({encodable(trial.config_name) for trial in trials})
    known = sorted({*there, *map(encodable, configs or ())})
    names = {*known, *filter(None, (config.rpartition("@")[0] for config in known))}
    arms: dict[str, StatedArm] = {}
    for name, arm in stated.arms.items():
        if name not in names and not stated.is_checked:
            raise BadInputError(
                f"{_place(arm.source)}: no configuration {visible(name, 80)!r}; "
                f"{_closest(name, known)}"
            )
        own = [name] if name in there else [c for c in there if c.rpartition("@")[0] == name]
        if own and not stated.is_checked:
            _check_tools(arm, visible(name, 80), trials)
        arms |= {config: arm for config in own if config == name or config not in stated.arms}
    suites = {encodable(trial.benchmark) for trial in trials}
    for suite in stated.reward_scale:
        if suite not in suites and not stated.is_checked:
            raise BadInputError(
                f"{_place(stated.sources.get('reward_scale', ARGUMENT))}: reward_scale: no suite "
                f"{visible(suite, 80)!r}; {_closest(suite, suites)}"
            )
    if stated.margin is not None and not stated.is_checked:
        metric = BY_NAME.get(stated.headline or HEADLINE)
        if metric is not None and metric.unit == "share" and stated.margin >= 1:
            raise BadInputError(
                f"{_place(stated.sources.get('margin', ARGUMENT))}: margin: {metric.label} lies "
                f"between 0 and 1, so a margin of {stated.margin:g} holds every difference"
            )
    is_by_repository = stated.cluster == "repository" and not stated.is_checked
    if is_by_repository and not any(trial.repositories for trial in trials):
        raise BadInputError(
            f"{_place(stated.sources.get('cluster', ARGUMENT))}: cluster: no task states its "
            "repository; choose suite or task"
        )
    return replace(stated, arms=arms, is_checked=True)


def _place(source: str) -> str:
    return "design" if source == ARGUMENT else source


def _check_tools(arm: StatedArm, config: str, trials: Sequence[Trial]) -> None:
    """Refuse tools that are unknown.

    A tool that an arm must or may use has to be called in some trial of some arm. One that it must
    not use need not be, but a name that is almost that of a called tool is a mistake.
    """
    called = {name for trial in trials for name in (*trial.tools, *trial.mcp_servers)}
    if not called:
        return  # documents that do not list tools
    known = {*called, MCP}
    for name in _LISTS:
        for tool in getattr(arm, name) or ():
            if tool in known:
                continue
            if name == "must_not_use" and not get_close_matches(
                tool.casefold(), {k.casefold() for k in known}, n=1, cutoff=_ALIKE
            ):
                continue
            raise BadInputError(
                f"{_place(arm.source)}: arms.{config}.{name}: no trial called a tool or MCP "
                f"server {visible(tool, 80)!r}; {_closest(tool, known, 'called were')}"
            )
