"""The state of a shell: working directory, variables and functions."""

from __future__ import annotations

from dataclasses import dataclass, field

from retrieval_eval.traces.shell.steps import Step, resolve
from retrieval_eval.traces.shell.syntax import Sequence


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value nobody can know from the command alone.

    ``pattern`` is the file-name pattern it must fit, ``captured`` the steps that printed it.
    """

    pattern: str | None = None
    captured: tuple[Step, ...] = ()


Value = str | tuple[str, ...] | Unknown


@dataclass(slots=True)
class Environment:
    """What a command sees.

    ``cwd`` is empty where the shell started, when nobody says where that was, and None once it
    went to a directory that nobody can know.
    """

    cwd: str | None = ""
    previous: str | None = None
    stack: list[str | None] = field(default_factory=list)
    variables: dict[str, Value] = field(default_factory=dict)
    functions: dict[str, Sequence] = field(default_factory=dict)

    def copy(self) -> Environment:
        """Return the environment of a subshell."""
        return Environment(
            self.cwd, self.previous, list(self.stack), dict(self.variables), dict(self.functions)
        )

    def get(self, name: str) -> Value:
        """Return the value of a variable; one that was never set is unknown."""
        if name in ("PWD", "OLDPWD"):
            path = self.cwd if name == "PWD" else self.previous
            return path or Unknown()
        return self.variables.get(name, Unknown())

    def change_directory(self, target: str | None) -> None:
        """Follow ``cd target``; None is a target nobody can know."""
        if target == "-":
            self.cwd, self.previous = self.previous, self.cwd
            return
        self.previous = self.cwd
        if target is None or target.startswith("~"):
            self.cwd = None
        elif target.startswith("/") or self.cwd is not None:
            self.cwd = resolve(self.cwd, target)

    def push(self, target: str | None) -> None:
        """Follow ``pushd target``."""
        self.stack.append(self.cwd)
        self.change_directory(target)

    def pop(self) -> None:
        """Follow ``popd``, which fails on an empty stack."""
        if self.stack:
            self.previous, self.cwd = self.cwd, self.stack.pop()
