"""One shell across the calls of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from retrieval_eval.records import RawTarget, ToolCategory
from retrieval_eval.traces.results.base import joined
from retrieval_eval.traces.shell.expansion import Environment
from retrieval_eval.traces.shell.interpreter import Context, Interpreter
from retrieval_eval.traces.shell.judge import Verdict, judge, shared_evidence
from retrieval_eval.traces.shell.output import Output, align, read_output
from retrieval_eval.traces.shell.pipeline import plan_pipeline
from retrieval_eval.traces.shell.plan import Plan
from retrieval_eval.traces.shell.steps import Step
from retrieval_eval.traces.shell.syntax import parse

MAX_COMMAND: Final = 200_000
"""Characters of a command that are parsed; a longer one is opaque."""


class ShellSession:
    """The working directory and variables of one shell across its calls.

    Examples
    --------
    >>> shell = ShellSession()
    >>> shell.analyse("cd /repo && git status", "clean").events
    ()
    >>> shell.analyse("head -n 5 a.py", "import os").events[0].targets[0]
    RawTarget(path='/repo/a.py', access='opened', repository=None, lines=((1, 5),), is_whole=False)
    """

    def __init__(self, cwd: str | None = None) -> None:
        self._environment = Environment(cwd or "")
        self._known: set[str] = set()

    @property
    def cwd(self) -> str | None:
        """The working directory after the last call, None when it is not known."""
        return self._environment.cwd or None

    def restart(self, cwd: str | None) -> None:
        """Begin a new shell in ``cwd``, without the folder and variables of earlier calls."""
        self._environment = Environment(cwd or "")

    def analyse(
        self, command: str, output: str, *, is_error: bool = False, cwd: str | None = None
    ) -> ShellAnalysis:
        """Return what one call did to files.

        Parameters
        ----------
        command, output
            The command text and everything it printed.
        is_error
            Whether the harness marked the result as an error; a write that depends on an earlier
            command is then uncertain.
        cwd
            A directory the trace states for this call; it overrides the tracked one.

        Returns
        -------
        ShellAnalysis
            Events in order of execution, and a reason for each command that may have touched
            files in a way that cannot be determined. Never raises on any text.
        """
        if cwd is not None:
            self._environment.cwd = joined(self._environment.cwd or None, cwd)
        if len(command) > MAX_COMMAND:
            return ShellAnalysis(opaque=(f"a command of {len(command)} characters",))
        printed = read_output("" if output.strip() == command.strip() else output)
        if printed.is_refused:
            return ShellAnalysis()
        if printed.is_background and not printed.lines:
            return ShellAnalysis(opaque=("a command that went on in the background",))
        interpreter = Interpreter(self._environment, printed, not is_error and not printed.errors)
        interpreter.run(parse(command), Context())
        self._environment = interpreter.environment
        if printed.reset_cwd is not None:
            self._environment.cwd = printed.reset_cwd
        return self._weighed(interpreter.steps, printed, is_error)

    def _weighed(self, steps: list[Step], output: Output, is_error: bool) -> ShellAnalysis:
        plans = [plan_pipeline(step.stages) if step.stages else None for step in steps]
        events: list[ShellEvent] = []
        opaque: list[str] = []
        shares = shared_evidence(steps, plans, align(steps, output), output, is_error)
        for step, planned, evidence in zip(steps, plans, shares, strict=True):
            if step.reason is not None:
                opaque.append(step.reason)
            if planned is None:
                continue
            for plan in (planned.shown, *planned.writes):
                if plan is not None:
                    verdict = judge(plan, evidence, output, self._known)
                    _record(plan, verdict, events, opaque, self._known)
        return ShellAnalysis(tuple(events), tuple(opaque))


def _record(
    plan: Plan, verdict: Verdict, events: list[ShellEvent], opaque: list[str], known: set[str]
) -> None:
    targets = tuple(target for target in verdict.targets if _is_placed(plan, target.path))
    if verdict.reason is not None:
        opaque.append(verdict.reason)
    if len(targets) < len(verdict.targets):
        opaque.append(f"{plan.program}: a relative path in a folder nobody can know")
    if targets:
        events.append(ShellEvent(plan.program, plan.category, targets))
        known.update(target.path for target in targets if target.repository is None)


def _is_placed(plan: Plan, path: str) -> bool:
    is_remote = plan.repository is not None or plan.style == "remote"
    return is_remote or plan.cwd is not None or path.startswith(("/", "~"))


# --------------------------------------------------------------------------------------------------
# The records of an analysed shell call.


@dataclass(frozen=True, slots=True)
class ShellEvent:
    """One command inside a shell call that touched files.

    ``category`` is ``file_read``, ``file_search``, ``code_search``, ``commit_search`` or
    ``file_write``. A target's path is absolute when the working directory was known, else it is
    as written; a target with a ``repository`` has a path inside that repository.
    """

    program: str
    category: ToolCategory
    targets: tuple[RawTarget, ...]


@dataclass(frozen=True, slots=True)
class ShellAnalysis:
    """The events of one shell call in order of execution.

    ``opaque`` has one reason for each command that may have touched files and could not be
    resolved with certainty; it is empty when the call was understood completely.
    """

    events: tuple[ShellEvent, ...] = ()
    opaque: tuple[str, ...] = ()
