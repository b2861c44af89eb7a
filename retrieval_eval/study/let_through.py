"""The trials that the validity gate let through, which describe a whole run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from retrieval_eval.study.arms import Arm, Document
from retrieval_eval.study.validity import screen


@dataclass(frozen=True, slots=True)
class LetThrough:
    """The trials that count, in their order, and what became of all trials of each arm."""

    documents: tuple[Document, ...]
    rows: tuple[dict[str, Any], ...]


def let_through(
    documents: Sequence[Document],
    pairs: Iterable[tuple[str, str]],
    mcp_configs: Sequence[str] | None = None,
) -> LetThrough:
    """Return the trials that the gate of at least one comparison let through.

    A rule about a trial itself (it crashed, its trace is incomplete) removes it from every
    comparison of its configuration. A rule about two arms (another model, another version of the
    task, MCP calls in a control) says nothing about a third one, so such a trial counts as soon as
    one comparison lets it through. A configuration without a comparison is checked by the rules
    about a trial itself. Of several rules the one of the first comparison is named.
    """
    trials: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        trials[str(document["provenance"]["config_name"])].append(document)
    arms = {config: Arm(config, tuple(own)) for config, own in sorted(trials.items())}
    known = [pair for pair in pairs if set(pair) <= arms.keys()]
    compared = {config for pair in known for config in pair}
    # Beside an arm without trials only the rules about a trial itself remove any.
    alone = [
        (arm, Arm(f"no arm beside {config}", ()))
        for config, arm in arms.items()
        if config not in compared
    ]
    passed: set[int] = set()
    removed_by: dict[int, str] = {}
    for one, other in [*alone, *((arms[a], arms[b]) for a, b in known)]:
        valid = screen(one, other, mcp_configs)
        for left in (*valid.baseline.values(), *valid.comparison.values()):
            passed.update(map(id, left))
        for finding in valid.findings:
            for document in finding.removed:
                removed_by.setdefault(id(document), finding.name)
    return LetThrough(
        tuple(d for d in documents if id(d) in passed),
        tuple(_row(arm, passed, removed_by) for arm in arms.values()),
    )


def _row(arm: Arm, passed: set[int], removed_by: dict[int, str]) -> dict[str, Any]:
    removed = Counter(removed_by[id(d)] for d in arm.trials if id(d) not in passed)
    return {
        "config_name": arm.config,
        "n_trials": len(arm.trials),
        "n_used": len(arm.trials) - removed.total(),
        "removed": dict(sorted(removed.items())),
    }
