"""The two arms of a comparison: their trials, their names, and their use of MCP."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from typing import Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import encodable
from retrieval_eval.study.trials import Trial
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


@dataclass(frozen=True, slots=True)
class Roles:
    """Which of two arms are meant to use MCP, and which is the control that is not.

    ``doubt`` gives the reason where that is unclear for an arm. ``notes`` name the arms whose name
    disagrees with their trials, where the trials of both arms are clear.
    """

    users: tuple[Arm, ...]
    control: Arm | None
    doubt: tuple[tuple[Arm, str], ...] = ()
    notes: tuple[str, ...] = ()


def roles_of(arms: tuple[Arm, Arm], stated: Collection[str] | None = None) -> Roles:
    """Return the roles of two arms, from what their trials used.

    An arm is meant to use MCP when most of its trials called a server; beside such an arm, one of
    which most did not is the control. A name alone decides nothing. An arm named for MCP whose
    trials mostly did not call a server is in doubt, because a server that never started looks the
    same. Of two arms that both used it the one named a baseline is taken as the control, and
    without such a name an arm is in doubt when over a third of its trials called none.

    With ``stated``, the configurations that are meant to use MCP, no role is inferred; of these an
    arm is in doubt when over a third of its trials called none, for then it was not run as meant.
    """
    if stated is not None:
        chosen = [arm for arm in arms if arm.config in stated]
        unlike = [
            (arm, f"meant to use MCP, but only {arm.use} called a server")
            for arm in chosen
            if arm.has_many_without
        ]
        return Roles(tuple(chosen), _control(arms, chosen), tuple(unlike))
    users = [arm for arm in arms if arm.uses_mcp]
    named = [arm for arm in users if arm.is_named_baseline]
    if len(users) == 2 and len(named) == 1:
        users.remove(named[0])
    doubt = [
        (arm, f"named for MCP, but only {arm.use} called a server")
        for arm in arms
        if arm.is_named_mcp and arm.n_ran and not arm.uses_mcp
    ]
    if len(users) == 2:
        doubt += [
            (arm, f"only {arm.use} called an MCP server, of the other arm most did")
            for arm in users
            if arm.has_many_without
        ]
    notes = [
        f"{arm.config} is named a baseline, but {arm.use} called an MCP server"
        for arm in users
        if arm.is_named_baseline
    ]
    control = _control(arms, users)
    is_doubted = control in [arm for arm, _ in doubt]
    return Roles(tuple(users), None if is_doubted else control, tuple(doubt), tuple(notes))


def _control(arms: tuple[Arm, Arm], users: Sequence[Arm]) -> Arm | None:
    return next((arm for arm in arms if arm not in users), None) if users else None


def arm(trials: Iterable[Trial], config: str) -> Arm:
    """Return the arm of a configuration."""
    return Arm(config, tuple(trial for trial in trials if trial.config_name == config))


def config_pairs(trials: Sequence[Trial]) -> Iterator[tuple[str, str]]:
    """Yield every pair of configurations, the one nearer to a baseline first.

    Configurations of which most trials called no MCP server come first; among them, and among the
    others, those named a baseline, then by name.
    """
    arms = [arm(trials, config) for config in {trial.config_name for trial in trials}]
    arms.sort(key=lambda a: (a.uses_mcp, not a.is_named_baseline, a.is_named_mcp, a.config))
    yield from combinations([a.config for a in arms], 2)


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
