"""Harness text around a result: reminders, size notices, failures, empty answers."""

from __future__ import annotations

from retrieval_eval.agents.traces.dialects import added_blocks, previews, wording
from retrieval_eval.agents.traces.served import is_refusal


def is_failure(text: str) -> bool:
    """Whether a result text is one of the known failure messages.

    Examples
    --------
    >>> is_failure("repository not found: acme/widgets"), is_failure("12: repository not found")
    (True, False)
    """
    return is_refusal(text) or wording("failures").match(text[:400].lstrip()) is not None


def is_empty_answer(text: str) -> bool:
    """Whether the text of a result means that nothing was found."""
    return not text.strip() or wording("empty").match(text[:400].lstrip()) is not None


def is_harness_file(path: str) -> bool:
    """Whether a path belongs to the harness (saved results, memory), not to a repository.

    Examples
    --------
    >>> is_harness_file("/home/u/.claude/projects/-workspace/memory/MEMORY.md")
    True
    >>> is_harness_file("/workspace/src/memory/pool.c")
    False
    """
    return is_saved_result(path) or wording("own_files").search(path) is not None


def is_saved_result(path: str) -> bool:
    """Whether a path is a result the harness saved because it was too large to show."""
    return wording("saved_files").search(path) is not None


def undecorated(text: str) -> str:
    r"""Return a result without reminder blocks; of a saved result only the preview is left.

    Examples
    --------
    >>> undecorated("a.py\n\n<system-reminder>be careful</system-reminder>")
    'a.py\n\n'
    """
    for opening, closing in added_blocks():
        text = _without_blocks(text, opening, closing)
    for preview in previews():
        text = preview(text)
    return text


def _without_blocks(text: str, opening: str, closing: str) -> str:
    if opening not in text:
        return text
    kept: list[str] = []
    position = 0
    while (start := text.find(opening, position)) >= 0:
        end = text.find(closing, start)
        at_line_start = start == 0 or text[start - 1] == "\n"
        if end < 0 or not at_line_start:
            break
        kept.append(text[position:start])
        position = end + len(closing)
    return "".join(kept) + text[position:]
