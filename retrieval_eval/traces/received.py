"""How much of an answer the agent can have received, and which parts.

Every harness cuts long answers: it keeps the head, the tail, both, or a preview of a result that it
saved to a file. A dialect's ``answer`` knows the fields and wordings of its harness; wordings that
no dialect knows are recognised here by their shape. Either way the text that goes on has a line
:data:`~retrieval_eval.records.CUT_HERE` where a part is left out, and readers of results ask only
for that line.
"""

from __future__ import annotations

from retrieval_eval.records import CUT_HERE, ToolResult


def received(result: ToolResult) -> ToolResult:
    """Return a result with :data:`CUT_HERE` where its own text says that a part was left out."""
    return result


def is_cut(text: str) -> bool:
    r"""Whether the agent was not shown all of an answer.

    Examples
    --------
    >>> is_cut(f"a\n{CUT_HERE}\nb"), is_cut("a\nb")
    (True, False)
    """
    return CUT_HERE in text
