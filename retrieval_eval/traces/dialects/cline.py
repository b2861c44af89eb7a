"""Cline."""

from __future__ import annotations

from retrieval_eval.traces.dialects import DIALECTS, Dialect

DIALECTS.add(
    "cline",
    Dialect(
        harnesses=frozenset({"cline", "cline-cli"}),
        refusals=(
            r"The user denied this operation",
            r"The tool execution failed with the following error",
        ),
    ),
)
