"""Dividing an output by the lines that echo is known to print."""

from __future__ import annotations

from retrieval_eval.agents.traces.shell.output import align, read_output
from retrieval_eval.agents.traces.shell.steps import Invocation, Marker, Step
from retrieval_eval.records import CUT_HERE

RUN = Step((Invocation("cat"),))


def mark(*parts: str | None, ends_line: bool = True, conditional: bool = False) -> Step:
    return Step(marker=Marker(parts, ends_line), is_conditional=conditional)


def lines(steps: list[Step], text: str) -> list[list[str]]:
    segments = align(steps, read_output(text))
    return [segment.lines for step, segment in zip(steps, segments, strict=True) if step.stages]


def test_blank_lines_divide_only_when_they_are_all_accounted_for():
    steps = [RUN, mark(""), mark("=b"), RUN]
    assert lines(steps, "1\n\n=b\n2") == [["1"], ["2"]]
    assert lines([RUN, mark(""), RUN], "1\n\n2") == [["1"], ["2"]]
    segments = align([RUN, mark(""), RUN], read_output("1\n\n2\n\n3"))
    assert segments[0] is segments[2]


def test_a_divider_behind_a_cut_is_one_of_the_last():
    steps = [RUN, mark("---"), RUN, mark("---"), RUN, mark("---"), RUN]
    segments = align(steps, read_output(f"1\n---\n2\n{CUT_HERE}\n3\n---\n4"))
    assert [segments[i].lines for i in (0, 2, 6)] == [["1"], ["2", "3"], ["4"]]
    assert segments[2] is segments[4]
    assert [segments[i].cuts for i in (0, 2, 6)] == [[], [1], []]
