"""The two arms of a comparison: their trials, their names, and their use of MCP."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from typing import Final

from retrieval_eval.agents.study.stated import Stated, StatedArm
from retrieval_eval.agents.study.trials import MCP, Trial
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import encodable
from retrieval_eval.model.design import ArmDesign, Treatment
from retrieval_eval.model.impact import PairsLeftOut
from retrieval_eval.values import counted

_WORD = re.compile(r"[A-Za-z0-9]+")
_WITHOUT: Final = frozenset({"no", "non", "not", "without", "off", "disabled"})
"""Words that negate the name of a tool beside them."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A configuration with its trials, in a fixed order."""

    config: str
    trials: tuple[Trial, ...]

    @property
    def words(self) -> set[str]:
        """The words of the configuration's name; those of a run behind it (``mcp@run``) are none.

        A run can be named after the other arm, or after its purpose.
        """
        for run_id in sorted({trial.run_id for trial in self.trials}):
            own, at, _ = self.config.rpartition(f"@{run_id}")
            if at:
                return _words(own)
        return _words(self.config)

    @property
    def is_named_baseline(self) -> bool:
        """Whether the name marks the configuration as the one without MCP."""
        return "baseline" in self.words and not self.is_named_mcp

    @property
    def is_named_mcp(self) -> bool:
        """Whether the name marks the configuration as one that uses MCP."""
        return "mcp" in self.words and not self.words & _WITHOUT

    @property
    def n_ran(self) -> int:
        """The number of trials that show any call; only these can show what was used."""
        return sum(trial.calls_seen > 0 for trial in self.trials)

    @property
    def n_callers(self) -> int:
        """The number of trials that called an MCP server, successfully or not."""
        return sum(trial.has_called_mcp for trial in self.trials)

    @property
    def n_users(self) -> int:
        """The number of trials in which an MCP server answered a call."""
        return sum(trial.was_answered for trial in self.trials)

    @property
    def uses_mcp(self) -> bool:
        """Whether most trials that ran called an MCP server."""
        return 2 * self.n_callers > self.n_ran

    @property
    def has_many_without(self) -> bool:
        """Whether over a third of the trials that ran called no MCP server."""
        return 3 * (self.n_ran - self.n_callers) > self.n_ran

    @property
    def use(self) -> str:
        """How many of the trials that ran called an MCP server, in words."""
        return f"{self.n_callers} of {counted(self.n_ran, 'trial')} of {self.config}"

    def use_of(self, tool: str) -> str:
        """Return in how many of the trials that ran a tool was called and answered, in words."""
        uses = [use for trial in self.trials if trial.calls_seen and (use := trial.use_of(tool))]
        called, answered = (sum(use[i] > 0 for use in uses) for i in (0, 1))
        return f"{tool_label(tool)} was called in {called} and answered in {answered}"


NO_TREATMENT: Final = "default: none is stated"
"""Where the treatment of a comparison is from that has none."""


@dataclass(frozen=True, slots=True)
class Roles:
    """What each of two arms is meant to do, the baseline first, and where that comes from.

    ``users`` are the arms that are meant to have MCP, and ``control`` is the one beside them that
    is not. ``doubt`` gives the reason where that is unclear for an arm. ``notes`` name the arms
    whose name disagrees with their trials, where the trials of both arms are clear. ``sources``
    are those of the designs. ``treatment`` is what the arms are meant to differ in. ``has_rewards``
    is false where no trial is meant to have one.
    """

    designs: tuple[ArmDesign, ArmDesign]
    sources: tuple[str, str]
    users: tuple[Arm, ...]
    control: Arm | None
    doubt: tuple[tuple[Arm, str], ...] = ()
    notes: tuple[str, ...] = ()
    treatment: Treatment | None = None
    treatment_source: str = NO_TREATMENT
    has_rewards: bool = True


def roles_of(arms: tuple[Arm, Arm], stated: Stated | None = None) -> Roles:
    """Return the roles of two arms, as they are stated, else from what their trials used.

    An arm is meant to use MCP when most of its trials called a server; beside such an arm, one of
    which most did not is the control. If all of its trials that ran called one it must use it, else
    it may. A name alone decides nothing. An arm named for MCP whose trials mostly did not call a
    server is in doubt, because a server that never started looks the same. Of two arms that both
    used it the one named a baseline is taken as the control, and without such a name an arm is in
    doubt when over a third of its trials called none.

    Nothing that is stated of an arm is inferred, nor is it in doubt: trials that contradict it are
    removed. If only the role of an arm is stated, its tools are inferred.
    """
    known = stated or Stated()
    given = [known.arms.get(encodable(arm.config)) for arm in arms]
    places = [f"arms.{encodable(arm.config)}" for arm in arms]
    open_arms = [arm for arm, own in zip(arms, given, strict=True) if own is None]
    users = [
        arm
        for arm, own in zip(arms, given, strict=True)
        if (arm.uses_mcp if own is None else _has_mcp(own, arm))
    ]
    named = [arm for arm in open_arms if arm.is_named_baseline and arm in users]
    if len(users) == 2 and len(named) == 1:
        users.remove(named[0])
    doubt = [
        (arm, f"named for MCP, but only {arm.use} called a server")
        for arm in open_arms
        if arm.is_named_mcp and arm.n_ran and not arm.uses_mcp
    ]
    if len(users) == 2:
        doubt += [
            (arm, f"only {arm.use} called an MCP server, of the other arm most did")
            for arm in users
            if arm in open_arms and arm.has_many_without
        ]
    notes = [
        f"{arm.config} is named a baseline, but {arm.use} called an MCP server"
        for arm in users
        if arm in open_arms and arm.is_named_baseline
    ]
    doubted = {id(arm): why for arm, why in doubt}
    control = next((arm for arm in arms if arm not in users), None) if users else None
    if control is not None and id(control) in doubted:
        control = None
    found = [
        _inferred(arm, users, control, doubted.get(id(arm)))
        if own is None
        else (_as_stated(arm, own, users), _stated_source(arm, own, known.source(place)))
        for arm, own, place in zip(arms, given, places, strict=True)
    ]
    treatment, why = _treatment(arms, known)
    return Roles(
        designs=(found[0][0], found[1][0]),
        sources=(found[0][1], found[1][1]),
        users=tuple(users),
        control=control,
        doubt=tuple(doubt),
        notes=tuple(notes),
        treatment=treatment,
        treatment_source=why,
        has_rewards=known.rewards != "none",
    )


def _treatment(arms: tuple[Arm, Arm], stated: Stated) -> tuple[Treatment | None, str]:
    """Return what two arms are meant to differ in, and where that comes from.

    Only a model is ever inferred, where it is the one recorded thing that differs: all trials that
    ran are of one known model in each arm and of one known harness and version in both, and they
    called the same tools. What a log does not record, such as a prompt, cannot be shown to be
    equal. Beside MCP nothing is inferred: whether it was used is then the question.
    """
    if stated.treatment is not None:
        return stated.treatment, stated.source("treatment")
    ran = [[trial for trial in arm.trials if trial.calls_seen] for arm in arms]
    models = [{trial.model for trial in trials} for trials in ran]
    harnesses = {(t.harness, t.harness_version) for trials in ran for t in trials}
    tools = [{tool for trial in trials for tool in trial.tools} for trials in ran]
    is_known = (
        all(len(names) == 1 and None not in names for names in models)
        and len(harnesses) == 1
        and not any(None in names for names in harnesses)
    )
    is_alone = tools[0] == tools[1] != set() and not any(arm.n_callers for arm in arms)
    if not is_known or models[0] == models[1] or not is_alone:
        return None, NO_TREATMENT
    names = " and ".join(str(name) for own in models for name in own)
    return "model", f"inferred: the model is the one recorded thing that differs ({names})"


def _has_mcp(own: StatedArm, arm: Arm) -> bool:
    """Return whether an arm of which something is stated is meant to have MCP."""
    if own.names_tools:
        return MCP in (*(own.must_use or ()), *(own.may_use or ()))
    return own.role == "treatment" and arm.n_callers > 0


def _inferred(
    arm: Arm, users: Sequence[Arm], control: Arm | None, doubt: str | None
) -> tuple[ArmDesign, str]:
    name, source = arm.config, f"inferred: {arm.use} called an MCP server"
    if doubt is not None:
        return ArmDesign(config_name=name), f"unclear: {doubt}"
    if arm is control:
        return ArmDesign(config_name=name, role="control", must_not_use=(MCP,)), source
    if arm in users:
        return ArmDesign(config_name=name, role="treatment", **_own_use(arm)), source
    return ArmDesign(config_name=name), source


def _own_use(arm: Arm) -> dict[str, tuple[str, ...]]:
    return {"must_use" if arm.n_callers == arm.n_ran else "may_use": (MCP,)}


def _as_stated(arm: Arm, own: StatedArm, users: Sequence[Arm]) -> ArmDesign:
    if not own.names_tools:
        role = own.role or "unstated"
        lists: dict[str, tuple[str, ...]] = {}
        if role == "treatment" and arm in users:
            lists = _own_use(arm)
        elif role == "control" and any(other is not arm for other in users):
            lists = {"must_not_use": (MCP,)}
        return ArmDesign(config_name=arm.config, role=role, **lists)
    must, may, must_not = (own.must_use or (), own.may_use or (), own.must_not_use or ())
    role = own.role or ("treatment" if must or may else "control" if must_not else "unstated")
    return ArmDesign(
        config_name=arm.config, role=role, must_use=must, may_use=may, must_not_use=must_not
    )


def _stated_source(arm: Arm, own: StatedArm, source: str) -> str:
    """Return where a role is stated, and what is known of the tools it names."""
    tools = [*(own.must_use or ()), *(own.may_use or ()), *(own.must_not_use or ())]
    unknown = [
        tool
        for tool in tools
        if arm.trials and all(trial.use_of(tool) is None for trial in arm.trials)
    ]
    if not unknown:
        return source
    return (
        f"{source}; the use of {', '.join(unknown)} is not checked: for the trials of "
        f"{arm.config} the use of tools is known for MCP only"
    )


def tool_label(tool: str) -> str:
    """Return a tool as a sentence names it.

    Examples
    --------
    >>> tool_label("mcp"), tool_label("Grep")
    ('an MCP server', 'Grep')
    """
    return "an MCP server" if tool == MCP else tool


def arm(trials: Iterable[Trial], config: str) -> Arm:
    """Return the arm of a configuration."""
    return Arm(config, tuple(trial for trial in trials if trial.config_name == config))


def config_pairs(trials: Iterable[Trial]) -> Iterator[ConfigPair]:
    """Yield every pair of configurations, the one nearer to a baseline first.

    Configurations of which most trials called no MCP server come first; among them, and among the
    others, those named a baseline, then by name.
    """
    yield from combinations([found.config for found in _arms_in_order(trials)], 2)


def _arms_in_order(trials: Iterable[Trial]) -> list[Arm]:
    own: dict[str, list[Trial]] = {}
    for trial in trials:
        own.setdefault(trial.config_name, []).append(trial)
    arms = [Arm(config, tuple(found)) for config, found in own.items()]
    arms.sort(key=lambda a: (a.uses_mcp, not a.is_named_baseline, a.is_named_mcp, a.config))
    return arms


ConfigPair = tuple[str, str]
"""Two configurations, the baseline first."""

MOST_CONFIGS: Final = 20
"""With more configurations not every pair is compared: 20 have 190 pairs, and 381 have 72,390."""


def pairs_to_compare(trials: Sequence[Trial], stated: Stated | None = None) -> PairsCompared:
    """Return the pairs of configurations to compare where none was named, and what is left out.

    Up to :data:`MOST_CONFIGS` configurations these are all pairs. Of more, they are the pairs among
    the configurations that a design states, and of every configuration that with the first one
    before it (in the order of :func:`config_pairs`, a stated control before all) of which some
    trial is of a task that both ran.
    """
    arms = _arms_in_order(trials)
    if len(arms) <= MOST_CONFIGS:
        pairs = tuple(combinations([found.config for found in arms], 2))
        return PairsCompared(pairs=pairs, n_all=len(pairs))
    given = (stated or Stated()).arms
    roles = {
        a.config: given[encodable(a.config)].role for a in arms if encodable(a.config) in given
    }
    arms.sort(key=lambda a: roles.get(a.config) != "control")
    chosen: list[ConfigPair] = []
    if len(roles) <= MOST_CONFIGS:
        chosen += combinations([a.config for a in arms if a.config in roles], 2)
        meant = pair_meant(stated or Stated(), list(roles))
        if meant is not None:
            chosen = [meant]
    tasks = [{trial.task for trial in found.trials} for found in arms]
    known = set(map(frozenset, chosen))
    for place, found in enumerate(arms):
        before = next((i for i in range(place) if not tasks[i].isdisjoint(tasks[place])), None)
        if before is not None and frozenset((arms[before].config, found.config)) not in known:
            chosen.append((arms[before].config, found.config))
    return PairsCompared(pairs=tuple(chosen), n_all=len(arms) * (len(arms) - 1) // 2)


def pair_meant(stated: Stated, configs: Iterable[str]) -> ConfigPair | None:
    """Return the two configurations that a design is about, the baseline first."""
    if stated.pair is None:
        return None
    by_name = {encodable(config): config for config in configs}
    first, second = map(by_name.get, stated.pair)
    return None if first is None or second is None else (first, second)


@dataclass(frozen=True, slots=True)
class PairsCompared:
    """Pairs of configurations that are compared, of ``n_all`` that there are."""

    pairs: tuple[ConfigPair, ...]
    n_all: int

    @property
    def left_out(self) -> PairsLeftOut | None:
        """How many pairs are not compared, and how to ask for one; None where all are."""
        n = len(self.pairs)
        if n == self.n_all:
            return None
        sentence = (
            f"{n:,} of {self.n_all:,} pairs of configurations are compared, because there are more "
            f"than {MOST_CONFIGS} configurations: those that the design states, and each "
            "configuration with the one nearest to a baseline that shares a task with it. To "
            "compare two others, name them: retrieval-eval compare RUN:CONFIG RUN:CONFIG"
        )
        return PairsLeftOut(
            n_compared=n, n_pairs=self.n_all, most_configs=MOST_CONFIGS, sentence=sentence
        )


def config_named(name: str, configs: Sequence[str]) -> str:
    """Return the name of a configuration.

    Raises
    ------
    BadInputError
        When it is not among ``configs``; the message lists those there are, the closest first.

    Examples
    --------
    >>> config_named("mpc", ["baseline", "mcp"])
    Traceback (most recent call last):
    retrieval_eval.errors.BadInputError: no configuration 'mpc'; there are: mcp, baseline
    """
    for known in (name, encodable(name)):
        if known in configs:
            return str(known)
    near = get_close_matches(str(name), configs, n=3, cutoff=0.4)
    ordered = [*near, *(config for config in configs if config not in near)]
    raise BadInputError(f"no configuration {name!r}; there are: {', '.join(ordered)}")


def configs_stated(names: Sequence[str] | None, configs: Sequence[str]) -> tuple[str, ...] | None:
    """Return the configurations that are stated to use MCP, or None where nothing is stated.

    A configuration that several runs have (``mcp@run``) may be named with its run or without.
    Raises ``BadInputError`` for an unknown name.
    """
    if names is None:
        return None
    stated = tuple(c for c in configs if c in names or c.rpartition("@")[0] in names)
    for name in names:
        if not any(name in (c, c.rpartition("@")[0]) for c in stated):
            config_named(name, configs)
    return stated


def _words(config: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(config)}
