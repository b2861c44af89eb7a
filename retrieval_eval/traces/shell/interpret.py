"""Abstract execution: from syntax to the flat list of steps a command performs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from retrieval_eval.traces.shell import builtins, loops
from retrieval_eval.traces.shell.commands import Context, read_command
from retrieval_eval.traces.shell.environment import Environment
from retrieval_eval.traces.shell.expand import expand_word
from retrieval_eval.traces.shell.output import Output
from retrieval_eval.traces.shell.parse import parse
from retrieval_eval.traces.shell.printing import printed
from retrieval_eval.traces.shell.steps import Arg, Invocation, Part, Step
from retrieval_eval.traces.shell.syntax import (
    Branch,
    Command,
    For,
    Function,
    Group,
    Item,
    Node,
    Redirect,
    Sequence,
    Unparsed,
    While,
)

MAX_STEPS: Final = 5000
"""Steps that are followed in one call; a longer script is opaque from there on."""

MAX_WORK: Final = 10_000
"""Pipelines that are interpreted in one call, whether or not they leave a step."""

MAX_SEARCHES: Final = 20
"""Loops of one call whose values are looked for in the output."""

MAX_CALLS: Final = 8
"""Depth of nested scripts (functions, ``bash -c``, substitutions) that is followed."""


class Interpreter:
    """Runs one script over an environment and collects its steps."""

    def __init__(
        self,
        environment: Environment,
        output: Output,
        has_succeeded: bool = False,
        budget: Iterator[int] | None = None,
    ) -> None:
        self.environment = environment
        self.output = output
        self.has_succeeded = has_succeeded
        self.steps: list[Step] = []
        self.searches = iter(range(MAX_SEARCHES))
        self._budget = budget if budget is not None else iter(range(MAX_WORK))

    def run(self, script: Sequence, context: Context) -> None:
        """Run the pipelines of ``script`` in order."""
        is_doubtful = False
        is_conditional = context.is_conditional
        n_uncertain = self._before_success(script, context)
        for i, item in enumerate(script.items):
            if len(self.steps) >= MAX_STEPS or next(self._budget, None) is None:
                self.add(Step(reason="the script has too many steps to follow"))
                return
            if item.operator == "||":
                is_conditional = True
            elif item.operator == "&&":
                is_conditional = is_conditional or (is_doubtful and i < n_uncertain)
            else:
                is_conditional = context.is_conditional
            start = len(self.steps)
            self._item(item, replace(context, is_conditional=is_conditional))
            is_doubtful = any(self._can_fail(step) for step in self.steps[start:])

    def _before_success(self, script: Sequence, context: Context) -> int:
        """Return how many items precede the final ``&&`` chain of a call that succeeded.

        Every command of that chain must have run, or the call would have failed.
        """
        n_items = len(script.items)
        if not self.has_succeeded or context.is_conditional or context.depth:
            return n_items
        for i in range(n_items - 1, -1, -1):
            if script.items[i].operator == "||":
                return n_items
            if script.items[i].operator == ";":
                return i
        return 0

    def add(self, step: Step) -> None:
        """Record a step unless the limit is reached."""
        if len(self.steps) <= MAX_STEPS:
            self.steps.append(step)

    def _can_fail(self, step: Step) -> bool:
        if not step.stages:
            return False
        last = step.stages[-1]
        is_plain = last.program in builtins.FAILS_LOUDLY and not last.hides_errors
        return not is_plain or bool(self.output.errors)

    def _item(self, item: Item, context: Context) -> None:
        stages = item.stages
        at = next((i for i, s in enumerate(stages) if not isinstance(s, Command)), None)
        if at is None:
            self._pipeline(stages, context)
            return
        before = [read_command(self, s, context) for s in stages[:at] if isinstance(s, Command)]
        after = [read_command(self, s, context) for s in stages[at + 1 :] if isinstance(s, Command)]
        if len(before) + len(after) + 1 < len(stages):
            self.add(Step(reason="two compound commands in one pipeline"))
            return
        inner = replace(context, downstream=(*after, *context.downstream))
        self.compound(stages[at], inner, tuple(before))

    def compound(self, node: Node, context: Context, feed: tuple[Invocation, ...] = ()) -> None:
        """Run a command that is not simple; ``feed`` is the pipeline that writes to it."""
        context, stdin = self._redirected(node.redirects, context)
        if isinstance(node, Group):
            if feed:
                self.add(Step((*feed, Invocation("{", cwd=self.environment.cwd))))
                return
            if node.is_subshell or context.downstream:
                saved, self.environment = self.environment, self.environment.copy()
                self.run(node.body, context)
                self.environment = saved
            else:
                self.run(node.body, context)
        elif isinstance(node, For):
            loops.run_for(self, node, context)
        elif isinstance(node, While):
            loops.run_while(self, node, context, feed, stdin)
        elif isinstance(node, Branch):
            self._branch(node, context)
        elif isinstance(node, Function):
            self.environment.functions[node.name] = node.body
        elif isinstance(node, Unparsed):
            self.add(Step(reason=f"not understood as shell syntax: {node.text[:60]!r}"))

    def _branch(self, node: Branch, context: Context) -> None:
        self.run(node.condition, context)
        before = self.environment.cwd
        directories = {before}
        for arm in node.arms:
            self.environment.cwd = before
            self.run(arm, replace(context, is_conditional=True))
            directories.add(self.environment.cwd)
        self.environment.cwd = before if len(directories) == 1 else None

    def _redirected(
        self, redirects: tuple[Redirect, ...], context: Context
    ) -> tuple[Context, Redirect | None]:
        stdin = None
        for redirect in redirects:
            if redirect.operator in ("<", "<<", "<<<"):
                stdin = redirect
            elif redirect.operator in (">", ">>", ">|", "&>", "&>>"):
                target = self.word(redirect)
                if redirect.descriptor == "2":
                    context = replace(context, hides_errors=True)
                else:
                    context = replace(context, is_shown=False)
                    self._write(target, context)
        return context, stdin

    def _write(self, target: Arg, context: Context) -> None:
        stage = Invocation("redirect", cwd=self.environment.cwd, is_shown=False, writes=(target,))
        self.add(Step((stage,), is_conditional=context.is_conditional))

    def word(self, redirect: Redirect) -> Arg:
        """Return the target of a redirect."""
        return expand_word(redirect.target, self.environment, self.substitute)

    def _pipeline(self, nodes: tuple[Node, ...], context: Context) -> None:
        stages = [read_command(self, n, context) for n in nodes if isinstance(n, Command)]
        first, more = stages[0], tuple(stages[1:])
        if builtins.run(self, first, more, context):
            return
        if loops.run_each(self, tuple(stages), context):
            return
        if first.program in ("echo", "printf") and first.is_shown:
            if len(first.args) == 1 and first.args[0].captured and len(first.args[0].parts) == 1:
                self._captured(first.args[0].captured, more, context)
                return
            if not more:
                self._print(first, context)
                return
        if all(stage.program for stage in stages):
            self.emit(tuple(stages), context)
        elif len(stages) > 1 or first.args:
            self.emit(tuple(replace(s, program=s.program or "?") for s in stages), context)

    def _captured(
        self, steps: tuple[Step, ...], more: tuple[Invocation, ...], context: Context
    ) -> None:
        for step in steps:
            if step.marker is None and step.stages:
                self.emit((*step.stages, *more), context)
            else:
                self.add(step)

    def _print(self, stage: Invocation, context: Context) -> None:
        if any(s.program not in builtins.KEEPS_LINES for s in context.downstream):
            return
        is_conditional = context.is_conditional or bool(context.downstream)
        captured = [step for arg in stage.args for step in arg.captured if step.stages]
        markers = printed(stage.program, stage.args)
        if len(captured) == 1 and len(markers) == 1 and context.is_shown:
            shown = replace(captured[0], marker=markers[0], is_conditional=is_conditional)
            self.add(shown)
            return
        for arg in stage.args:
            self._embedded(arg)
        for marker in markers if context.is_shown else ():
            self.add(Step(marker=marker, is_conditional=is_conditional))

    def _embedded(self, arg: Arg) -> None:
        for step in arg.captured:
            hidden = tuple(replace(s, is_shown=False) for s in step.stages)
            self.add(replace(step, stages=hidden, is_conditional=True, marker=None))

    def emit(self, stages: tuple[Invocation, ...], context: Context) -> None:
        """Record a pipeline of simple commands."""
        if not context.is_shown:
            stages = (*stages[:-1], replace(stages[-1], is_shown=False))
        for stage in stages:
            for arg in stage.args:
                self._embedded(arg)
        is_conditional = context.is_conditional or bool(context.downstream)
        self.add(Step((*stages, *context.downstream), is_conditional=is_conditional))

    def substitute(self, script: Sequence) -> tuple[Part, tuple[Step, ...]]:
        """Return the text of ``$(script)`` when it is certain, and the steps behind it."""
        inner = Interpreter(self.environment.copy(), self.output, budget=self._budget)
        inner.run(script, Context(depth=MAX_CALLS))
        return builtins.printed_text(inner.steps, inner.environment), tuple(inner.steps[:100])

    def run_text(self, text: str, context: Context, environment: Environment) -> None:
        """Run a script that is the argument of another command (``bash -c text``)."""
        if context.depth >= MAX_CALLS:
            self.add(Step(reason="scripts nested too deeply"))
            return
        saved, self.environment = self.environment, environment
        self.run(parse(text), replace(context, depth=context.depth + 1))
        self.environment = saved
