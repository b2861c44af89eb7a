"""SWE-agent."""

from __future__ import annotations

from retrieval_eval.traces.dialects import DIALECTS, Dialect

DIALECTS.add(
    "swe-agent",
    Dialect(
        harnesses=frozenset({"swe-agent"}),
        refusals=(r"Your bash command contained syntax errors and was NOT executed",),
    ),
)
