"""Qwen Code, which shares tools, envelopes and refusals with Gemini CLI."""

from __future__ import annotations

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect
from retrieval_eval.agents.traces.dialects.gemini_cli import answer

DIALECTS.add(
    "qwen-code",
    Dialect(
        harnesses=frozenset({"qwen-code", "qwen-coder", "qwen"}),
        delegating=frozenset({"agent", "task"}),
        keeps_shell=False,
        own_files=(r"/\.qwen/projects/",),
        answer=answer,
        cut=(
            "A large answer is cut to its beginning and its end, with a line of dots between them, "
            "and the whole is saved to a file that it names; a read states which lines it shows."
        ),
        finished=(
            "The status of a call is success, error or cancelled; a command that failed keeps its "
            "output in the error, one that timed out what it printed before, and one in the "
            "background names the file that it writes to."
        ),
        delegated=(
            "`agent` and `task` start a sub-agent, whose session is a file in subagents/SESSION/ "
            "beside the chats; the stream holds its calls with parent_tool_use_id."
        ),
        source=(
            "QwenLM/qwen-code 015346f, tool names 00ac46f; session, stream and requests of 0.24.4 "
            "compared"
        ),
    ),
)
