"""mini-swe-agent: one shell command after another, each in a new shell."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult
from retrieval_eval.traces.dialects import DIALECTS, Dialect

HARNESS: Final = "mini-swe-agent"

_STATUS: Final = re.compile(r"<returncode>(-?\d{1,9})</returncode>")
_PARTS: Final = ("output", "output_head", "output_tail")
_NOT_EXECUTED: Final = "action was not executed"
_HEAD: Final = 2000


def answer(call: ToolCall) -> ToolResult:
    r"""Return the output without the tags around it; of a long one, its head and its tail.

    Examples
    --------
    >>> text = "<returncode>1</returncode>\n<output>\na.py\n</output>"
    >>> found = answer(ToolCall("1", "bash", {}, ToolResult(text)))
    >>> found.text, found.is_error
    ('a.py\n', True)
    """
    result = call.result or ToolResult("")
    text = result.text
    head = text[:_HEAD]
    status = _STATUS.search(head)
    shown = [part for name in _PARTS if (part := _inside(text, name)) is not None]
    if status is None and not shown and "<exception>" not in head:
        return replace(result, is_error=True, is_unfinished=True) if _is_killed(text) else result
    is_cut = "<elided_chars>" in text
    output = (
        f"\n{CUT_HERE}\n".join(part.rstrip("\n") for part in shown) if is_cut else "".join(shown)
    )
    code = int(status[1]) if status is not None else None
    is_exception = "<exception>" in head.split("<output", 1)[0] or _is_killed(text)
    is_error = result.is_error or is_exception or bool(code)
    return replace(
        result,
        text=output,
        structured=result.structured if code is None else {"exit_code": code},
        is_error=is_error,
        is_unfinished=is_exception and (not output.strip() or _NOT_EXECUTED in head),
    )


def _is_killed(text: str) -> bool:
    return text.lstrip().startswith("The last command <command>") and (
        "timed out and has been killed" in text
    )


def _inside(text: str, tag: str) -> str | None:
    """Return the text of the first element of a name, to its last closing tag."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    start = text.find(opening)
    end = text.rfind(closing)
    if start < 0 or end < start:
        return None
    return text[start + len(opening) : end].removeprefix("\n")


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS, "mini"}),
        keeps_shell=False,
        refusals=(r"<exception>[^\n<]{0,300}action was not executed",),
        answer=answer,
        statuses=(r"<returncode>-?\d+</returncode>",),
        source=(
            "mini-swe-agent 1.14 and 2.4.6 at a83fcae8, read in its source; two "
            "trajectories of 1.x seen"
        ),
    ),
)
