"""Abstract execution: from syntax to the flat list of steps a command performs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.shell.expansion import (
    Environment,
    Unknown,
    Value,
    expand_word,
    expand_words,
)
from retrieval_eval.agents.traces.shell.output import Output
from retrieval_eval.agents.traces.shell.powershell import as_bash
from retrieval_eval.agents.traces.shell.programs.elsewhere import away_command, each_command
from retrieval_eval.agents.traces.shell.steps import (
    Arg,
    Invocation,
    Part,
    Step,
    literal,
    printed,
    words,
)
from retrieval_eval.agents.traces.shell.syntax import (
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
    parse,
)

MAX_STEPS: Final = 5000
"""Steps that are followed in one call; a longer script is opaque from there on."""

MAX_WORK: Final = 10_000
"""Pipelines that are interpreted in one call, whether or not they leave a step."""

MAX_SEARCHES: Final = 20
"""Loops of one call whose values are looked for in the output."""

MAX_CALLS: Final = 8
"""Depth of nested scripts (functions, ``bash -c``, substitutions) that is followed."""


class Context(Struct, frozen=True, gc=False):
    """What the surroundings of a command do to it."""

    is_conditional: bool = False
    hides_errors: bool = False
    is_shown: bool = True
    is_background: bool = False
    is_unordered: bool = False
    downstream: tuple[Invocation, ...] = ()
    depth: int = 0


def _ends_script(item: Item) -> str | None:
    """Return which command ends its script (``exit``, well or not) or function, or ``set -e``."""
    node = item.stages[0]
    if len(item.stages) != 1 or item.is_background or not isinstance(node, Command):
        return None
    texts = ["".join(piece.text for piece in word) for word in node.words[:4]]
    if texts[:1] == ["exit"]:
        return "exit" if texts[1:] and texts[1].strip("0").isdecimal() else "exit 0"
    if texts[:1] == ["return"]:
        return "return"
    if texts[:1] != ["set"]:
        return None
    is_flag = any(text[:1] == "-" and text[:2] != "--" and "e" in text[1:] for text in texts[1:])
    return "set" if is_flag or "errexit" in texts else None


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
        self._may_end_from: int | None = None
        self._may_end_well = False
        self._budget = budget if budget is not None else iter(range(MAX_WORK))

    def run(self, script: Sequence, context: Context) -> None:
        """Run the pipelines of ``script`` in order.

        What stands behind an ``exit`` does not run, and behind a command that fails it need not,
        where ``set -e`` or an ``exit`` in a condition ends the script then.
        """
        start = 0
        is_conditional = context.is_conditional
        n_uncertain = self._before_success(script, context)
        for i, item in enumerate(script.items):
            if len(self.steps) >= MAX_STEPS or next(self._budget, None) is None:
                self.add(Step(reason="the script has too many steps to follow"))
                return
            if item.operator == "||":
                is_conditional = True
            elif item.operator == "&&":
                is_conditional = is_conditional or (
                    i < n_uncertain and any(map(self._can_fail, self.steps[start:]))
                )
            else:
                is_conditional = context.is_conditional or self._may_have_ended()
            ends = _ends_script(item)
            if ends not in (None, "set") and not is_conditional:
                return
            if ends in ("exit 0", "exit", "set") and self._may_end_from is None:
                self._may_end_from = len(self.steps) if ends == "set" else 0
            self._may_end_well |= ends == "exit 0"
            start = len(self.steps)
            inner = context
            if is_conditional != context.is_conditional:
                inner = replace(context, is_conditional=is_conditional)
            if item.is_background:
                self._behind(item, inner)
            else:
                self._item(item, inner)

    def _may_have_ended(self) -> bool:
        """Return whether the script may have ended before what comes next."""
        if self._may_end_from is None or self._may_end_well:
            return self._may_end_well
        before = self.steps[self._may_end_from :]
        return not self.has_succeeded and any(map(self._can_fail, before))

    def _behind(self, item: Item, context: Context) -> None:
        """Run a pipeline that the shell does not wait for, in an environment of its own."""
        saved, self.environment = self.environment, self.environment.copy()
        self._item(item, replace(context, is_background=True))
        self.environment = saved

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
        is_plain = last.program in FAILS_LOUDLY and not last.hides_errors
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
                ends = self._may_end_from, self._may_end_well
                self.run(node.body, context)
                self._may_end_from, self._may_end_well = ends
                self.environment = saved
            else:
                self.run(node.body, context)
        elif isinstance(node, For):
            run_for(self, node, context)
        elif isinstance(node, While):
            run_while(self, node, context, feed, stdin)
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
            elif _is_to_errors(self, redirect):
                context = replace(context, is_unordered=True)
            elif redirect.operator in _WRITES:
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
        if run_builtin(self, first, more, context):
            return
        if run_each(self, tuple(stages), context):
            return
        if first.program in ("echo", "printf") and first.is_shown:
            if len(first.args) == 1 and first.args[0].captured and len(first.args[0].parts) == 1:
                self._captured(first.args[0].captured, more, context)
                return
            if not more:
                if any(arg.pattern for arg in first.args):
                    self.emit((first,), context)
                else:
                    self._print(first, context)
                return
        captured = [step for arg in first.args for step in arg.captured if step.stages]
        if captured and first.program in PRINT_NAMES and first.is_shown:
            changed = Invocation("while", cwd=self.environment.cwd)
            self._captured(tuple(captured), (changed, *more), context)
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
        if any(s.program not in KEEPS_LINES for s in context.downstream):
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
        is_unordered = stage.is_unordered and not context.downstream
        for marker in markers if context.is_shown and stage.is_shown else ():
            self.add(Step(marker=marker, is_conditional=is_conditional, is_unordered=is_unordered))

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
                if arg.captured:
                    self._embedded(arg)
        is_conditional = context.is_conditional or bool(context.downstream)
        step = Step(
            (*stages, *context.downstream),
            is_conditional=is_conditional,
            is_background=context.is_background,
            is_unordered=(*stages, *context.downstream)[-1].is_unordered,
        )
        self.add(step)

    def substitute(self, script: Sequence) -> tuple[Part, tuple[Step, ...]]:
        """Return the text of ``$(script)`` when it is certain, and the steps behind it."""
        inner = Interpreter(self.environment.copy(), self.output, budget=self._budget)
        inner.run(script, Context(depth=MAX_CALLS))
        return printed_text(inner.steps, inner.environment), tuple(inner.steps[:100])

    def run_text(self, text: str, context: Context, environment: Environment) -> None:
        """Run a script that is the argument of another command (``bash -c text``)."""
        if context.depth >= MAX_CALLS:
            self.add(Step(reason="scripts nested too deeply"))
            return
        saved, self.environment = self.environment, environment
        self.run(parse(text), replace(context, depth=context.depth + 1))
        self.environment = saved


# --------------------------------------------------------------------------------------------------
# Loops: unrolled over the words they are given, or over the names the output shows.

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
        elif arg.captured and _only_names(shell, node.body):
            is_plain = _template(shell, node.name, node.body) == ("", "")
            for step in arg.captured:
                if step.stages and is_plain:
                    shell.emit(step.stages, context)
                elif step.stages:
                    _emit_changed(shell, step.stages, context)
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
        if feed and _template(shell, names[0], node.body) == ("", ""):
            shell.emit(feed, context)
        elif feed and _only_names(shell, node.body):
            _emit_changed(shell, feed, context)
            return
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


def _only_names(shell: Interpreter, body: Sequence) -> bool:
    """Return whether all that a loop prints are parts of the names that it is given."""
    nodes = [node for item in body.items for node in item.stages]
    commands = [node.words for node in nodes if isinstance(node, Command) and node.words]
    if not commands or len(commands) < len(nodes):
        return False
    args = [expand_words(words, shell.environment, shell.substitute) for words in commands]
    has_others = any(step.stages for words in args for arg in words for step in arg.captured)
    return not has_others and {words[0].text for words in args if words} <= PRINT_NAMES


def _emit_changed(shell: Interpreter, feed: tuple[Invocation, ...], context: Context) -> None:
    """Record a pipeline whose lines a loop prints in a form of its own."""
    shell.emit((*feed, Invocation("while", cwd=shell.environment.cwd)), context)


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
            body = parse(script)
            if i and _only_names(shell, body):
                _emit_changed(shell, stages[:i], inner)
            else:
                _over_shown_names(shell, name, Arg((None,)), body, inner)
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
            program = args[0].text if args else None
            if program in ("echo", "printf"):
                lines = [m.text for m in printed(program, tuple(args[1:]))]
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


# --------------------------------------------------------------------------------------------------
# Commands that change the shell itself, and commands that run another command.

FAILS_LOUDLY: Final = words(
    "cat head tail sed ls find wc sort uniq cut awk cd pushd popd echo printf mkdir cp mv "
    "touch rm tee export pwd nl tac true : set tree stat file git redirect"
)
"""Programs that fail only with a message, so that silence means success."""

PRINT_NAMES: Final = words("echo printf basename dirname realpath readlink")
"""Programs that print the names that they are given, or parts of them."""

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
    """Return the command that ``sudo``, ``timeout``, ``env``, ``docker exec`` … run.

    Examples
    --------
    >>> from retrieval_eval.agents.traces.shell.steps import literal
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
    inner = away_command(stage)
    return stage if inner is None else unwrap(inner)


def run_builtin(
    shell: Interpreter, stage: Invocation, more: tuple[Invocation, ...], context: Context
) -> bool:
    """Carry out a built-in or a nested script; False when ``stage`` is an ordinary command."""
    script = _script(stage)
    if script is not None:
        inner = replace(
            context,
            downstream=(*more, *context.downstream),
            hides_errors=context.hides_errors or stage.hides_errors,
            is_shown=context.is_shown and stage.is_shown,
        )
        shell.run_text(script, inner, _environment_of(shell, stage))
        return True
    if stage.program in shell.environment.functions:
        _call(shell, stage, replace(context, downstream=(*more, *context.downstream)))
        return True
    if more:
        return False
    if stage.program in ("cd", "chdir", "pushd", "popd"):
        _change_directory(shell, stage, context)
        return True
    if stage.program == "read":
        first = Invocation("head", (literal("-n1"),), stage.cwd, stdin=stage.stdin)
        captured = (Step((first,)),) if stage.stdin is not None else ()
        for arg in stage.args:
            shell.environment.variables[arg.raw] = Unknown(None, captured)
        return True
    return False


def _environment_of(shell: Interpreter, stage: Invocation) -> Environment:
    """Return what a nested script sees; in another place it is nothing of this shell."""
    if stage.is_away:
        return Environment(stage.cwd)
    return shell.environment if stage.program == "eval" else shell.environment.copy()


def _script(stage: Invocation) -> str | None:
    if stage.program == "eval":
        texts = [arg.text for arg in stage.args]
        known = [text for text in texts if text is not None]
        return " ".join(known) if known and len(known) == len(texts) else None
    if stage.program.lower() in _WINDOWS_SHELLS:
        return _windows_script(stage)
    if stage.program not in _SHELLS:
        return None
    for i, arg in enumerate(stage.args):
        text = arg.raw
        if re.fullmatch(r"-[a-z]*c", text) and i + 1 < len(stage.args):
            return stage.args[i + 1].text
        if not text.startswith("-"):
            return None
    return stage.script


_WINDOWS_SHELLS: Final = words("pwsh powershell pwsh.exe powershell.exe cmd cmd.exe")


def _windows_script(stage: Invocation) -> str | None:
    """Return what ``pwsh -c`` or ``cmd /c`` runs, in the words of bash."""
    for i, arg in enumerate(stage.args):
        if arg.raw.lower() in ("-c", "-command", "/c", "/k"):
            rest = [part.text for part in stage.args[i + 1 :]]
            known = [text for text in rest if text is not None]
            return as_bash(" ".join(known)) if known and len(known) == len(rest) else None
    return None


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


# --------------------------------------------------------------------------------------------------
# Simple commands: expansion, redirects and assignments.

MAX_VALUE: Final = 4096
"""Characters of a variable that are followed; a longer value is unknown."""


def read_command(shell: Interpreter, node: Command, context: Context) -> Invocation:
    """Return a simple command with its words expanded; assignments take effect at once."""
    if not node.words:
        _assign(shell, node, context)
    args = expand_words(node.words, shell.environment, shell.substitute)
    context, stdin = _inline(shell, node, context)
    name = args[0].text if args else "redirect" if node.redirects else ""
    stage = Invocation(
        posixpath.basename(name or ""),
        tuple(args[1:]),
        shell.environment.cwd,
        hides_errors=context.hides_errors,
        is_shown=context.is_shown and not (context.is_unordered and context.hides_errors),
        is_unordered=context.is_unordered,
    )
    if node.redirects:
        writes = [
            redirect
            for redirect in node.redirects
            if redirect.operator in _WRITES
            and redirect.descriptor != "2"
            and not _is_to_errors(shell, redirect)
        ]
        is_appending = any(r.operator in (">>", "&>>") for r in node.redirects)
        stage = replace(stage, writes=tuple(map(shell.word, writes)), is_appending=is_appending)
    if stdin is not None and stdin.body is not None:
        body = expand_word(stdin.body, shell.environment, shell.substitute)
        stage = replace(stage, script=body.raw)
    elif stdin is not None:
        stage = replace(stage, stdin=shell.word(stdin))
    return unwrap(stage)


_WRITES: Final = words("> >> >| &> &>>")
_SHOWN_DEVICES: Final = frozenset(["/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1"])


_ERROR_DEVICES: Final = frozenset(["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"])


def _is_to_errors(shell: Interpreter, redirect: Redirect) -> bool:
    """Return whether a redirect sends standard output to standard error."""
    if redirect.descriptor not in ("", "1") or redirect.operator not in (">&", ">", ">>", ">|"):
        return False
    target = shell.word(redirect).text
    return target == "2" if redirect.operator == ">&" else target in _ERROR_DEVICES


def _inline(shell: Interpreter, node: Command, context: Context) -> tuple[Context, Redirect | None]:
    stdin = None
    for redirect in node.redirects:
        if redirect.operator in ("<", "<<", "<<<"):
            stdin = redirect
        elif _is_to_errors(shell, redirect):
            context = replace(context, is_unordered=True)
        elif redirect.operator in _WRITES:
            if redirect.descriptor == "2" or redirect.operator[0] == "&":
                context = replace(context, hides_errors=True)
            if redirect.descriptor != "2" and shell.word(redirect).text not in _SHOWN_DEVICES:
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
