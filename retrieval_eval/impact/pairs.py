"""Matched pairs: the same task, model and harness version under two configurations."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from retrieval_eval.metrics.catalog import BY_NAME, Metric, read_metric
from retrieval_eval.values import Value, mean

Document = Mapping[str, Any]
Task = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Pair:
    """One task under two configurations; repeats are kept and averaged when read."""

    benchmark: str
    task_name: str
    baseline: tuple[Document, ...]
    comparison: tuple[Document, ...]

    def values(self, metric: Metric) -> tuple[Value, Value]:
        """Return the metric of both sides, repeats averaged."""
        return (
            mean(read_metric(d, metric) for d in self.baseline),
            mean(read_metric(d, metric) for d in self.comparison),
        )


@dataclass(frozen=True, slots=True)
class Matching:
    """The pairs of two configurations, and every task that gave none with the reason.

    ``len(pairs) + len(excluded)`` is the number of tasks either configuration has.
    """

    baseline_config: str
    comparison_config: str
    pairs: tuple[Pair, ...]
    excluded: tuple[tuple[Task, str], ...]
    n_tasks_baseline: int
    n_tasks_comparison: int


def config_pairs(documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Yield every pair of configurations, the one nearer to a baseline first.

    A configuration named a baseline comes first, then those that called no MCP server, then
    by name.
    """
    uses_mcp: Counter[str] = Counter()
    for document in documents:
        uses_mcp[document["provenance"]["config_name"]] += document["ledger"]["mcp_calls"]

    def order(config: str) -> tuple[bool, bool, str]:
        return (not config.lower().startswith("baseline"), uses_mcp[config] > 0, config)

    yield from combinations(sorted(uses_mcp, key=order), 2)


def match(documents: Iterable[Document], baseline: str, comparison: str) -> Matching:
    """Match the tasks of two configurations.

    As the seed asks: the same task in both, the same model and harness version, a valid reward in
    both. Trials are grouped by model and harness inside a task; of several groups that occur on
    both sides the one with most trials is used.
    """
    sides: dict[str, dict[Task, list[Document]]] = {
        config: defaultdict(list) for config in (baseline, comparison)
    }
    for document in documents:
        provenance = document["provenance"]
        if provenance["config_name"] in sides:
            task = (provenance["benchmark"], provenance["task_name"])
            sides[provenance["config_name"]][task].append(document)
    pairs: list[Pair] = []
    excluded: list[tuple[Task, str]] = []
    for task in sorted({*sides[baseline], *sides[comparison]}):
        left, right = sides[baseline].get(task, []), sides[comparison].get(task, [])
        found = _match_task(task, left, right) if left and right else None
        if isinstance(found, Pair):
            pairs.append(found)
        else:
            only = baseline if left else comparison
            excluded.append((task, found or f"only in {only}"))
    return Matching(
        baseline,
        comparison,
        tuple(pairs),
        tuple(excluded),
        len(sides[baseline]),
        len(sides[comparison]),
    )


def _match_task(task: Task, left: list[Document], right: list[Document]) -> Pair | str:
    if not (_rewarded(left) and _rewarded(right)):
        return "no valid reward in both"
    before, after = _by_setup(_rewarded(left)), _by_setup(_rewarded(right))
    shared = before.keys() & after.keys()
    if not shared:
        return "model or harness version differs"
    setup = max(sorted(shared), key=lambda s: len(before[s]) + len(after[s]))
    return Pair(*task, tuple(before[setup]), tuple(after[setup]))


def _rewarded(documents: Iterable[Document]) -> list[Document]:
    return [d for d in documents if read_metric(d, BY_NAME["reward"]).computable]


def _by_setup(documents: Iterable[Document]) -> dict[tuple[str, str, str], list[Document]]:
    groups: dict[tuple[str, str, str], list[Document]] = defaultdict(list)
    for document in documents:
        setup = document["provenance"]
        key = tuple(str(setup.get(k)) for k in ("model", "harness", "harness_version"))
        groups[key].append(document)  # type: ignore[index]
    return groups
