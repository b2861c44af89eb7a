"""Commands that change the shell itself, and commands that run another command."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from retrieval_eval.traces.shell.environment import Environment, Unknown
from retrieval_eval.traces.shell.options import words
from retrieval_eval.traces.shell.steps import Invocation, Step

if TYPE_CHECKING:
    from retrieval_eval.traces.shell.commands import Context
    from retrieval_eval.traces.shell.interpret import Interpreter

FAILS_LOUDLY: Final = words(
    "cat head tail sed ls find wc sort uniq cut awk cd pushd popd echo printf mkdir cp mv "
    "touch rm tee export pwd nl tac true : set tree stat file git redirect"
)
"""Programs that fail only with a message, so that silence means success."""

KEEPS_LINES: Final = words("head tail cat grep egrep fgrep less more tee")
"""Filters that let lines through unchanged and in order."""

_SHELLS = frozenset(["bash", "sh", "zsh", "dash", "ksh"])
_WRAPPERS: Final[dict[str, tuple[str, int]]] = {
    "sudo": ("-u -g -h -p -C -U", 0),
    "timeout": ("-s -k --signal --kill-after", 1),
    "env": ("-u -C -S", 0),
    "nice": ("-n", 0),
    "ionice": ("-c -n -p", 0),
    "nohup": ("", 0),
    "time": ("-f -o", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("-a", 0),
    "stdbuf": ("-i -o -e", 0),
    "setsid": ("", 0),
}
"""Wrapper → options that take a value, and words of its own before the wrapped command."""


def unwrap(stage: Invocation) -> Invocation:
    """Return the command that ``sudo``, ``timeout``, ``env`` … run.

    Examples
    --------
    >>> from retrieval_eval.traces.shell.steps import literal
    >>> unwrap(Invocation("timeout", (literal("5"), literal("cat"), literal("a")))).program
    'cat'
    """
    while stage.program in _WRAPPERS:
        with_value, words = _WRAPPERS[stage.program]
        texts = stage.texts()
        i = 0
        while i < len(texts):
            if texts[i] in with_value.split():
                i += 2
            elif texts[i].startswith("-") or re.match(r"[A-Za-z_]\w*=", texts[i]):
                i += 1
            elif words:
                words -= 1
                i += 1
            else:
                break
        if i >= len(texts):
            return stage
        stage = stage.rest(i)
    return stage


def run(
    shell: Interpreter, stage: Invocation, more: tuple[Invocation, ...], context: Context
) -> bool:
    """Carry out a built-in or a nested script; False when ``stage`` is an ordinary command."""
    inner = replace(context, downstream=(*more, *context.downstream))
    script = _script(stage)
    if script is not None:
        inner = replace(
            inner,
            hides_errors=context.hides_errors or stage.hides_errors,
            is_shown=context.is_shown and stage.is_shown,
        )
        environment = shell.environment if stage.program == "eval" else shell.environment.copy()
        shell.run_text(script, inner, environment)
        return True
    if stage.program in shell.environment.functions:
        _call(shell, stage, inner)
        return True
    if more:
        return False
    if stage.program in ("cd", "chdir", "pushd", "popd"):
        _change_directory(shell, stage, context)
        return True
    if stage.program == "read":
        for arg in stage.args:
            shell.environment.variables[arg.raw] = Unknown()
        return True
    return False


def _script(stage: Invocation) -> str | None:
    if stage.program == "eval":
        texts = [arg.text for arg in stage.args]
        known = [text for text in texts if text is not None]
        return " ".join(known) if known and len(known) == len(texts) else None
    if stage.program not in _SHELLS:
        return None
    for i, arg in enumerate(stage.args):
        text = arg.raw
        if re.fullmatch(r"-[a-z]*c", text) and i + 1 < len(stage.args):
            return stage.args[i + 1].text
        if not text.startswith("-"):
            return None
    return stage.script


def _call(shell: Interpreter, stage: Invocation, context: Context) -> None:
    body = shell.environment.functions[stage.program]
    if context.depth >= 8:
        shell.add(Step(reason="functions nested too deeply"))
        return
    saved = shell.environment.variables
    shell.environment.variables = dict(saved)
    for i, arg in enumerate(stage.args, start=1):
        text = arg.text
        shell.environment.variables[str(i)] = (
            Unknown(arg.pattern, arg.captured) if text is None else text
        )
    texts = tuple(arg.text for arg in stage.args if arg.text is not None)
    if len(texts) == len(stage.args):
        shell.environment.variables["@"] = shell.environment.variables["*"] = texts
    shell.run(body, replace(context, depth=context.depth + 1))
    shell.environment.variables = saved


def _change_directory(shell: Interpreter, stage: Invocation, context: Context) -> None:
    environment = shell.environment
    if stage.program == "popd":
        environment.pop()
        return
    args = [a for a in stage.args if a.raw == "-" or not a.raw.startswith("-")]
    target = args[0].text if args else "~"
    if target is not None and shell.output.failed(target, environment.cwd, "cd"):
        return
    if context.is_conditional:
        environment.previous, environment.cwd = environment.cwd, None
    elif stage.program == "pushd":
        environment.push(target)
    else:
        environment.change_directory(target)


def printed_text(steps: list[Step], environment: Environment) -> str | None:
    """Return what a substitution prints when that is certain, else None."""
    if len(steps) != 1 or steps[0].is_conditional:
        return None
    step = steps[0]
    if step.marker is not None and not step.stages:
        return step.marker.text
    if len(step.stages) != 1:
        return None
    stage = step.stages[0]
    texts = [arg.text for arg in stage.args]
    if stage.program == "pwd":
        return environment.cwd or None
    if stage.program in ("dirname", "basename") and texts and texts[0]:
        path = texts[0].rstrip("/") or "/"
        if stage.program == "dirname":
            return posixpath.dirname(path) or "."
        suffix = texts[1] if len(texts) > 1 and texts[1] else ""
        return posixpath.basename(path).removesuffix(suffix)
    return None
