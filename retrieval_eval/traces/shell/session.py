"""One shell across the calls of a trace."""

from __future__ import annotations

from retrieval_eval.traces.shell.model import ShellAnalysis


class ShellSession:
    """The working directory and variables of one shell across its calls."""

    def __init__(self, cwd: str | None = None) -> None:
        self.cwd = cwd

    def analyse(
        self, command: str, output: str, *, is_error: bool = False, cwd: str | None = None
    ) -> ShellAnalysis:
        """Return what one call of the shell did to files."""
        return ShellAnalysis()
