"""Scripts that a code-search server runs for the agent, and pages fetched from the web."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from retrieval_eval.records import RawTarget
from retrieval_eval.traces.results.base import NOTHING, Found, Seen, distinct, text_argument
from retrieval_eval.traces.results.decorations import is_empty_answer
from retrieval_eval.traces.results.links import file_link
from retrieval_eval.traces.results.mentions import read_mentions
from retrieval_eval.traces.served import is_http_error

_EXCUSE: Final = re.compile(
    r"\s*(?:(?:I'm sorry|Sorry|Unfortunately)[,. ]|I apologi[sz]e"
    r"|I(?:'m| am| was) (?:unable|not able) to "
    r"|I (?:cannot|can't|could not|couldn't) (?:access|fetch|retrieve|read|open|see|view)\b"
    r"|(?:The|This) (?:page|URL|file|content|web ?page|request|link)[^.\n]{0,60}? "
    r"(?:returned|shows|is|appears to be|requires) (?:an? )?"
    r"(?:HTTP |error )?(?:[45]\d\d\b|error\b|log-?in|sign-?in|not found|authentication)"
    r"|(?:[^\n]{0,80}, )?(?:this|it|the (?:provided |fetched |web )*(?:content|page|text)"
    r"[^.\n]{0,30})"
    r" (?:is|appears to be|seems to be|shows|contains) (?:only )?(?:an? |the )(?:[\w']+ ){0,3}"
    r"(?:[45]\d\d |error |sign-?in |log-?in |login |not found )(?:[\w\"'-]+ ){0,2}"
    r"(?:page|screen|form|message)\b)",
    re.IGNORECASE,
)
"""How a model that summarises a page says that it was shown none: in words, so nothing is sure."""

_CALL: Final = re.compile(r"\b(?:read_file|keyword|regex|diff|commit)\s{0,4}[({]")
_READ: Final = re.compile(r"read_file\s{0,4}\(\s{0,4}\{([^{}]{1,1000})\}")
_FIELD: Final = re.compile(
    r"""\b(repo|path)\s{0,4}=\s{0,4}(?:"([^"\n]{1,500})"|'([^'\n]{1,500})')"""
)


def read_script(seen: Seen) -> Found:
    """Return what the answer of a script names.

    A script that neither searches nor reads touches no file. One that reads exactly one file,
    named literally, answers from that file; what it printed of it cannot be told, so the file
    is ``matched`` and the call stays opaque.
    """
    script = text_argument(seen.arguments, ("script", "code")) or ""
    if is_empty_answer(seen.text) or _CALL.search(script) is None:
        return NOTHING
    found = read_mentions(seen)
    if found.targets:
        return replace(found, is_opaque=True)
    files = {_literal(m[1]) for m in _READ.finditer(script)}
    if len(files) == 1 and (file := files.pop()) is not None:
        return Found((RawTarget(file[1], "matched", file[0]),), is_opaque=True)
    return found


def _literal(fields: str) -> tuple[str, str] | None:
    values = {m[1]: m[2] or m[3] for m in _FIELD.finditer(fields)}
    return (values["repo"], values["path"]) if len(values) == 2 else None


def page_category(arguments: Mapping[str, Any]) -> str:
    """Return ``file_read`` when the page is a file of a repository, else ``other``."""
    return "other" if file_link(_address(arguments)) is None else "file_read"


def read_page(seen: Seen) -> Found:
    """Return the repository file a fetched page shows; other pages are no retrieval target.

    The answer may be a summary a model wrote, so neither lines nor wholeness are known.
    """
    link = file_link(_address(seen.arguments))
    if link is None or is_empty_answer(seen.text):
        return NOTHING
    if isinstance(seen.value, dict) and is_http_error(seen.value.get("code")):
        return Found(is_error=True)
    if _EXCUSE.match(seen.text[:400]) is not None:
        return Found(is_opaque=True)
    repository, path, lines = link
    return Found(distinct([RawTarget(path, "opened", repository, lines)]))


def _address(arguments: Mapping[str, Any]) -> str:
    return text_argument(arguments, ("url", "uri")) or ""
