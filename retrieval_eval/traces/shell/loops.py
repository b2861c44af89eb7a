"""Loops: unrolled over the words they are given, or over the names the output shows."""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from retrieval_eval.traces.shell.environment import Unknown
from retrieval_eval.traces.shell.expand import expand_word, expand_words
from retrieval_eval.traces.shell.feeds import each_command
from retrieval_eval.traces.shell.parse import parse
from retrieval_eval.traces.shell.printing import printed
from retrieval_eval.traces.shell.steps import Arg, Invocation, Step
from retrieval_eval.traces.shell.syntax import Branch, Command, For, Redirect, Sequence, While

if TYPE_CHECKING:
    from retrieval_eval.traces.shell.commands import Context
    from retrieval_eval.traces.shell.interpret import Interpreter

_EACH = "_each"

MAX_ROUNDS: Final = 1000
"""Rounds of one loop that are followed; a longer loop is opaque."""


def run_for(shell: Interpreter, node: For, context: Context) -> None:
    """Run ``for name in words``."""
    args = expand_words(node.words, shell.environment, shell.substitute)
    if len(args) > MAX_ROUNDS:
        shell.add(Step(reason=f"a loop over {len(args)} words"))
        return
    for arg in args:
        text = arg.text
        if text is not None:
            shell.environment.variables[node.name] = text
            shell.run(node.body, context)
        else:
            _over_shown_names(shell, node.name, arg, node.body, context)


def run_while(
    shell: Interpreter,
    node: While,
    context: Context,
    feed: tuple[Invocation, ...],
    stdin: Redirect | None,
) -> None:
    """Run ``while condition``; ``while read`` over a known list is unrolled like ``for``."""
    names = _read_names(node.condition, shell)
    if names is None:
        for name in _assigned(node.body):
            shell.environment.variables[name] = Unknown()
        shell.run(node.body, replace(context, is_conditional=True))
        return
    lines = _known_lines(shell, feed, stdin)
    if lines is None:
        if stdin is not None and _template(shell, names[0], node.body) == ("", ""):
            shell.add(Step(reason="a loop that prints the lines of a file"))
        _over_shown_names(shell, names[0], Arg((None,)), node.body, context)
        return
    if len(lines) > MAX_ROUNDS:
        shell.add(Step(reason=f"a loop over {len(lines)} lines"))
        return
    for line in lines:
        for name, text in zip(names, line.split(None, len(names) - 1), strict=False):
            shell.environment.variables[name] = text.strip()
        shell.run(node.body, context)


def run_each(shell: Interpreter, stages: tuple[Invocation, ...], context: Context) -> bool:
    """Run ``… | xargs -I{} sh -c script`` or ``find -exec sh -c script`` like a loop.

    Returns False when ``stages`` hold no such command.
    """
    for i, stage in enumerate(stages):
        command, hole = each_command(stage)
        found = _inline_script(command, hole) if command is not None else None
        if found is not None:
            name, script = found
            inner = replace(context, downstream=(*stages[i + 1 :], *context.downstream))
            _over_shown_names(shell, name, Arg((None,)), parse(script), inner)
            return True
    return False


def _inline_script(command: Invocation, hole: str) -> tuple[str, str] | None:
    texts = command.texts()
    if command.program not in ("sh", "bash") or len(texts) < 2 or texts[0] != "-c":
        return None
    script = command.args[1].text
    if script is None:
        return None
    if hole in script:
        return _EACH, script.replace(hole, f"${{{_EACH}}}")
    fed = [i for i, arg in enumerate(command.args[2:]) if arg.is_feed or arg.raw == hole]
    return (str(fed[0]), script) if fed else None


def _read_names(condition: Sequence, shell: Interpreter) -> list[str] | None:
    for item in condition.items:
        node = item.stages[0]
        if isinstance(node, Command) and node.words:
            words = expand_words(node.words, shell.environment, shell.substitute)
            if words[0].text == "read":
                names = [w.raw for w in words[1:] if w.raw.isidentifier()]
                return names or ["REPLY"]
    return None


def _assigned(body: Sequence) -> list[str]:
    nodes = [stage for item in body.items for stage in item.stages]
    return [a.name for node in nodes if isinstance(node, Command) for a in node.assignments]


def _known_lines(
    shell: Interpreter, feed: tuple[Invocation, ...], stdin: Redirect | None
) -> list[str] | None:
    if stdin is not None and stdin.body is not None:
        text = expand_word(stdin.body, shell.environment, shell.substitute).text
        return None if text is None else text.splitlines()
    if len(feed) == 1 and feed[0].program in ("echo", "printf"):
        texts = [marker.text for marker in printed(feed[0].program, feed[0].args)]
        known = [text for text in texts if text is not None]
        return known if len(known) == len(texts) else None
    return None


def _over_shown_names(
    shell: Interpreter, name: str, word: Arg, body: Sequence, context: Context
) -> None:
    """Run ``body`` for each value of ``name`` that a line printed inside the loop shows.

    Without such a line the body runs once over the pattern: its commands may still name files
    in what they print.
    """
    shell.environment.variables[name] = Unknown(word.pattern)
    values = _shown_values(shell, name, word, body)
    if not values:
        shell.run(body, replace(context, is_conditional=True))
        return
    if len(values) > MAX_ROUNDS:
        shell.add(Step(reason=f"a loop over {len(values)} names"))
        return
    for value in values:
        shell.environment.variables[name] = value
        shell.run(body, context)


def _shown_values(shell: Interpreter, name: str, word: Arg, body: Sequence) -> list[str]:
    template = _template(shell, name, body)
    if template is None or next(shell.searches, None) is None:
        return []
    prefix, suffix = template
    if not prefix.strip() and not suffix.strip() and word.pattern is None:
        return []
    values = []
    for line in shell.output.lines:
        if len(line) < len(prefix) + len(suffix) + 1 or len(line) > 1000:
            continue
        if line.startswith(prefix) and line.endswith(suffix):
            value = line[len(prefix) : len(line) - len(suffix)]
            if word.pattern is None or fnmatchcase(value, word.pattern):
                values.append(value)
    return values


def _template(shell: Interpreter, name: str, body: Sequence) -> tuple[str, str] | None:
    """Return what the first ``echo`` of ``body`` prints before and after ``$name``."""
    for item in body.items:
        for node in item.stages:
            if isinstance(node, Branch):
                found = next(filter(None, (_template(shell, name, a) for a in node.arms)), None)
                if found:
                    return found
            if not isinstance(node, Command) or not _mentions(node, name):
                continue
            mark = "\x00"
            saved = shell.environment.variables.get(name)
            shell.environment.variables[name] = mark
            args = expand_words(node.words, shell.environment, shell.substitute)
            shell.environment.variables[name] = saved if saved is not None else Unknown()
            if args and args[0].text in ("echo", "printf"):
                lines = [m.text for m in printed(args[0].text or "", tuple(args[1:]))]
                marked = [text for text in lines if text is not None and text.count(mark) == 1]
                if marked:
                    prefix, _, suffix = marked[0].partition(mark)
                    return prefix, suffix
    return None


def _mentions(node: Command, name: str) -> bool:
    return any(
        piece.kind == "variable" and re.sub(r"\W.*", "", piece.text) == name and not piece.operator
        for word in node.words
        for piece in word
    )
