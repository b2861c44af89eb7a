"""The two arms of a comparison: their trials, what they call themselves, how they behaved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

Document = Mapping[str, Any]
Task = tuple[str, str]

_WORD = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Arm:
    """A configuration with its trials' metric documents, in a fixed order."""

    config: str
    trials: tuple[Document, ...]

    @property
    def words(self) -> set[str]:
        """The words of the configuration's name; those of a run behind it (``mcp@run``) are none.

        A run can be named after the other arm, or after what it was to show.
        """
        for run_id in sorted({str(d["provenance"]["run_id"]) for d in self.trials}):
            own, at, _ = self.config.rpartition(f"@{run_id}")
            if at:
                return _words(own)
        return _words(self.config)

    @property
    def is_baseline(self) -> bool:
        """Whether the configuration calls itself a baseline."""
        return "baseline" in self.words

    @property
    def is_mcp(self) -> bool:
        """Whether it is meant to use MCP: it says so, or most trials call a server."""
        if self.is_baseline:
            return False
        callers = sum(trial["ledger"]["mcp_calls"] > 0 for trial in self.trials)
        return "mcp" in self.words or 2 * callers > len(self.trials)


def arm(documents: Iterable[Document], config: str) -> Arm:
    """Return the arm of a configuration."""
    own = (d for d in documents if d["provenance"]["config_name"] == config)
    return Arm(config, tuple(own))


def config_pairs(documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Yield every pair of configurations, the one nearer to a baseline first.

    A configuration named a baseline comes first, then those not meant to use MCP, then by name.
    """
    arms = [arm(documents, c) for c in {d["provenance"]["config_name"] for d in documents}]
    arms.sort(key=lambda a: (not a.is_baseline, a.is_mcp, a.config))
    yield from combinations([a.config for a in arms], 2)


def task_of(document: Document) -> Task:
    """Return what a trial is paired by: its suite and its task."""
    provenance = document["provenance"]
    return (str(provenance["benchmark"]), str(provenance["task_name"]))


def order_of(document: Document) -> tuple[str, ...]:
    """Return the key by which documents are sorted, so that input order never matters."""
    provenance = document["provenance"]
    keys = ("benchmark", "task_name", "config_name", "run_id", "batch_timestamp", "trial_name")
    return tuple(str(provenance.get(key) or "") for key in keys)


def _words(config: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(config)}
