"""What shell commands did to files: reads, searches, listings and writes.

A shell call is one opaque string to a trace reader, yet it is how most agents find code. The
modules here parse the string, follow the working directory and variables, and use the printed
output to decide which files a command really showed.

The parser library is imported on first use, so importing this package costs nothing.
"""

from __future__ import annotations

from retrieval_eval.agents.traces.shell.session import ShellAnalysis, ShellEvent, ShellSession

__all__ = ["ShellAnalysis", "ShellEvent", "ShellSession"]
