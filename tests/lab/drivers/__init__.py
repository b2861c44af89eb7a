"""One driver a harness: how it is installed, configured, started, and where its traces lie."""

from __future__ import annotations

import importlib
import json
import pkgutil
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from tests.lab.model import PORT, Call, Turn
from tests.lab.situations import Do, Situation

# A run is started under these, wherever it lies, so that no recording holds a path of the machine.
ROOT: Final = "/mnt"
HOME: Final = f"{ROOT}/home"
SHOP: Final = f"{ROOT}/shop"
INSTALLED: Final = "/srv"
URL: Final = f"http://127.0.0.1:{PORT}"
# Some harnesses search with a ripgrep on the path, or load one from the network.
RIPGREP: Final = "@vscode/ripgrep-linux-x64"
WITH_RIPGREP: Final = {
    "PATH": f"{INSTALLED}/node_modules/{RIPGREP}/bin:{INSTALLED}/node_modules/.bin"
    ":/usr/local/bin:/usr/bin:/bin"
}
MCP: Final = ("python3", f"{ROOT}/mcp_server.py", SHOP)


@dataclass(frozen=True)
class Start:
    """One start of a harness: its command, its environment, and the files that configure it."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Driver:
    """A harness.

    ``packages`` come from the registry of ``manager``, the first of them in the asked version.
    ``start`` returns how the harness is started with a prompt, in a situation, for the second time
    or not; ``say`` how its model asks for an action, None where it has no tool for it. ``traces``
    are patterns of its files in a run's folder, by name of the format that we read them as.
    ``keeps_ids`` says that the traces name calls as the model did, so that situations can share a
    session, but for those in ``alone``; ``without`` says why a situation is left out.
    ``version`` is what its traces state as one, where that is not the package's.
    ``written`` writes calls into an answer's text, in harnesses whose model is offered no tools.
    ``last`` is the call that ends a run, in harnesses that go on without it. ``prices`` are US
    dollars a million tokens of input, of cached input, and of output, as the harness was told or
    knows of the model. ``instead`` are releases that are installed whatever the packages ask for.
    """

    name: str
    manager: Literal["npm", "pip"]
    packages: tuple[str, ...]
    model: str
    start: Callable[[str, Situation, bool], Start]
    say: Callable[[Do], Call | None]
    traces: Mapping[str, str]
    last: Call | None = None
    prices: tuple[float, float, float] | None = None
    forks: bool = False
    values: Mapping[str, str] = field(default_factory=dict)
    summary: str = "(?!)"
    side: str = "Scripted."
    written: Callable[[Sequence[Call]], str] | None = None
    without: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    keeps_ids: bool = True
    alone: tuple[str, ...] = ()
    seconds: int = 150
    python: str = "3.12"
    instead: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def absolute(path: str) -> str:
    return f"{SHOP}/{path}"


def as_json(value: Any) -> str:
    return json.dumps(value, indent=1)


def program(name: str) -> str:
    """Return the text of a program that runs a harness without a command line."""
    return (Path(__file__).parents[1] / "programs" / f"{name}.py").read_text(encoding="utf-8")


def call(driver: Driver, do: Do) -> Call | None:
    """Say an action in a harness's tools, or in its shell where it has no tool for it.

    A wrong call is a read that is spoilt.
    """
    if do.kind == "unknown":
        return Call("open_document", {"path": do.path})
    if do.kind in {"bare", "broken"}:
        right = call(driver, Do("read", path=do.path))
        if right is None or right.custom is not None:
            return None
        if do.kind == "bare":
            return Call(right.name, {}, None, right.namespace)
        return Call(right.name, {}, right.text[:-4], right.namespace)
    if do.kind == "image":
        return driver.say(do) or driver.say(Do("read", path=do.path))
    command = _in_shell(do)
    return driver.say(do) or (driver.say(Do("shell", command)) if command else None)


def _in_shell(do: Do) -> str:
    path = shlex.quote(do.path or ".")
    match do.kind:
        case "read" if do.lines:
            return f"sed -n {do.lines[0]},{do.lines[1]}p {path}"
        case "read":
            return f"cat {path}"
        case "list":
            return f"ls {path}"
        case "find":
            return f"find . -name {shlex.quote(do.text)}"
        case "search":
            return f"grep -rn {shlex.quote(do.text)} {path}"
        case "edit":
            return f"sed -i {shlex.quote(f's/{do.old}/{do.text}/')} {path}"
        case "write":
            return f"cat > {path} <<'EOF'\n{do.text}EOF"
        case _:
            return ""


def label(situation: Situation) -> str:
    """Return what stands in the ids of a situation's calls."""
    return situation.name.replace("-", "")


def together(driver: Driver, situations: Iterable[Situation]) -> list[Situation]:
    """Return the situations that share one session of a harness."""
    return [
        one
        for one in situations
        if driver.keeps_ids
        and not one.alone
        and one.name not in driver.alone
        and not isinstance(turns(driver, one), str)
    ]


def joint(driver: Driver, situations: Iterable[Situation]) -> dict[str, list[Turn]]:
    """Return the plan of the session that situations share."""
    plan: list[Turn] = []
    for one in together(driver, situations):
        plans = turns(driver, one)
        assert not isinstance(plans, str)
        plan += [turn for turn in plans["main"] if turn.calls != (driver.last,)]
    return {"main": [*plan, _turn(driver, (driver.last,))] if driver.last else plan}


def turns(driver: Driver, situation: Situation) -> dict[str, list[Turn]] | str:
    """Return the plans of a situation, or the sentence that says why it is left out."""
    if situation.mode == "fork" and not driver.forks:
        return "it has no command that forks a run"
    if situation.name in driver.without:
        return driver.without[situation.name]
    plans: dict[str, list[Turn]] = {}
    said = {"main": situation.turns, "sub": situation.sub, "then": situation.then}
    for name, steps in said.items():
        plans[name] = []
        for number, actions in enumerate(steps):
            calls = [call(driver, action) for action in actions]
            if None in calls and actions[0].kind == "gather":
                continue
            if None in calls:
                kinds = ", ".join(sorted({action.kind for action in actions}))
                return f"the harness has no tool for: {kinds}"
            tokens = situation.input_tokens.get(number) if name == "main" else None
            asked = tuple(one for one in calls if one is not None)
            plans[name].append(_turn(driver, asked, tokens, label(situation)))
        if plans[name] and driver.last is not None:
            plans[name].append(_turn(driver, (driver.last,)))
    return plans


def _turn(
    driver: Driver, calls: tuple[Call, ...], tokens: int | None = None, name: str = "main"
) -> Turn:
    if driver.written is not None:
        return Turn((), driver.written(calls), tokens, name)
    return Turn(calls, "Next.", tokens, name)


# Harnesses of which the registries have no newer release, or none.
ABSENT: Final = {
    "goose": "npm and PyPI have no release of it",
    "swe-agent": "its only release on PyPI is 0.0.1 of 2024, an empty one",
}
_CLOSED: Final = "closed, and works with an account only"
_OLDER: Final = "older versions wrote it"
_BARE: Final = "no harness writes it: requests and responses as a proxy keeps them"
# Formats that no run of the lab wrote, each with the reason.
UNPROVED: Final = {
    "cline-history": "the extension of an editor writes it, which has no headless start",
    "codex-exec-events": _OLDER,
    "cursor-jsonl": _CLOSED,
    "cursor-jsonl-v1": _CLOSED,
    "cursor-transcript": _CLOSED,
    "gemini-cli-session-json": _OLDER,
    "goose": ABSENT["goose"],
    "goose-export": ABSENT["goose"],
    "goose-store": ABSENT["goose"],
    "inspect-json": "a setting writes the log as one document, with the fields of the archive",
    "inspect-samples": "an export of the archive's samples",
    "messages-jsonl": _BARE,
    "mini-swe-agent-messages": _OLDER,
    "openai-agents-batch": "one document of what `openai-agents-trace` holds in lines",
    "opencode-export": "written on request; the parts are those of the database",
    "openhands-events": _OLDER,
    "openhands-output": _OLDER,
    "swe-agent-traj": ABSENT["swe-agent"],
}


def registry() -> dict[str, Driver]:
    """Return all drivers by the name of their harness."""
    found: dict[str, Driver] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        found |= {driver.name: driver for driver in loaded.DRIVERS}
    return dict(sorted(found.items()))
