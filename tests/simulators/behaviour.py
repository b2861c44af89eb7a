"""What an agent does in one trial: which files it comes across, in which order, and its edits.

The MCP arm comes across a few more of the files that matter on average, with so much spread that
some tasks are hurt by it; that is the planted effect which a report should find and not oversell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from tests.simulators.claude_agent import ClaudeAgent
from tests.simulators.dice import Dice
from tests.simulators.moves import Call
from tests.simulators.openhands_agent import OpenHandsAgent
from tests.simulators.task import CLAUDE, Task

Agent = ClaudeAgent | OpenHandsAgent


@dataclass(frozen=True, slots=True)
class Quirks:
    """What is special about a trial."""

    is_never_hit: bool = False
    is_shell_only: bool = False
    delegates: bool = False
    runs_opaque_script: bool = False
    mixes_up_arguments: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """The files an agent comes across (those that matter, and others) and those it misses."""

    found: tuple[str, ...]
    others: tuple[str, ...]
    missed: tuple[str, ...]


def imagine(
    task: Task,
    shared: Dice,
    dice: Dice,
    *,
    is_remote: bool,
    quirks: Quirks,
    advantage: float = 0.0,
) -> Scene:
    """Decide which files an agent comes across; ``shared`` is what both arms of a task share.

    ``advantage`` is added to the share of the files that matter, the same in every trial.
    """
    reachable = [label for label in task.truth if label not in task.new_files]
    skill = 0.90 - 0.60 * task.difficulty + 0.10 * shared.normal("skill")
    skill += 0.05 + 0.21 * dice.normal("luck") if is_remote else 0.07 * dice.normal("luck")
    skill += advantage
    count = min(len(reachable), max(1, round(skill * len(reachable))))
    found = dice.shuffled(reachable, "found")[: 0 if quirks.is_never_hit else count]
    folders = {_folder(label) for label in task.truth}
    rest = [label for label in task.files() if label not in task.truth]
    near = [label for label in rest if _folder(label) in folders]
    far = [label for label in rest if _folder(label) not in folders]
    others = dice.shuffled(near, "near")[: dice.whole(1, 3, "near count")]
    others += dice.shuffled(far, "far")[: dice.whole(2, 4 if is_remote else 6, "far count")]
    missed = [label for label in reachable if label not in found]
    return Scene(tuple(found), tuple(others), tuple(missed))


def act(task: Task, scene: Scene, dice: Dice, *, is_remote: bool, quirks: Quirks) -> list[Call]:
    """Return the tool calls of a trial in order."""
    shell_share = 1.0 if quirks.is_shell_only else 0.4
    agent = agent_for(task, dice, is_remote=is_remote, shell_share=shell_share)
    pool = dice.shuffled([*scene.found, *scene.others], "pool")
    calls = agent.opening()
    finding = list(_finding(agent, task, scene, pool, dice))
    if quirks.delegates and isinstance(agent, ClaudeAgent):
        middle = max(2, len(finding) // 2)
        calls += [agent.delegate(tuple(finding[:middle])), *finding[middle:]]
    else:
        calls += finding
    if quirks.runs_opaque_script and isinstance(agent, ClaudeAgent):
        calls.insert(len(calls) // 2, agent.unresolvable())
    calls += _writing(agent, task, scene, dice)
    calls += agent.closing()
    return _mixed_up(calls) if quirks.mixes_up_arguments else calls


def agent_for(task: Task, dice: Dice, *, is_remote: bool, shell_share: float = 0.4) -> Agent:
    """Return an agent of the task's harness; only Claude Code chooses between shell and tools."""
    if task.harness == CLAUDE:
        return ClaudeAgent(task, dice, is_remote=is_remote, shell_share=shell_share)
    return OpenHandsAgent(task, dice, is_remote=is_remote)


def _finding(agent: Agent, task: Task, scene: Scene, pool: list[str], dice: Dice) -> Iterator[Call]:
    """List, search and read, so that every file of ``pool`` turns up somewhere."""
    seen: set[str] = set()
    if dice.chance(0.7, "lists"):
        labels = _in_one_folder(pool, dice)
        seen.update(labels)
        yield agent.listing(labels)
    for number, labels in enumerate(_searches(task, pool, dice)):
        seen.update(labels)
        yield agent.search(labels)
        if number == 0 and isinstance(agent, ClaudeAgent):
            yield from _side_steps(agent, scene, pool, dice)
    if scene.missed and dice.chance(0.45, "fails"):
        yield agent.failed_read(scene.missed[0])
    for label in pool:
        share = 0.8 if label in scene.found else 0.35
        if label not in seen or dice.chance(share, "reads", label):
            yield agent.read(label)


def _side_steps(agent: ClaudeAgent, scene: Scene, pool: list[str], dice: Dice) -> Iterator[Call]:
    """Do some of what agents also do: references, two reads at once, a file that is not there."""
    if dice.chance(0.4, "references"):
        asked = scene.missed[0] if scene.missed else pool[0]
        references = agent.references(asked, [] if scene.missed else pool[:2])
        if references is not None:
            yield references
    if agent.is_local and len(pool) > 3 and dice.chance(0.35, "two"):
        yield agent.read_two(pool[1], pool[3])
    if agent.is_local and dice.chance(0.25, "cat fails"):
        yield agent.failed_cat(pool[0])


def _in_one_folder(pool: list[str], dice: Dice) -> list[str]:
    folder = _folder(dice.choice(pool, "folder"))
    return sorted(label for label in pool if _folder(label) == folder)


def _folder(label: str) -> str:
    """Return the label of the folder a file lies in; repositories have roots of their own."""
    repository, separator, path = label.rpartition("::")
    return repository + separator + path.rpartition("/")[0]


def _searches(task: Task, pool: list[str], dice: Dice) -> Iterator[list[str]]:
    """Split part of the pool into the result lists of one to three searches.

    A search of a task with several repositories asks one of them.
    """
    position = 0
    for number in range(dice.whole(1, 3, "searches")):
        part = pool[position : position + dice.whole(1, 4, "results", number)]
        position += len(part)
        for project in task.projects:
            labels = [label for label in part if task.locate(label)[0] is project]
            if labels:
                yield labels


def _writing(agent: Agent, task: Task, scene: Scene, dice: Dice) -> Iterator[Call]:
    """Write the answer of a reading task, or edit what was found, and at times something else."""
    if not task.truth:
        return
    if task.is_reading:
        yield agent.answer(list(scene.found))
        return
    for number, label in enumerate(scene.found):
        if number == 0 or dice.chance(0.6, "edits", label):
            yield agent.edit(label)
    if dice.chance(0.3, "strays"):
        yield agent.edit(scene.others[0])
    if isinstance(agent, ClaudeAgent):
        yield from (agent.create(label) for label in task.new_files)


def _mixed_up(calls: list[Call]) -> list[Call]:
    """Give one shell call the arguments of an earlier one, as the harness at times does."""
    shells = [i for i, call in enumerate(calls) if call.name == "execute_bash"]
    first, second = next(((a, b) for a, b in pairwise(shells) if b == a + 1), shells[:2])
    calls[second] = replace(calls[second], shown_arguments=calls[first].arguments)
    return calls
