"""What must be measured, worked out from the plan alone with plain loops and sets.

Nothing here calls the metrics of this package: the tests compare those with these values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tests.simulators.model import Action, Expected, TaskPlan, TrialPlan
from tests.simulators.moves import OWN_OUTPUT

CUTOFFS = (1, 3, 5, 10)


def expect(task: TaskPlan, actions: Sequence[Action]) -> Expected:
    """Return the expected values of a trial that did ``actions``."""
    accessed = _files(actions, {"opened", "matched", "listed"})
    opened = _files(actions, {"opened"})
    written = [file for file in _files(actions, {"written"}) if file != OWN_OUTPUT]
    known = Expected(
        tuple(accessed),
        tuple(opened),
        tuple(written),
        util_read_before_write=_read_before_write(actions, written),
    )
    is_unseen = any(a.is_opaque for a in actions) and not set(accessed) - {OWN_OUTPUT}
    if not task.files or is_unseen:
        return known
    truth = set(task.files)
    hits = [file for file in accessed if file in truth]
    first = _first_hit(actions, truth)
    edits = task.expected_edit_files
    return Expected(
        known.accessed,
        known.opened,
        known.written,
        file_recall=len(hits) / len(truth),
        precision={str(k): _hits_within(accessed, truth, k) / k for k in CUTOFFS}
        if accessed
        else None,
        recall={str(k): _hits_within(accessed, truth, k) / len(truth) for k in CUTOFFS},
        ndcg={str(k): _ndcg(accessed, truth, k) for k in CUTOFFS},
        mrr=1 / (accessed.index(hits[0]) + 1) if hits else 0.0,
        map_score=_average_precision(accessed, truth),
        context_efficiency=len(hits) / len(accessed) if accessed else None,
        first_hit_step=first.step if first else None,
        first_hit_second=first.second if first else None,
        first_hit_tokens=first.cumulative_tokens if first else None,
        first_hit_rank=accessed.index(hits[0]) + 1 if hits else None,
        util_read_overlap=len(truth & set(opened)) / len(truth),
        util_write_overlap_proxy=len(truth & set(written)) / len(truth) if written else None,
        util_write_overlap_expected_edits=len(set(edits) & set(written)) / len(edits)
        if edits and written
        else None,
        util_read_before_write=known.util_read_before_write,
        taxonomy=_taxonomy(truth, accessed, written),
        chunk_recall=_chunk_recall(task, accessed),
        line_overlap=_line_overlap(task, actions),
    )


def count_pairs(trials: Iterable[TrialPlan], configs: tuple[str, str]) -> dict[str, int]:
    """Return, by metric, for how many tasks both configs have a value with one and the same setup.

    A setup is a model and a harness version. Nothing is left out for being invalid otherwise.
    """
    having: dict[str, dict[str, set[tuple[str, str, str]]]] = {}
    for trial in trials:
        setup = (trial.task_name, trial.model, trial.harness_version)
        for metric, value in _paired_values(trial).items():
            setups = having.setdefault(metric, {config: set() for config in configs})
            if value is not None:
                setups[trial.config].add(setup)
    first, second = configs
    return {m: len({s[0] for s in sets[first] & sets[second]}) for m, sets in having.items()}


def _paired_values(trial: TrialPlan) -> dict[str, float | None]:
    expected, result = trial.expected, trial.result
    return {
        "file_recall": expected.file_recall if expected else None,
        "mrr": expected.mrr if expected else None,
        "ndcg@10": expected.ndcg["10"] if expected and expected.ndcg else None,
        "ttfr_seconds": expected.first_hit_second if expected else None,
        "ttfr_tokens": expected.first_hit_tokens if expected else None,
        "context_efficiency": expected.context_efficiency if expected else None,
        "util_read_overlap_with_relevant_files": expected.util_read_overlap if expected else None,
        "reward": result.reward,
        "cost_usd": result.cost_usd,
        "elapsed_seconds": result.elapsed_seconds,
        "total_tokens": result.input_tokens,
    }


def _files(actions: Iterable[Action], access: set[str]) -> list[str]:
    """Return the files touched in one of these ways, in order of first appearance."""
    found: list[str] = []
    for action in actions:
        for touch in action.touches:
            if touch.access in access and touch.file not in found:
                found.append(touch.file)
    return found


def _first_hit(actions: Iterable[Action], truth: set[str]) -> Action | None:
    for action in actions:
        for touch in action.touches:
            if touch.access != "written" and touch.file in truth:
                return action
    return None


def _hits_within(ranking: Sequence[str], truth: set[str], cutoff: int) -> int:
    return sum(file in truth for file in ranking[:cutoff])


def _ndcg(ranking: Sequence[str], truth: set[str], cutoff: int) -> float:
    gain = math.fsum(
        1 / math.log2(rank + 1)
        for rank, file in enumerate(ranking[:cutoff], start=1)
        if file in truth
    )
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(cutoff, len(truth)) + 1))
    return gain / ideal


def _average_precision(ranking: Sequence[str], truth: set[str]) -> float:
    hits, total = 0, 0.0
    for rank, file in enumerate(ranking, start=1):
        if file in truth:
            hits += 1
            total += hits / rank
    return total / len(truth)


def _read_before_write(actions: Iterable[Action], written: Sequence[str]) -> float | None:
    if not written:
        return None
    opened: set[str] = set()
    first_writes: dict[str, bool] = {}
    for action in actions:
        for touch in action.touches:
            if touch.access == "opened":
                opened.add(touch.file)
            elif touch.access == "written" and touch.file in written:
                first_writes.setdefault(touch.file, touch.file in opened)
    return sum(first_writes.values()) / len(written)


def _taxonomy(truth: set[str], accessed: Sequence[str], written: Sequence[str]) -> dict[str, int]:
    folders = {_folder(file) for file in truth}
    others = [file for file in accessed if file not in truth]
    return {
        "irrelevant_retrieval": len(others),
        "missed_key_evidence": len(truth - set(accessed)),
        "wrong_evidence_used": sum(file not in truth for file in written),
        "unused_correct_retrieval": len((truth & set(accessed)) - set(written)),
        "ambiguity_near_miss": sum(_folder(file) in folders for file in others),
    }


def _folder(file: str) -> tuple[str, str]:
    repository, _, path = file.rpartition("::")
    return repository, path.rpartition("/")[0]


def _chunk_recall(task: TaskPlan, accessed: Sequence[str]) -> float | None:
    if not task.chunks:
        return None
    return sum(file in accessed for file, _, _ in task.chunks) / len(task.chunks)


def _line_overlap(task: TaskPlan, actions: Sequence[Action]) -> float | None:
    """Return the share of all chunk lines that some read or search result showed."""
    if not task.chunks:
        return None
    wanted = {(file, line) for file, first, last in task.chunks for line in range(first, last + 1)}
    shown: set[tuple[str, int]] = set()
    for touch in (touch for action in actions for touch in action.touches):
        if touch.access in {"opened", "matched"}:
            for file, line in wanted:
                inside = any(first <= line <= last for first, last in touch.lines or ())
                if file == touch.file and (touch.is_whole or inside):
                    shown.add((file, line))
    return len(shown) / len(wanted)
