"""What a user states of a study: its design (a file, a mapping, arguments) and its settings."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NoReturn, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, structs

from retrieval_eval.agents.metrics.catalog import BY_NAME, Metric
from retrieval_eval.agents.study.trials import MCP, VIEWED, Trial
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import encodable, visible
from retrieval_eval.io.files import decode, decode_toml, is_there
from retrieval_eval.io.user_files import read_user_text
from retrieval_eval.model import Record, to_builtins
from retrieval_eval.model.design import (
    DESIGN_FILE,
    PROJECT_FILE,
    Clustering,
    Family,
    Missing,
    Rewards,
    Role,
    Treatment,
)
from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.values import counted

ALPHA: Final = 0.05
"""The level of the test, where none is stated."""

HEADLINE: Final = "file_recall"
"""The metric of the verdict, where none is stated."""

ARGUMENT: Final = "argument"

SECTION: Final = "study"
"""The section of a project file that states a design."""

UNKNOWN: Final = "unknown"
"""The scale of rewards in a file, where it is not known."""

_LISTS: Final = ("must_use", "may_use", "must_not_use")

Finite = Annotated[float, Meta(ge=-1e300, le=1e300)]
Scale = tuple[Finite, Finite]
Tool = Annotated[str, Meta(min_length=1)]


class StatedArm(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is stated of a configuration; None is inferred.

    Where any of the three lists is stated, those that are not are empty.
    """

    role: Role | None = None
    must_use: tuple[Tool, ...] | None = None
    may_use: tuple[Tool, ...] | None = None
    must_not_use: tuple[Tool, ...] | None = None

    @property
    def names_tools(self) -> bool:
        """Whether any list of tools is stated."""
        return not self.must_use is self.may_use is self.must_not_use is None


class Statement(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The parts of a design that can be stated; None is inferred.

    ``arms`` are by configuration, ``reward_scale`` by suite (None: the scale is not known).
    """

    unit: Literal["task"] = "task"
    treatment: Treatment | None = None
    cluster: Clustering | None = None
    missing: Missing | None = None
    rewards: Rewards | None = None
    reward_scale: dict[str, Scale | None] = {}
    headline: str | None = None
    margin: Annotated[float, Meta(gt=0, le=1e300)] | None = None
    alpha: Annotated[float, Meta(gt=0, lt=0.5)] | None = None
    family: Family | None = None
    is_sequential: bool | None = None
    arms: dict[str, StatedArm] = {}


_FIELDS: Final = tuple(n for n in Statement.__struct_fields__ if n not in ("unit", "arms"))


class Stated(Statement, frozen=True, omit_defaults=True):
    """What is stated of a design, and where.

    ``sources`` say by field, and by ``arms.…``, where it was stated. With ``is_checked`` it was
    :func:`checked` with all trials of a study; parts of them may then lack what it names.
    """

    sources: dict[str, str] = {}
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

    def source(self, name: str) -> str:
        """Return where a field, or ``arms.…``, is stated."""
        return self.sources.get(name, ARGUMENT)

    def to_json(self) -> dict[str, Any]:
        """Return what is stated as :func:`stated_from` reads it, and where."""
        plain: dict[str, Any] = _written(msgspec.to_builtins(self))
        plain.pop("is_checked", None)
        scale = {s: UNKNOWN if v is None else v for s, v in plain.pop("reward_scale", {}).items()}
        return plain | ({"reward_scale": scale} if scale else {}) | {"sources": self.sources}

    def overridden(self, **values: Any) -> Stated:
        """Return the same with the values that are not None, stated as arguments."""
        given = {name: value for name, value in values.items() if value is not None}
        found = _read(given, ARGUMENT)
        changed = {name: getattr(found, name) for name in given}
        return structs.replace(self, **changed, sources=self.sources | found.sources)

    def with_headline(self, name: str) -> Stated:
        """Return the same with another metric of the verdict, also one that is not registered."""
        return structs.replace(self, headline=name, sources=self.sources | {"headline": ARGUMENT})

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
        arms, sources = dict(self.arms), dict(self.sources)
        meant = {encodable(config) for config in mcp_configs}
        for config in map(encodable, configs):
            own, place = arms.get(config, StatedArm()), f"arms.{config}"
            is_mixed = config in arms and self.source(place) != ARGUMENT
            sources[place] = f"{self.source(place)} and {ARGUMENT}" if is_mixed else ARGUMENT
            name = "must_use" if config in meant else "must_not_use"
            lists = {
                other: tuple(tool for tool in getattr(own, other) or () if tool != MCP)
                for other in _LISTS
            }
            lists[name] = (MCP, *lists[name])
            arms[config] = StatedArm("treatment" if config in meant else "control", **lists)
        return structs.replace(self, arms=arms, sources=sources)


Given = str | Path | Mapping[str, Any] | Stated | None
"""A file, its content, what was stated before, or nothing."""


def stated_from(given: Given) -> Stated:
    """Return what a file or a mapping states.

    Parameters
    ----------
    given
        The path of a ``study.toml``, or of a project file with a section ``study``; its text (which
        holds a line end), or JSON; or the same as a mapping.

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
        case Mapping():
            return _read(given, ARGUMENT)
        case str() if "\n" in given or given.startswith("{"):
            return _read(_decoded(given, "design"), ARGUMENT)
        case str() | Path():
            path = Path(given)
            values = _decoded(read_user_text(path), visible(path))
            where = visible(path)
            if path.name == PROJECT_FILE:
                where = f"{where}: {SECTION}"
                values = values.get(SECTION, {})
            return _read(values, visible(path.name), where)
    raise BadInputError(
        f"a design is the path of a {DESIGN_FILE} or a mapping, not {type(given).__name__}"
    )


def _decoded(text: str, name: str) -> dict[str, Any]:
    values, problem = decode(text) if text.startswith("{") else decode_toml(text)
    if problem is not None:
        raise BadInputError(f"{name}: {visible(problem, 200)}")
    return values


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
        return structs.replace(stated_from(kept), is_checked=True)
    # Earlier versions kept only the configurations that were stated to use MCP.
    sides = {
        c for found in impact.comparisons for c in (found.baseline_config, found.comparison_config)
    }
    stated = Stated().with_mcp(impact.parameters.get("mcp_configs"), sorted(sides))
    return structs.replace(stated, is_checked=True)


# Reading


def _read(given: Any, source: str, where: str = "design") -> Stated:
    """Return what a mapping states; ``source`` is the name of its file, or that there is none.

    Messages begin with ``where``.
    """
    given = dict(_converted(given, dict[str, Any], where))
    sources: dict[str, str] = {}
    if source == ARGUMENT:
        # What a document keeps of a design has its sources.
        sources = _converted(given.pop("sources", {}), dict[str, str], f"{where}: sources")
    given = {name: value for name, value in given.items() if value is not None}
    # One by one, so that messages name the configuration or suite.
    for name, kind in (("arms", StatedArm), ("reward_scale", Scale | None)):
        if name in given:
            place = f"{where}: {name}"
            members = _converted(given[name], dict[str, Any], place)
            given[name] = {
                key: _converted(None if own == UNKNOWN else own, kind, f"{place}.{visible(key)}")
                for key, own in members.items()
            }
    found: Statement = _converted(given, Statement, where)
    _check(found, where)
    fields = {name: getattr(found, name) for name in found.__struct_fields__}
    stated = [*(name for name in _FIELDS if name in given), *(f"arms.{c}" for c in found.arms)]
    return Stated(**fields, sources={name: sources.get(name, source) for name in stated})


def _check(found: Statement, where: str) -> None:
    """Refuse what types do not: unknown metrics, scales without width, tools in opposite lists."""
    if found.headline is not None and found.headline not in BY_NAME:
        raise BadInputError(
            f"{where}: headline: {visible(repr(found.headline), 60)} is no metric; "
            f"{_closest(found.headline, BY_NAME)}"
        )
    for suite, scale in found.reward_scale.items():
        if scale is not None and not scale[0] < scale[1]:
            raise BadInputError(
                f"{where}: reward_scale.{visible(suite)}: expected [lowest, highest] or "
                f'"{UNKNOWN}", got {list(scale)}'
            )
    for config, arm in found.arms.items():
        for name in ("must_use", "may_use"):
            for tool in {*(getattr(arm, name) or ())} & {*(arm.must_not_use or ())}:
                raise BadInputError(
                    f"{where}: arms.{visible(config)}: {visible(tool, 80)!r} is in {name} and in "
                    "must_not_use"
                )


def _converted(given: Any, kind: Any, where: str) -> Any:
    """Return a value as a type, its texts such that they can be written; messages name the key."""
    try:
        return msgspec.convert(_written(given), kind)
    except msgspec.ValidationError as error:
        text, _, path = visible(str(error), 200).partition(" - at `$")
    place = f": {path[:-1].lstrip('.')}" if path[:-1] else ""
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text):
        name, known = unknown[1], kind.__struct_fields__
        raise BadInputError(f"{where}{place}: unknown key {name!r}; {_closest(name, known)}")
    hint = get_type_hints(kind).get(path[1:-1]) if isinstance(kind, type(Statement)) else None
    kinds = [part for part in (hint, *get_args(hint)) if get_origin(part) is Literal]
    choices = [name for part in kinds for name in get_args(part)]
    more = f"; there are: {', '.join(choices)}" if choices else ""
    raise BadInputError(f"{where}{place}: {text[:1].lower()}{text[1:]}{more}")


def _written(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {encodable(str(name)): _written(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_written(member) for member in value]
    return encodable(value)


def _closest(name: str, known: Collection[str], what: str = "there are") -> str:
    """Return the names closest to one that is unknown, or all of them."""
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    shown = ", ".join(visible(n, 80) for n in near or sorted(known)[:_MOST_NAMED])
    if near:
        return f"closest: {shown}"
    return f"{what}: {shown}" if shown else "there is none"


_MOST_NAMED: Final = 12

# Writing


def text_of(stated: Stated) -> str:
    """Return what is stated as a line of JSON that :func:`stated_from` reads, with its sources.

    Examples
    --------
    >>> text = text_of(Stated(alpha=0.1, arms={"new": StatedArm(must_use=("mcp",))}))
    >>> stated_from(text).arms["new"].must_use
    ('mcp',)
    """
    # Half of a surrogate pair and what does not show are escaped.
    return json.dumps(stated.to_json()).replace("\x7f", "\\u007f")


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
        difference that the metric can have, or a trial has a reward where the design has none.
    """
    there = sorted({encodable(trial.config_name) for trial in trials})
    known = sorted({*there, *map(encodable, configs or ())})
    names = {*known, *filter(None, (config.rpartition("@")[0] for config in known))}
    arms: dict[str, StatedArm] = {}
    sources = dict(stated.sources)
    for name, arm in stated.arms.items():
        if name not in names and not stated.is_checked:
            _refuse(stated, f"arms.{name}", f"no configuration {visible(name, 80)!r}", name, known)
        own = [name] if name in there else [c for c in there if c.rpartition("@")[0] == name]
        if own and not stated.is_checked:
            _check_tools(stated, name, trials)
        for config in own:
            if config == name or config not in stated.arms:
                arms[config] = arm
                sources[f"arms.{config}"] = stated.source(f"arms.{name}")
    if not stated.is_checked:
        _check_values(stated, trials)
    kept = {f"arms.{config}" for config in arms}
    sources = {n: s for n, s in sources.items() if n in kept or not n.startswith("arms.")}
    return structs.replace(stated, arms=arms, sources=sources, is_checked=True)


def _check_values(stated: Stated, trials: Sequence[Trial]) -> None:
    suites = {encodable(trial.benchmark) for trial in trials}
    for suite in stated.reward_scale:
        if suite not in suites:
            what = f"reward_scale: no suite {visible(suite, 80)!r}"
            _refuse(stated, "reward_scale", what, suite, suites)
    metric = BY_NAME.get(stated.headline or HEADLINE)
    if metric is not None and metric.unit == "share" and (stated.margin or 0) >= 1:
        _refuse(
            stated,
            "margin",
            f"margin: {metric.label} lies between 0 and 1, so a margin of {stated.margin:g} holds "
            "every difference",
        )
    scored = [trial for trial in trials if "reward" in trial.numbers]
    if stated.rewards == "none" and scored:
        n = counted(len(scored), "trial")
        _refuse(stated, "rewards", f"rewards: none are stated, and {n} of {len(trials)} have one")
    if stated.cluster == "repository" and not any(trial.repositories for trial in trials):
        what = "cluster: no task states its repository; choose suite or task"
        _refuse(stated, "cluster", what)


def _refuse(
    stated: Stated,
    field: str,
    what: str,
    name: str = "",
    known: Collection[str] = (),
    there: str = "there are",
) -> NoReturn:
    place = stated.source(field)
    closest = f"; {_closest(name, known, there)}" if name else ""
    raise BadInputError(f"{'design' if place == ARGUMENT else place}: {what}{closest}")


def _check_tools(stated: Stated, config: str, trials: Sequence[Trial]) -> None:
    """Refuse tools that are unknown.

    A tool that an arm must or may use has to be called in some trial of some arm. One that it must
    not use need not be, but a name that is almost that of a called tool is a mistake.
    """
    called = {name for trial in trials for name in (*trial.tools, *trial.mcp_servers)}
    known = {*called, MCP}
    alike = {name.casefold() for name in known}
    for name in _LISTS if called else ():  # there are documents that do not list tools
        for tool in getattr(stated.arms[config], name) or ():
            is_near = get_close_matches(tool.casefold(), alike, n=1, cutoff=_ALIKE)
            if tool not in known and (name != "must_not_use" or is_near):
                what = f"arms.{visible(config, 80)}.{name}: no trial called a tool or MCP server "
                what += repr(visible(tool, 80))
                _refuse(stated, f"arms.{config}", what, tool, known, "called were")


# --------------------------------------------------------------------------------------------------
# The settings of a study.


@dataclass(frozen=True, slots=True)
class Settings:
    """Seed, number of resamples and coverage of every interval, and what the user stated.

    ``stated`` is the part of the design that is not inferred from the trials. ``view`` is what
    counts as retrieved in the metrics that depend on it; None is the default.
    """

    seed: int
    n_resamples: int = 10_000
    confidence: float = 1 - ALPHA
    stated: Stated = Stated()  # noqa: RUF009
    view: str | None = None

    @property
    def alpha(self) -> float:
        """The level of the test."""
        return self.stated.level

    def column(self, metric: Metric, view: str | None = None) -> str:
        """Return the column of trials that holds a metric, under a view or the stated one."""
        view = view or self.view
        return f"{metric.name}:{view}" if view and metric.name in VIEWED else metric.name

    def to_json(self) -> dict[str, Any]:
        """Return the ``parameters`` block; what was not stated is left out."""
        stated = self.stated
        given = {"mcp_configs": stated.mcp_configs, "view": self.view}
        return {
            **{name: getattr(self, name) for name in ("seed", "n_resamples", "confidence")},
            **{name: value for name, value in given.items() if value},
            **({"design": stated.to_json()} if stated.arms or stated.values else {}),
        }


def metrics_named(given: Sequence[str | Metric]) -> tuple[Metric, ...]:
    """Return metrics by their names, or those given themselves.

    Raises
    ------
    BadInputError
        When there is no metric of a name; the message names the closest.

    Examples
    --------
    >>> [metric.label for metric in metrics_named(["mrr", "reward"])]
    ['MRR', 'reward']
    >>> metrics_named(["recall"])
    Traceback (most recent call last):
    retrieval_eval.errors.BadInputError: 'recall' is no metric; closest: recall@10, ...
    """
    found = []
    for metric in given:
        if isinstance(metric, str):
            if metric not in BY_NAME:
                close = get_close_matches(metric, BY_NAME, n=3, cutoff=0.4) or list(BY_NAME)
                raise BadInputError(
                    f"{metric!r} is no metric; closest: {', '.join(close)}; for a column of your "
                    "own give a Metric of its name"
                )
            metric = BY_NAME[metric]
        found.append(metric)
    return tuple(found)


def as_entry(record: Record) -> dict[str, Any]:
    """Return a record as it is read back from a document: with lists where it has tuples."""
    entry: dict[str, Any] = _with_lists(to_builtins(record))
    return entry


def _with_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_lists(member) for name, member in value.items()}
    return [_with_lists(member) for member in value] if isinstance(value, list | tuple) else value
