"""What a task may be called without the decorations that harnesses put around its name."""

from __future__ import annotations

import re
from collections.abc import Iterator

CUT_LENGTH = 32
"""Harnesses cut the task name in a trial's folder name at this length."""

_PREFIX = re.compile(r"^(?:mcp|bl|sgonly|artifact|sdlc_[a-z]{1,20})_(?=.)", re.IGNORECASE)
_SUFFIX = re.compile(r"(?<=[^_])_{1,2}([A-Za-z0-9]{6,8})$")
_CUT_SUFFIX = re.compile(r"(?<=[^_])_{1,2}[A-Za-z0-9]{0,7}$")
_MOST_PREFIXES = 4


def undecorated(name: str) -> Iterator[tuple[str, ...]]:
    """Yield what ``name`` may stand for, as it is, with one decoration off, with two off.

    Decorations are the prefixes ``mcp_``, ``bl_``, ``sgonly_``, ``artifact_``, ``sdlc_<phase>_``
    and a random suffix of 6 to 8 letters and digits. Behind a name without prefix a suffix that
    could be a word (no digit, no capital inside) is taken for a part of the name.

    Examples
    --------
    >>> list(undecorated("mcp_ccx-1_dyywsa"))
    [('mcp_ccx-1_dyywsa',), ('mcp_ccx-1', 'ccx-1_dyywsa'), ('ccx-1',)]
    >>> list(undecorated("fix_login_flow"))
    [('fix_login_flow',)]
    """
    bare = list(without_prefixes(name))
    steps: dict[int, list[str]] = {}
    for count, form in enumerate(bare):
        steps.setdefault(count, []).append(form)
        match = _SUFFIX.search(form)
        if match is not None and (len(bare) > 1 or not _is_word(match[1])):
            steps.setdefault(count + 1, []).append(form[: match.start()])
    for count in sorted(steps):
        yield tuple(dict.fromkeys(steps[count]))


def _is_word(suffix: str) -> bool:
    return suffix.isalpha() and (suffix.islower() or suffix.isupper() or suffix.istitle())


def without_prefixes(name: str) -> Iterator[str]:
    """Yield ``name``, then ``name`` without its first decorating prefix, and so on."""
    yield name
    for _ in range(_MOST_PREFIXES):
        match = _PREFIX.match(name)
        if match is None:
            return
        name = name[match.end() :]
        yield name


def without_cut_suffix(name: str) -> Iterator[str]:
    """Yield what a cut name may stand for when the cut went through its random suffix.

    Examples
    --------
    >>> list(without_cut_suffix("mcp_ccx-208_6zocj"))
    ['mcp_ccx-208', 'ccx-208']
    """
    for form in without_prefixes(name):
        match = _CUT_SUFFIX.search(form)
        if match is not None:
            yield form[: match.start()]


def plain(name: str) -> str:
    """Return ``name`` in lower case with ``-`` for every run of separators.

    Examples
    --------
    >>> plain("Django__django-1")
    'django-django-1'
    """
    return re.sub(r"[-_]+", "-", name.lower())
