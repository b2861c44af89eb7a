"""Files that a command may have shown: its operands, and the paths that its output names.

What a command certainly showed is decided elsewhere; here is what remains open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from retrieval_eval.agents.traces.results.prose import looks_like_file, mentions
from retrieval_eval.agents.traces.shell.plan import Operand, Plan
from retrieval_eval.records import Doubt, RawTarget

SAVED: Final = re.compile(r"/tool-results/[^/]+$")
"""A result that the harness saved: what it holds belongs to the call that was answered with it."""

MAX_NAMES: Final = 500
"""Different paths that are taken from one output in prose."""

_LONGEST_LINE: Final = 2000
_LONGEST_PATTERN: Final = 1000
_MOST_STARS: Final = 3
_WILDCARD: Final = re.compile(r"\[[^\]/]{1,100}\]|[*?]+")


def operand_targets(plan: Plan, doubt: Doubt) -> tuple[RawTarget, ...]:
    """Return what a plan may have touched, as far as its operands tell."""
    found: dict[RawTarget, None] = {}
    is_list = plan.evidence == "names" and plan.style != "headers"
    is_below = is_list or (plan.evidence == "opaque" and plan.is_open)
    for operand in plan.operands:
        for path, is_pattern in _paths(operand, is_below):
            target = _placed(plan, path, is_pattern, operand.kind, doubt)
            if target is not None:
                found[target] = None
    return tuple(found)


def _paths(operand: Operand, is_below: bool) -> Iterator[tuple[str, bool]]:
    """Yield the paths that an operand may mean, and whether each is a pattern."""
    written = operand.written
    if operand.kind == "feed":
        for root in operand.roots:
            is_file = looks_like_file(root)
            yield (root, False) if is_file else (f"{root.rstrip('/')}/*", True)
        if not operand.roots:
            yield "*", True
        return
    if operand.kind == "pattern":
        written = _WILDCARD.sub("*", written)
    is_pattern = operand.kind != "file"
    if operand.kind == "unknown" and not written.strip("*/."):
        yield "*", True
    elif is_below and not looks_like_file(written) and not written.endswith("*"):
        yield f"{written.rstrip('/')}/*", True
    else:
        yield written, is_pattern


def unnamed(plan: Plan, doubt: Doubt) -> tuple[RawTarget, ...]:
    """Return the target that says that any file may have been shown."""
    return (RawTarget("*", plan.access, doubt=doubt, is_pattern=True),)


def _placed(plan: Plan, path: str, is_pattern: bool, kind: str, doubt: Doubt) -> RawTarget | None:
    if not path or len(path) > _LONGEST_PATTERN or "\n" in path or SAVED.search(path):
        return None
    if is_pattern:
        path = _few_stars(path)
    repository = plan.repository or None
    # A word that begins with something unknown may be an absolute path.
    is_free = repository is not None or path == "*" or (kind == "unknown" and path[0] == "*")
    place = path if is_free else plan.path(_without_parents(path))
    return RawTarget(place, plan.access, repository, doubt=doubt, is_pattern=is_pattern)


def _few_stars(pattern: str) -> str:
    """Return a pattern that covers at least as much and has few stars."""
    parts = re.split(r"\*+", pattern)
    if len(parts) <= _MOST_STARS + 1:
        return "*".join(parts)
    return "*".join([*parts[:_MOST_STARS], parts[-1]])


def _without_parents(path: str) -> str:
    """Return a path in which no ``..`` stands behind a star: the star may be several folders."""
    head, star, tail = path.partition("*")
    if not star or ".." not in tail:
        return path
    return f"{head}*{tail.rpartition('..')[2]}"


def anywhere(target: RawTarget) -> RawTarget:
    """Return a relative target of a folder that is not known as a pattern below any."""
    path = target.path
    while path.startswith(("../", "./")):
        path = path.partition("/")[2]
    path = path if path.startswith("*") else f"*/{path}"
    return RawTarget(path, target.access, doubt="unplaced_path", is_pattern=True)


# --------------------------------------------------------------------------------------------------
# Paths in prose: what compilers, linters, tests and tracebacks print.


def mentioned(plan: Plan, lines: Iterable[str], doubt: Doubt) -> tuple[RawTarget, ...]:
    """Return the files that the output of a program names, each ``matched``."""
    found: dict[tuple[str, int | None], None] = {}
    for line in lines:
        for place in mentions(line[:_LONGEST_LINE]):
            found[place] = None
        if len(found) >= MAX_NAMES:
            break
    return tuple(
        RawTarget(
            plan.path(path),
            "matched",
            plan.repository or None,
            ((n, n),) if n else None,
            doubt=doubt,
        )
        for path, n in found
        if not SAVED.search(path)
    )
