"""Simple commands: expansion, redirects and assignments."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from retrieval_eval.traces.shell import builtins
from retrieval_eval.traces.shell.environment import Unknown, Value
from retrieval_eval.traces.shell.expand import expand_word, expand_words
from retrieval_eval.traces.shell.steps import Invocation
from retrieval_eval.traces.shell.syntax import Command, Redirect

if TYPE_CHECKING:
    from retrieval_eval.traces.shell.interpret import Interpreter

MAX_VALUE: Final = 4096
"""Characters of a variable that are followed; a longer value is unknown."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the surroundings of a command do to it."""

    is_conditional: bool = False
    hides_errors: bool = False
    is_shown: bool = True
    downstream: tuple[Invocation, ...] = ()
    depth: int = 0


def read_command(shell: Interpreter, node: Command, context: Context) -> Invocation:
    """Return a simple command with its words expanded; assignments take effect at once."""
    if not node.words:
        _assign(shell, node, context)
    args = expand_words(node.words, shell.environment, shell.substitute)
    context, stdin = _inline(node, context)
    name = args[0].text if args else "redirect" if node.redirects else ""
    stage = Invocation(
        posixpath.basename(name or ""),
        tuple(args[1:]),
        shell.environment.cwd,
        hides_errors=context.hides_errors,
        is_shown=context.is_shown,
        writes=tuple(
            shell.word(r)
            for r in node.redirects
            if r.operator in (">", ">>", ">|", "&>", "&>>") and r.descriptor != "2"
        ),
    )
    if stdin is not None and stdin.body is not None:
        body = expand_word(stdin.body, shell.environment, shell.substitute)
        stage = replace(stage, script=body.raw)
    elif stdin is not None:
        stage = replace(stage, stdin=shell.word(stdin))
    return builtins.unwrap(stage)


def _inline(node: Command, context: Context) -> tuple[Context, Redirect | None]:
    stdin = None
    for redirect in node.redirects:
        if redirect.operator in ("<", "<<", "<<<"):
            stdin = redirect
        elif redirect.operator in (">", ">>", ">|", "&>", "&>>"):
            if redirect.descriptor == "2" or redirect.operator[0] == "&":
                context = replace(context, hides_errors=True)
            if redirect.descriptor != "2":
                context = replace(context, is_shown=False)
    return context, stdin


def _assign(shell: Interpreter, node: Command, context: Context) -> None:
    for assignment in node.assignments:
        value: Value = Unknown()
        if assignment.is_array:
            words = expand_words(assignment.words, shell.environment, shell.substitute)
            texts = tuple(arg.text for arg in words if arg.text is not None)
            value = texts if len(texts) == len(words) else Unknown()
        elif assignment.words:
            arg = expand_word(assignment.words[0], shell.environment, shell.substitute)
            is_known = None not in arg.parts
            value = arg.raw if is_known else Unknown(None, arg.captured)
        is_certain = not assignment.is_append and not context.is_conditional
        is_short = isinstance(value, Unknown) or sum(map(len, value)) <= MAX_VALUE
        shell.environment.variables[assignment.name] = (
            value if is_certain and is_short else Unknown()
        )
