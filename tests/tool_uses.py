"""What a tool call certainly did, for tests that are not about what remains possible."""

from __future__ import annotations

from msgspec.structs import replace

from retrieval_eval.agents.traces.tools import ToolUse


def certain(use: ToolUse) -> ToolUse:
    """Return the use with its certain targets only."""
    return replace(use, targets=tuple(t for t in use.targets if t.doubt is None))
