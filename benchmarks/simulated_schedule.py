"""Simulate the evaluation of very many trials from measured costs, with stragglers and deaths.

    python benchmarks/simulated_schedule.py [--trials 1000000] [--ms-per-trial 8.9]
        [--ms-to-list 0.39]

Work is handed out as `run_on` does it: two batches a worker are in flight, the next goes to whoever
is free. A batch may land on a slow worker, and a worker may die: its batch is begun again, whole,
and the worker comes back later. The client lists the run first and takes the receipts one after
another. At the end workers read the columns of the summary, those of each configuration at the same
time. What is assumed is printed; the costs come from `large_cluster.py` and `large_run.py --rows`.
"""

from __future__ import annotations

import argparse
import heapq
import random
from dataclasses import dataclass


@dataclass
class Costs:
    """Seconds, and chances."""

    trials: int
    per_trial: float
    per_trial_listed: float
    """Processor seconds of the client, which is one process."""
    per_batch: float = 0.5
    """Start of a task, list of tasks from a cache, and one table written."""
    per_receipt: float = 0.03
    """The client takes a receipt, and the scheduler handles a task."""
    per_trial_summed: float = 0.000033
    """A worker reads all columns of the summary."""
    configurations: int = 2
    batch_trials: int = 256
    keys_per_trial: int = 3
    seconds_per_page: float = 0.15
    """One page of a listing has 1,000 keys."""
    listings_at_once: int = 16
    """As many as there are configurations and batches of time, at most 16."""
    slow_share: float = 0.02
    slow_factor: float = 5.0
    deaths_per_worker_hour: float = 0.2
    seconds_to_return: float = 60.0
    spread: float = 0.3
    """Standard deviation of the logarithm of a batch's time."""


@dataclass
class Outcome:
    """What a simulated evaluation took."""

    listing: float
    seconds: float
    deaths: int
    repeated: float
    """Worker seconds that were spent on batches whose worker died."""
    ideal: float
    """Seconds if all of the work were spread evenly over the workers."""


def simulated(costs: Costs, n_workers: int, seed: int) -> Outcome:
    """Return one evaluation on so many workers."""
    dice = random.Random(seed)
    n_batches = -(-costs.trials // costs.batch_trials)
    pages = costs.trials * costs.keys_per_trial / 1000
    waiting_for_pages = pages * costs.seconds_per_page / costs.listings_at_once
    listing = max(waiting_for_pages, costs.trials * costs.per_trial_listed)
    free = [(listing, worker) for worker in range(n_workers)]
    heapq.heapify(free)
    waiting = [_length(costs, dice) for _ in range(n_batches)]
    work, deaths, repeated, ends = sum(waiting), 0, 0.0, []
    while waiting:
        now, worker = heapq.heappop(free)
        seconds = waiting.pop()
        dies_after = dice.expovariate(costs.deaths_per_worker_hour / 3600)
        if dies_after < seconds:
            deaths += 1
            repeated += dies_after
            waiting.insert(0, seconds)
            heapq.heappush(free, (now + dies_after + costs.seconds_to_return, worker))
            continue
        ends.append(now + seconds)
        heapq.heappush(free, (now + seconds, worker))
    client = listing
    for end in sorted(ends):
        client = max(client, end) + costs.per_receipt
    client += costs.trials / min(costs.configurations, n_workers) * costs.per_trial_summed
    return Outcome(listing, client, deaths, repeated, work / n_workers)


def _length(costs: Costs, dice: random.Random) -> float:
    seconds = costs.batch_trials * costs.per_trial * dice.lognormvariate(0, costs.spread)
    if dice.random() < costs.slow_share:
        seconds *= costs.slow_factor
    return seconds + costs.per_batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--ms-per-trial", type=float, default=8.9)
    parser.add_argument("--ms-to-list", type=float, default=0.39)
    parser.add_argument("--workers", type=int, nargs="+", default=[8, 32, 128, 512])
    given = parser.parse_args()
    costs = Costs(given.trials, given.ms_per_trial / 1e3, given.ms_to_list / 1e3)
    print(f"{costs}\n")
    print("| workers | listing | in all | evenly spread | deaths | work done again |")
    print("|---:|---:|---:|---:|---:|---:|")
    for n in given.workers:
        rounds = sorted((simulated(costs, n, seed) for seed in range(5)), key=lambda o: o.seconds)
        one = rounds[len(rounds) // 2]
        again = one.repeated / (one.ideal * n)
        print(
            f"| {n} | {one.listing / 60:.1f} min | {one.seconds / 60:.1f} min "
            f"| {one.ideal / 60:.1f} min | {one.deaths} | {again:.1%} |"
        )


if __name__ == "__main__":
    main()
