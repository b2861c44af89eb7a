"""Ten studies whose plain mean misleads, and two that are what they look like.

Each is a function of a seed that returns the metrics documents of its trials: forty or fewer tasks
under ``baseline`` and ``mcp``, with times, tokens, costs, rewards, repositories and bounds of
recall as an evaluated run has them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.studies import document

Documents = list[dict[str, Any]]
Study = Callable[[int], Documents]

ARMS: Final = ("baseline", "mcp")

STUDIES: dict[str, Study] = {}
"""Every study by name, those that mislead first."""

"""The number of studies that mislead; the others are clean."""


def study(make: Study) -> Study:
    STUDIES[make.__name__] = make
    return make


class Bench:
    """Draws tasks and trials; two tasks after each other are of one repository."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.rows: Documents = []
        self.n_tasks = 0

    def recall(self, low: float = 0.25, high: float = 0.75) -> float:
        return self.dice.uniform(low, high)

    def pair(
        self,
        task: str,
        before: float,
        after: float,
        *,
        cost_ratio: float = 1.15,
        time_ratio: float = 1.05,
        reward_scale: float = 1.0,
        arms: Mapping[str, Mapping[str, Any]] | None = None,
        **fields: Any,
    ) -> None:
        """Add a task with both recalls; ``arms`` are fields of the trial of one arm."""
        dice = self.dice
        seconds, tokens = dice.lognormvariate(5.3, 0.5), dice.lognormvariate(12.2, 0.6)
        repository = f"repo-{self.n_tasks // 2:02}"
        fields = {"benchmark": "suite-a", "repositories": [repository], **fields}
        self.n_tasks += 1
        for config, recall in zip(ARMS, (before, after), strict=True):
            own = dict((arms or {}).get(config, {}))
            if own.pop("is_absent", False):
                continue
            is_mcp = config == "mcp"
            more = (time_ratio, cost_ratio) if is_mcp else (1.0, 1.0)
            noise = dice.lognormvariate(0, 0.2)
            used = round(tokens * more[1] * noise)
            recall = min(1.0, max(0.0, recall))
            reward = min(1.0, max(0.0, 0.2 + 0.6 * recall + dice.gauss(0, 0.1)))
            row = document(
                task,
                config,
                recall,
                **{
                    "reward": round(reward * reward_scale, 3),
                    "mcp": 4 * is_mcp,
                    "calls": 20,
                    "shell": 12,
                    "opaque": 1,
                    "cost": round(used * 4e-6, 4),
                    "hit": round(seconds * more[0] * noise * dice.uniform(0.05, 0.3), 1),
                    **fields,
                    **own,
                },
            )
            _complete(row, recall, seconds * more[0] * noise, used, dice)
            self.rows.append(row)


def _complete(
    row: dict[str, Any], recall: float, seconds: float, tokens: int, dice: random.Random
) -> None:
    """Add the numbers that an evaluated trial has beside its recall."""
    files = row["file_level_metrics"]
    row["outcome"] |= {"elapsed_seconds": round(seconds, 1), "total_tokens": tokens}
    row["coverage"] |= {"has_trajectory": True, "has_ground_truth": True}
    row["event_summary"] = {"total_events": 20, "mcp_events": row["ledger"]["mcp_calls"]}
    if not files["computable"]:
        return
    is_open = dice.random() < 0.15
    hit = files["ttfr_seconds"]
    files |= {
        "mrr": round(min(1.0, recall + dice.uniform(0, 0.2)), 3) if recall else 0.0,
        "ndcg": {"10": round(recall * dice.uniform(0.8, 1.0), 3)},
        "context_efficiency": round(recall * dice.uniform(0.2, 0.5), 3),
        "file_recall_bounds": [recall, min(1.0, recall + 0.25 * is_open)],
        "n_retrieved": 12,
        "n_overlap": round(4 * recall),
        "ttfr_tokens": None if hit is None else round(tokens * hit / seconds),
        "censored_at_seconds": round(seconds, 1),
        "censored_at_tokens": tokens,
    }
    row["utilization_probes"] = {"util_read_overlap_with_relevant_files": round(recall, 3)}


# Studies that mislead


@study
def opposite_suites(seed: int = 2) -> Documents:
    """Return a gain on one suite and a loss on the other, of which the mean is a clear gain."""
    bench = Bench(seed)
    for i in range(26):
        suite, gain = ("suite-a", 0.42) if i < 18 else ("suite-b", -0.12)
        before = bench.recall(0.2, 0.55)
        after = before + gain + bench.dice.gauss(0, 0.06)
        bench.pair(f"t{i:02}", before, after, benchmark=suite)
    return bench.rows


@study
def three_repositories(seed: int = 2) -> Documents:
    """Return 24 tasks of three repositories, with an effect of each repository and none of all."""
    bench = Bench(seed)
    for i in range(24):
        name, effect = (("web", 0.26), ("cli", 0.12), ("core", -0.04))[i % 3]
        before = bench.recall()
        after = before + effect + bench.dice.gauss(0, 0.06)
        bench.pair(f"t{i:02}", before, after, repositories=[name])
    return bench.rows


@study
def worst_absent(seed: int = 2) -> Documents:
    """Return 40 tasks of which one arm lacks the 16 on which it would have found least."""
    bench = Bench(seed)
    for i in range(40):
        before = 0.05 + i / 50
        arms = {"mcp": {"is_absent": i < 16}}
        bench.pair(f"t{i:02}", before, before + 0.05 + bench.dice.gauss(0, 0.03), arms=arms)
    return bench.rows


@study
def crashes_on_worst(seed: int = 2) -> Documents:
    """Return 30 tasks of which one arm crashed on the ten on which it would have found least."""
    bench = Bench(seed)
    crash = {"exception": {"type": "TimeoutError"}, "calls": 0, "mcp": 0, "shell": 0, "opaque": 0}
    for i in range(30):
        before = 0.05 + i / 40
        arms = {"mcp": crash} if i < 10 else None
        bench.pair(f"t{i:02}", before, before + 0.06 + bench.dice.gauss(0, 0.04), arms=arms)
        if i < 10:
            lost = bench.rows[-1]
            lost["file_level_metrics"] = {"computable": False, "reason": "no_trace"}
            lost["utilization_probes"] = {}
            lost["outcome"]["reward"] = None
    return bench.rows


@study
def two_reward_scales(seed: int = 2) -> Documents:
    """Return two suites, one with rewards from 0 to 1 and one with rewards up to 100."""
    bench = Bench(seed)
    for i in range(24):
        suite, scale = ("suite-a", 1.0) if i % 2 else ("suite-b", 100.0)
        before = bench.recall()
        after = before + 0.12 + bench.dice.gauss(0, 0.08)
        bench.pair(f"t{i:02}", before, after, benchmark=suite, reward_scale=scale)
    return bench.rows


@study
def mostly_dead_server(seed: int = 2) -> Documents:
    """Return an arm whose server answered in one of twelve trials, and that found more."""
    bench = Bench(seed)
    for i in range(12):
        before = bench.recall()
        arms = {"mcp": {"mcp_ok": 4 * (i == 0)}}
        bench.pair(f"t{i:02}", before, before + 0.15 + bench.dice.gauss(0, 0.06), arms=arms)
    return bench.rows


@study
def contaminated_control(seed: int = 2) -> Documents:
    """Return 24 tasks of which the control used the tool in seven, where nothing differs."""
    bench = Bench(seed)
    for i in range(24):
        has_used = i < 7
        before = bench.recall()
        after = before + (0.0 if has_used else 0.15) + bench.dice.gauss(0, 0.06)
        bench.pair(f"t{i:02}", before, after, arms={"baseline": {"mcp": 3 * has_used}})
    return bench.rows


@study
def survivors_times(seed: int = 2) -> Documents:
    """Return an arm that finds a file early or, on half of its tasks, never."""
    bench = Bench(seed)
    for i in range(24):
        has_hit = i >= 12
        before = bench.recall(0.2, 0.5)
        after = min(1.0, before * 2 + bench.dice.gauss(0, 0.05)) if has_hit else 0.0
        late, early = 60 + bench.dice.uniform(0, 40), 8 + bench.dice.uniform(0, 6)
        arms = {"baseline": {"hit": late}, "mcp": {"hit": early if has_hit else None}}
        bench.pair(f"t{i:02}", before, after, arms=arms)
    return bench.rows


@study
def one_task_dominates(seed: int = 2) -> Documents:
    """Return 24 tasks of which one has over a third of the whole difference."""
    bench = Bench(seed)
    for i in range(24):
        before = 0.2 if i == 0 else bench.recall()
        gain = 0.35 if i == 0 else 0.02 + bench.dice.uniform(-0.01, 0.02)
        bench.pair(f"t{i:02}", before, before + gain)
    return bench.rows


@study
def five_times_the_cost(seed: int = 2) -> Documents:
    """Return a gain of file recall for five times the cost and twice the time."""
    bench = Bench(seed)
    for i in range(24):
        before = bench.recall()
        after = before + 0.12 + bench.dice.gauss(0, 0.08)
        bench.pair(f"t{i:02}", before, after, cost_ratio=5.0, time_ratio=2.0)
    return bench.rows


# Clean studies


@study
def planted_effect(seed: int = 2) -> Documents:
    """Return a plain gain of file recall, at about the same cost."""
    bench = Bench(seed)
    for i in range(30):
        before = bench.recall()
        after = before + 0.15 + bench.dice.gauss(0, 0.1)
        bench.pair(f"t{i:02}", before, after, cost_ratio=1.0, time_ratio=1.0)
    return bench.rows


@study
def equal_arms(seed: int = 2) -> Documents:
    """Return two arms that differ by chance only."""
    bench = Bench(seed)
    for i in range(30):
        before = bench.recall()
        after = before + bench.dice.gauss(0, 0.15)
        bench.pair(f"t{i:02}", before, after, cost_ratio=1.0, time_ratio=1.0)
    return bench.rows
