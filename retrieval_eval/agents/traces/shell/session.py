"""One shell across the calls of a trace."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.results.base import joined
from retrieval_eval.agents.traces.shell.copies import EDITORS, Copies, copied
from retrieval_eval.agents.traces.shell.expansion import Environment
from retrieval_eval.agents.traces.shell.interpreter import Context, Interpreter
from retrieval_eval.agents.traces.shell.judge import (
    Evidence,
    Verdict,
    judge,
    shared_evidence,
)
from retrieval_eval.agents.traces.shell.naming import anywhere, states_of
from retrieval_eval.agents.traces.shell.output import Output, align, read_output
from retrieval_eval.agents.traces.shell.pipeline import Plans, plan_pipeline
from retrieval_eval.agents.traces.shell.places import Place, places
from retrieval_eval.agents.traces.shell.plan import Plan
from retrieval_eval.agents.traces.shell.powershell import as_bash, as_bash_prints, is_powershell
from retrieval_eval.agents.traces.shell.programs.remote import download
from retrieval_eval.agents.traces.shell.programs.scripts import script_of
from retrieval_eval.agents.traces.shell.steps import Invocation, Step, is_absolute
from retrieval_eval.agents.traces.shell.syntax import parse
from retrieval_eval.records import Doubt, RawTarget, ToolCategory

MAX_KNOWN: Final = 100_000
"""Files that a session knows to exist."""

MAX_LOGS: Final = 1000
"""Files written by pipelines that a session remembers."""

WENT_ON: Final = "a command that went on in the background"
"""Why a command whose output was not shown is opaque."""

_OPEN: Final = ("opaque", "mentions")
_LONGEST_LOG: Final = 20
"""Commands of a pipeline that reads what another one wrote."""

_MOST_MOVED: Final = 500

MAX_COMMAND: Final = 200_000
"""Characters of a command that are parsed; a longer one is opaque."""


class ShellSession:
    """The working directory and variables of one shell across its calls.

    Parameters
    ----------
    cwd
        The folder in which the shell begins, None where it is not known.
    copies
        The copies of files that all shells of a trial made; its own where None.

    Examples
    --------
    >>> shell = ShellSession()
    >>> shell.analyse("cd /repo && git status", "clean").events
    ()
    >>> found = shell.analyse("head -n 5 a.py", "import os").events[0].targets[0]
    >>> found.path, found.access, found.lines, found.doubt
    ('/repo/a.py', 'opened', ((1, 5),), None)
    """

    def __init__(self, cwd: str | None = None, copies: Copies | None = None) -> None:
        self._environment = Environment(cwd or "")
        self._start = cwd
        self._copies = copies if copies is not None else Copies()
        self._known: set[str] = set()
        self._logs: dict[str, tuple[Invocation, ...]] = {}

    @property
    def cwd(self) -> str | None:
        """The working directory after the last call, None when it is not known."""
        return self._environment.cwd or None

    def restart(self, cwd: str | None) -> None:
        """Begin a new shell in ``cwd``, without the folder and variables of earlier calls."""
        self._environment = Environment(cwd or "")

    def learn(self, targets: Iterable[RawTarget]) -> None:
        """Note the files that other tools surely touched, so that they exist."""
        local = (t.path for t in targets if t.doubt is None and t.repository is None)
        self._known.update(path for path in local if len(self._known) < MAX_KNOWN)

    def analyse(
        self,
        command: str,
        output: str | None,
        *,
        is_error: bool = False,
        is_truncated: bool = False,
        is_stopped: bool = False,
        doubt: Doubt | None = None,
        cwd: str | None = None,
    ) -> ShellAnalysis:
        """Return what one call did to files.

        Parameters
        ----------
        command, output
            The command text and everything it printed; None where the trace holds no result.
        is_error
            Whether the harness marked the result as an error; a write that depends on an earlier
            command is then uncertain.
        is_truncated
            Whether the trace, not the harness, cut the output.
        is_stopped
            Whether the call was ended, or left to run on, before its end; the output is what was
            printed until then.
        doubt
            Why the agent may not have seen the output; then every file is only possible.
        cwd
            A directory the trace states for this call; it overrides the tracked one.

        Returns
        -------
        ShellAnalysis
            Events in order of execution, with certain and possible targets, and a reason for each
            command that may have touched files in a way that cannot be determined. Never raises on
            any text.
        """
        if cwd is not None:
            self._environment.cwd = joined(self._environment.cwd or None, cwd)
        if len(command) > MAX_COMMAND:
            reason = f"a command of {len(command)} characters"
            return ShellAnalysis(
                (_ANY_FILE,) if output is None or output.strip() else (), (reason,)
            )
        shown = "" if (output or "").strip() == command.strip() else output or ""
        if is_powershell(command):
            command = as_bash(command)
            shown = as_bash_prints(shown, command)
        elif _WINDOWS.match(self._environment.cwd or "") is not None:
            command = _with_slashes(command)
        printed = read_output(shown, has_failed=is_error, is_shortened=is_truncated)
        if output is None or is_stopped or doubt == "background":
            printed = replace(
                printed,
                is_missing=output is None,
                is_stopped=is_stopped,
                is_background=printed.is_background or doubt == "background",
            )
        # What a stopped call printed is no message about its end.
        has_failed = is_error and not is_stopped
        if printed.is_refused:
            return ShellAnalysis()
        has_succeeded = not (is_error or is_stopped or printed.errors)
        interpreter = Interpreter(self._environment, printed, has_succeeded)
        interpreter.run(parse(command), Context())
        self._environment = interpreter.environment
        seen = places(interpreter.steps, printed, self._environment.cwd)
        start = next((place.folder for place in seen if place.kind == "start"), None)
        if start is not None and self._environment.cwd == "":
            self._environment.cwd = start
        if printed.reset_cwd is not None:
            self._environment.cwd = printed.reset_cwd
        events, opaque = self._weighed(interpreter.steps, printed, has_failed, doubt)
        return ShellAnalysis(tuple(events), tuple(opaque), seen)

    def _weighed(
        self, steps: list[Step], output: Output, is_error: bool, doubt: Doubt | None
    ) -> tuple[list[ShellEvent], list[str]]:
        steps, plans = self._planned(steps)
        events: list[ShellEvent] = []
        opaque: list[str] = []
        if output.is_background and not output.lines:
            opaque.append(WENT_ON)
        shares = shared_evidence(steps, plans, align(steps, output), output, is_error)
        for step, planned, evidence in zip(steps, plans, shares, strict=True):
            if step.reason is not None:
                opaque.append(step.reason)
                events += [] if evidence.is_empty and not output.is_missing else [_ANY_FILE]
            if planned is None:
                continue
            for plan in (planned.shown, *planned.writes):
                if plan is not None:
                    verdict = judge(plan, evidence, output, self._known)
                    if doubt is not None:
                        verdict = _doubted(verdict, doubt)
                    if plan.style in _STATED:
                        states = states_of(plan, evidence.lines)
                        if _STATED[plan.style] & self._copies.recorded:
                            states = {k: s for k, s in states.items() if s == "created"}
                        states = {plan.path(name): state for name, state in states.items()}
                        targets = tuple(
                            replace(t, state=states.get(t.path)) for t in verdict.targets
                        )
                        verdict = replace(verdict, targets=targets)
                    if plan.style == "diff" and plan.program == "git":
                        verdict = replace(verdict, targets=self._from_top(plan, verdict.targets))
                    shown = self._copies.with_origins(verdict.targets)
                    if len(shown) > len(verdict.targets):
                        verdict = replace(verdict, targets=shown)
                    _record(plan, verdict, events, opaque, self._known, step)
            if not output.is_missing:
                self._note_copies(step, planned, evidence, output)
            verbs = {word for s in step.stages if s.program == "git" for word in s.texts()}
            self._copies.recorded |= verbs & _RECORDS
        return events, opaque

    def _planned(self, steps: list[Step]) -> tuple[list[Step], list[Plans | None]]:
        """Return steps with what is known of the files that they read, and the plan of each."""
        found: list[Step] = []
        plans: list[Plans | None] = []
        for step in steps:
            if step.stages:
                step = self._with_sources(step)
                step = replace(step, stages=self._with_logs(step.stages))
            found.append(step)
            plans.append(plan_pipeline(step.stages) if step.stages else None)
            if (planned := plans[-1]) is not None:
                self._note_logs(step, planned)
        return found, plans

    def _with_logs(self, stages: tuple[Invocation, ...]) -> tuple[Invocation, ...]:
        """Return a pipeline that reads what an earlier one wrote, behind that one."""
        first, *rest = stages
        if not self._logs or first.script is not None:
            return stages
        given = first.stdin
        if given is not None and given.text and (log := self._logs.get(first.resolve(given.text))):
            return (*log, replace(first, stdin=None), *rest)
        named = [a for a in first.args if a.text and first.resolve(a.text) in self._logs]
        if len(named) != 1:
            return stages
        plan = plan_pipeline((first,)).shown
        is_reader = plan is not None and plan.evidence in ("text", "numbers", "names")
        if plan is None or not is_reader or plan.access == "listed" or len(plan.files) != 1:
            return stages
        log = self._logs[first.resolve(named[0].raw)]
        args = tuple(arg for arg in first.args if arg is not named[0])
        return (*log, replace(first, args=args), *rest)

    def wrote_log(self, path: str) -> bool:
        """Return whether a pipeline wrote a file, so that :meth:`read_log` knows what it shows."""
        return path in self._logs

    def read_log(self, path: str, text: str) -> ShellAnalysis:
        """Return what a file shows that a pipeline wrote."""
        step = Step(self._logs[path])
        events, opaque = self._weighed([step], read_output(text), False, None)
        return ShellAnalysis(tuple(events), tuple(opaque))

    def _with_sources(self, step: Step) -> Step:
        """Return a step with the texts of the scripts that it runs, and keep those it writes."""
        stages = []
        for stage in step.stages:
            name = script_of(stage) if self._copies.texts else None
            text = self._copies.text_of(name) if name is not None else None
            stages.append(stage if text is None else replace(stage, source=text))
            if stage.script is not None and stage.program in ("cat", "tee"):
                named = (*stage.writes, *(stage.args if stage.program == "tee" else ()))
                for arg in named:
                    if arg.text:
                        path, is_added = stage.resolve(arg.text), stage.is_appending
                        self._copies.keep_text(path, stage.script, is_added=is_added)
        return replace(step, stages=tuple(stages)) if step.stages else step

    def _from_top(self, plan: Plan, targets: tuple[RawTarget, ...]) -> tuple[RawTarget, ...]:
        """Return the files of a diff where a checkout begins that need not be this folder.

        Git names them from the top of the checkout. That surely lies above this folder when a name
        begins with its last parts, or was seen there; else any folder down from that in which the
        shell began may be the top.
        """
        cwd, start = plan.cwd or "", (self._start or "").rstrip("/")
        if not is_absolute(cwd) or cwd.rstrip("/") == start:
            return targets
        names = [target.path.removeprefix(f"{cwd}/") for target in targets[:_MOST_MOVED]]
        top = self._top(cwd, names)
        if top == cwd:
            return targets
        if top is not None:
            return _moved(targets, top, names)
        above = cwd.rpartition("/")[0]
        tail = cwd.rpartition("/")[2] + "/"
        if above and any(name.startswith(tail) for name in names):
            # A folder in a checkout, or a checkout that holds a folder of its own name.
            return (*_doubtful(targets), *_doubtful(_moved(targets, above, names)))
        is_below = bool(start) and cwd.startswith(f"{start}/")
        return (*targets, *_doubtful(_moved(targets, start, names))) if is_below else targets

    def _top(self, cwd: str, names: list[str]) -> str | None:
        """Return the folder from which names are surely meant, or None."""
        parts = cwd.strip("/").split("/")
        for start in range(1, len(parts) - 1):
            below = "/".join(parts[start:])
            if any(name.startswith(f"{below}/") for name in names):
                return cwd[: len(cwd) - len(below) - 1]
        above = cwd.rpartition("/")[0]
        for folder in (cwd, above):
            if any(f"{folder}/{name}" in self._known for name in names):
                return folder
        return None

    def _note_logs(self, step: Step, planned: Plans) -> None:
        """Remember which pipeline wrote a file, and forget it once another one writes there."""
        for plan in planned.writes:
            for operand in plan.files:
                self._logs.pop(plan.path(operand.written), None)
        self._note_download(step.stages[-1])
        for at, stage in enumerate(step.stages):
            is_tee = at > 0 and stage.program == "tee"
            named = [*stage.writes, *(stage.args if is_tee else ())]
            name = named[0].text if len(named) == 1 else None
            is_known = name is not None and stage.cwd is not None and not stage.is_appending
            if name is None or not is_known or len(self._logs) >= MAX_LOGS:
                continue
            own = () if is_tee else (replace(stage, writes=(), is_shown=True),)
            log = (*step.stages[:at], *own)
            source = plan_pipeline(log).shown
            # A text that the agent wrote itself is that of no other file.
            is_of_files = source is not None and (source.operands or source.evidence in _OPEN)
            if is_of_files and len(log) <= _LONGEST_LOG:
                self._logs[stage.resolve(name)] = log

    def _note_download(self, stage: Invocation) -> None:
        """Remember what a file holds that was fetched from an address."""
        fetched = download(stage)
        if fetched is not None and len(self._logs) < MAX_LOGS:
            path, printing = fetched
            self._logs[stage.resolve(path)] = (printing,)

    def _note_copies(self, step: Step, planned: Plans, evidence: Evidence, output: Output) -> None:
        """Remember the copies that a pipeline made, and forget those that it wrote over."""
        is_appending = step.stages[-1].is_appending
        for plan in planned.writes:
            is_edit = is_appending or plan.program in EDITORS
            for operand in plan.files:
                self._copies.overwrite(plan.path(operand.written), is_edit=is_edit)
        for stage in step.stages:
            if not copied(stage):
                continue
            if not any(output.failed(text, stage.cwd) for text in stage.texts()):
                is_certain = evidence.is_certain and not evidence.is_background
                self._copies.note(stage, is_certain and not stage.hides_errors)


def _moved(targets: tuple[RawTarget, ...], top: str, names: list[str]) -> tuple[RawTarget, ...]:
    pairs = zip(targets, names, strict=False)
    return tuple(replace(target, path=f"{top.rstrip('/')}/{name}") for target, name in pairs)


def _doubtful(targets: tuple[RawTarget, ...]) -> tuple[RawTarget, ...]:
    return tuple(replace(t, doubt=t.doubt or "unplaced_path") for t in targets)


_WINDOWS: Final = re.compile(r"[A-Za-z]:\\|\\\\")
_LONGEST_ON_WINDOWS: Final = 4000
_WORD: Final = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|(?<=[\w.:])\\(?=[\w.])")


def _with_slashes(command: str) -> str:
    """Return a command that ran on Windows with slashes in the paths that are not quoted."""
    if "\\" not in command or "<<" in command or len(command) > _LONGEST_ON_WINDOWS:
        return command
    return _WORD.sub(lambda found: "/" if found[0] == "\\" else found[0], command)


_RECORDS: Final = frozenset(["add", "commit", "stash", "am", "cherry-pick", "merge", "rebase"])
_STATED: Final = {"status": _RECORDS - {"add"}, "diff": _RECORDS}
"""What says of files that they were there before, until git has recorded the agent's own."""


def _record(
    plan: Plan,
    verdict: Verdict,
    events: list[ShellEvent],
    opaque: list[str],
    known: set[str],
    step: Step | None = None,
) -> None:
    if verdict.reason is not None:
        opaque.append(verdict.reason)
    targets = verdict.targets
    lost = [t for t in targets if not _is_placed(plan, t)]
    if lost:
        targets = tuple(t if _is_placed(plan, t) else anywhere(t) for t in targets)
    if any(t.doubt is None for t in lost):
        opaque.append(f"{plan.program}: a relative path in a folder that is not known")
    if targets:
        sources = _sources(step) if step is not None and plan.access == "written" else ()
        event = ShellEvent(plan.program, plan.category, tuple(dict.fromkeys(targets)), sources)
        events.append(event)
        known.update(t.path for t in targets if t.repository is None and t.doubt is None)


def _sources(step: Step) -> tuple[tuple[str, bool], ...]:
    """Return the files that a pipeline made others of, and whether it left them where they were."""
    first = step.stages[0]
    if first.program == "cat" and len(step.stages) == len(first.args) == len(first.writes) == 1:
        return ((first.resolve(first.args[0].raw), True),)
    return tuple(
        (copy.source, stage.program != "mv" and stage.texts()[:1] != ["mv"])
        for stage in step.stages
        for _, copy in copied(stage)
        if copy.name is None
    )


def _is_placed(plan: Plan, target: RawTarget) -> bool:
    is_remote = plan.repository is not None or plan.style == "remote" or target.path[0] == "*"
    return is_remote or plan.cwd is not None or is_absolute(target.path)


def _doubted(verdict: Verdict, doubt: Doubt) -> Verdict:
    targets = (t if t.doubt is not None else replace(t, doubt=doubt) for t in verdict.targets)
    return replace(verdict, targets=tuple(targets))


# --------------------------------------------------------------------------------------------------
# The records of an analysed shell call.


class ShellEvent(Struct, frozen=True, gc=False):
    """One command inside a shell call that touched files.

    ``category`` is ``file_read``, ``file_search``, ``code_search``, ``commit_search`` or
    ``file_write``. A target's path is absolute when the working directory was known, else it is
    as written; a target with a ``repository`` has a path inside that repository. Targets without
    a doubt are certain. ``sources`` are the files that were copied or moved to the targets, and
    whether each is still there.
    """

    program: str
    category: ToolCategory
    targets: tuple[RawTarget, ...]
    sources: tuple[tuple[str, bool], ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether the command touched files for certain, or none at all."""
        return not self.targets or any(target.doubt is None for target in self.targets)


_ANY_FILE: Final = ShellEvent(
    "shell", "file_read", (RawTarget("*", "opened", doubt="opaque_call", is_pattern=True),)
)
"""The event of a script that was not followed and printed something."""


class ShellAnalysis(Struct, frozen=True, gc=False):
    """The events of one shell call in order of execution.

    ``opaque`` has one reason for each command that may have touched files and could not be
    resolved with certainty; it is empty when the call was understood completely. ``places`` are
    the folders that the call shows.
    """

    events: tuple[ShellEvent, ...] = ()
    opaque: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
