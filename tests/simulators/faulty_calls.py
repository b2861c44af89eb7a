"""The tool calls of trials that a fault concerns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from tests.simulators.behaviour import Quirks, Scene, act, agent_for
from tests.simulators.dice import Dice
from tests.simulators.faults import Fault
from tests.simulators.moves import Call, Deed
from tests.simulators.task import Task

_SCRIPT = (
    "python3 - <<'EOF'\n"
    "from notes import wanted\n"
    "for name in wanted():\n"
    "    print(open(name, errors='ignore').read())\n"
    "EOF"
)
_ATTEMPTS = 3
_SHELLS = frozenset({"Bash", "execute_bash"})


def with_fault(
    calls: Sequence[Call], fault: Fault | None, task: Task, scene: Scene, dice: Dice
) -> list[Call]:
    """Return the calls an agent makes where the fault concerns its trial."""
    if fault is Fault.DEAD_MCP_SERVER:
        return [*_giving_up(calls), *_alone(task, scene, dice.scoped("alone"))]
    if fault is Fault.CONTAMINATED_BASELINE:
        return [*calls[:1], *_asking(task, scene, dice.scoped("asking")), *calls[1:]]
    if fault is Fault.OPAQUE_SHELL:
        return [_hidden(call) for call in calls]
    return list(calls)


def _giving_up(calls: Sequence[Call]) -> list[Call]:
    """Return the opening and the first attempts to reach the server, which all fail."""
    opening = [call for call in calls[:1] if not call.is_mcp]
    return opening + [_refused(call) for call in calls if call.is_mcp][:_ATTEMPTS]


def _refused(call: Call) -> Call:
    """Return a call to a server whose connection is gone, as the two harnesses show it."""
    deeds = tuple(Deed(deed.category) for deed in call.deeds)
    refused = replace(call, deeds=deeds, is_error=True)
    if call.name.startswith("mcp__"):
        text = "MCP error -32000: Connection closed"
        return replace(refused, text=text, structured=f"Error: {text}")
    wrapped = {"isError": True, "error": "Connection closed", "content": []}
    return replace(refused, text=json.dumps(wrapped))


def _alone(task: Task, scene: Scene, dice: Dice) -> list[Call]:
    """Return what an agent does with local tools that comes across next to nothing."""
    found = scene.found[: dice.whole(0, 1, "found")]
    little = Scene(found, scene.others[:1], ())
    return act(task, little, dice, is_remote=False, quirks=Quirks())


def _asking(task: Task, scene: Scene, dice: Dice) -> list[Call]:
    """Return a successful search by the code-search server and a read of what it found."""
    agent = agent_for(task, dice, is_remote=True)
    label = (scene.found or scene.others)[0]
    return [agent.search([label]), agent.read(label)]


def _hidden(call: Call) -> Call:
    """Return a shell call that printed the same, but whose command no longer says why."""
    if call.children:
        return replace(call, children=tuple(map(_hidden, call.children)))
    accesses = {touch.access for deed in call.deeds for touch in deed.touches}
    if call.name not in _SHELLS or not accesses or "written" in accesses:
        return call
    arguments = {**call.arguments, "command": _SCRIPT}
    return replace(call, arguments=arguments, deeds=(Deed("other"),), is_opaque=True)
