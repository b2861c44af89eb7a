"""Qwen Code, which shares tools, envelopes and refusals with Gemini CLI."""

from __future__ import annotations

from retrieval_eval.traces.dialects import DIALECTS, Dialect
from retrieval_eval.traces.dialects.gemini_cli import answer

DIALECTS.add(
    "qwen-code",
    Dialect(
        harnesses=frozenset({"qwen-code", "qwen-coder", "qwen"}),
        delegating=frozenset({"agent", "task"}),
        keeps_shell=False,
        own_files=(r"/\.qwen/projects/",),
        answer=answer,
        source="QwenLM/qwen-code 015346f, tool names 00ac46f; stream from users' reports; not seen",
    ),
)
