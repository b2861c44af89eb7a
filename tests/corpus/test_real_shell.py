"""Every shell command of the real runs: none crashes, few are opaque, and ground-truth paths that
stand in a command or its output are found, or missed for a reason that is known."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from retrieval_eval.agents.traces.shell import ShellAnalysis, ShellSession
from retrieval_eval.agents.traces.shell.syntax import parse_with_grammar, plain_script
from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.agents.truth import load_ground_truth
from tests.trials import trace_or_none

pytestmark = pytest.mark.corpus

NOT_RUN = ("<tool_use_error>", "ERROR: Cannot execute multiple commands")


@dataclass(frozen=True)
class Analysed:
    group: tuple[str | None, str]
    command: str
    output: str
    analysis: ShellAnalysis
    ground_truth: tuple[str, ...]


@pytest.fixture(scope="module")
def calls(real_runs: Path) -> list[Analysed]:
    tasks = {path.name: path for path in (real_runs / "benchmarks").glob("*/*")}
    found: list[Analysed] = []
    for result in sorted((real_runs / "runs").rglob("result.json")):
        trial = result.parent
        trace = trace_or_none(trial)
        if trace is None:
            continue
        task = tasks.get(str(json.loads(result.read_text(encoding="utf-8")).get("task_name")))
        expected = tuple(file.path for file in load_ground_truth(task).files)
        shells = {False: ShellSession(), True: ShellSession()}
        for call in trace.calls:
            use = interpret(call)
            if use.command is None or call.result is None:
                continue
            analysis = shells[call.is_subagent].analyse(
                use.command,
                call.result.text,
                is_error=call.result.is_error,
                cwd=use.command_cwd or None,
            )
            group = (trace.harness, trial.parents[1].name)
            found.append(Analysed(group, use.command, call.result.text, analysis, expected))
    return found


def test_few_calls_are_opaque(calls: list[Analysed]) -> None:
    totals = Counter(call.group for call in calls)
    opaque = Counter(call.group for call in calls if call.analysis.opaque)
    assert sum(totals.values()) > 100
    assert sum(opaque.values()) / sum(totals.values()) < 0.06
    for group, n in totals.items():
        assert opaque[group] <= max(2, 0.12 * n), group


def test_every_target_is_well_formed(calls: list[Analysed]) -> None:
    for call in calls:
        for event in call.analysis.events:
            for target in event.targets:
                assert not target.is_pattern or target.doubt is not None
                name = target.path.removesuffix("/*").rsplit("/", 1)[-1]
                assert name in call.command + call.output or "$" in call.command, target
                assert "\n" not in target.path


def test_a_silent_command_leaves_nothing_possible(calls: list[Analysed]) -> None:
    silent = [call for call in calls if not call.output.strip()]
    assert silent
    for call in silent:
        possible = [t for e in call.analysis.events for t in e.targets if t.doubt is not None]
        assert all(target.access == "written" for target in possible), call


def why_missed(call: Analysed, path: str) -> str | None:
    """Return the class of a ground-truth path that is mentioned and is no target."""
    if call.output.lstrip().startswith(NOT_RUN):
        return "the call was refused"
    if call.analysis.opaque:
        return "the call is opaque"
    lines = [line.strip() for line in call.output.lower().splitlines() if line.strip()]
    shown = [line for line in lines if line not in call.command.lower()]
    noise = ("(bash completed with no output)", "exit code ")
    if not [line for line in shown if not line.startswith(noise)]:
        return "nothing was printed"
    if not any(path.lower() in line for line in lines):
        return "only in the command: nothing of it was printed"
    if any(program in call.command for program in ("python3 ", "git commit")):
        return "printed by a program that is no search"
    heads = [line.split(":")[0] for line in lines]
    is_named = any(head.endswith(path.lower()) and " " not in head for head in heads)
    return None if is_named else "mentioned inside other text"


def test_ground_truth_paths_are_found_or_explained(calls: list[Analysed]) -> None:
    classes: Counter[str | None] = Counter()
    for call in calls:
        text = f"{call.command}\n{call.output}".lower()
        targets = {
            t.path.lower() for e in call.analysis.events for t in e.targets if t.doubt is None
        }
        for path in call.ground_truth:
            if path.lower() not in text:
                continue
            is_found = any(t == path.lower() or t.endswith("/" + path.lower()) for t in targets)
            classes["found" if is_found else why_missed(call, path)] += 1
    assert classes["found"] > 100
    assert classes[None] <= 0.03 * classes.total()
    assert classes["only in the command: nothing of it was printed"] <= 0.06 * classes.total()


def test_plain_commands_are_read_as_the_grammar_reads_them(calls: list[Analysed]) -> None:
    commands = {call.command for call in calls}
    plain = {command: plain_script(command) for command in commands}
    read = {command: found for command, found in plain.items() if found is not None}
    assert len(read) > 0.8 * len(commands)
    assert [c for c, found in read.items() if found != parse_with_grammar(c)] == []
