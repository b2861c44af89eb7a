"""Search runs of known P@5 and refusals, and thresholds, for tests of the guard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from retrieval_eval.search.decide.thresholds import Thresholds, read_thresholds
from retrieval_eval.search.run import Settings
from tests.searches import abstention_block, answer, gold_query, gold_set, run_of

QUICK = Settings(n_resamples=200)
GOOD = ["d1", "d2", "d3", "d4", "d5"]


def run_with(
    hits: Sequence[int], *, refused: Sequence[bool] = (), corpora: Sequence[str] = (), **fields: Any
) -> dict[str, Any]:
    """A run whose query q<i> finds hits[i] of its five relevant documents among its first five.

    So its P@5, Recall@5 and Recall@20 are hits[i] / 5. ``refused`` adds queries u<i> without an
    answer, refused or not, and the abstention block.
    """
    names = [f"q{place:03}" for place in range(len(hits))]
    corpora = corpora or ["docs"] * len(hits)
    queries = [
        gold_query(name, dict.fromkeys(GOOD, 1), corpus=corpus, answerable=True)
        for name, corpus in zip(names, corpora, strict=True)
    ]
    queries += [gold_query(f"u{place:03}", answerable=False) for place in range(len(refused))]
    answers = [
        answer(name, [*GOOD[:n], *(f"x{place}" for place in range(5 - n))])
        for name, n in zip(names, hits, strict=True)
    ]
    answers += [
        answer(f"u{place:03}", [] if is_refused else ["x1"])
        for place, is_refused in enumerate(refused)
    ]
    document = run_of(gold_set(*queries), answers, **{"settings": QUICK, **fields})
    if refused:
        document["abstention"] = abstention_block(document["queries"])
    return document


def with_trust(
    document: dict[str, Any], *, n_twice: int = 20, n_same: int = 20, is_declared: bool = False
) -> dict[str, Any]:
    """The run with what was found of its answers: so many asked twice, so many answered alike."""
    is_known = n_twice > 0 or is_declared
    for place, query in enumerate(document["queries"][:n_twice]):
        query["second_answer"] = "same" if place < n_same else "other_answer"
    document["trust"] = {
        "ids_checked": False,
        "n_failed": 0,
        "failed_share": 0.0,
        "max_failed_share": 0.0,
        "problems": {},
        "n_asked_twice": n_twice,
        "n_same_answer": n_same,
        "n_same_scores": n_same,
        "varied_high": None,
        "is_declared": is_declared,
        "determinism": "measured" if n_twice else "declared" if is_declared else "not_measured",
        "is_deterministic": n_same == n_twice if is_known else None,
        "sample": None,
    }
    return document


def with_claims(
    document: dict[str, Any],
    supported: Sequence[Sequence[bool | None]],
    *,
    kappa: tuple[float, float] | None = (0.4, 0.8),
) -> dict[str, Any]:
    """The run with a claims block: whether each claim of each query's draft is supported.

    None is an unproved claim. ``kappa`` is the interval of the judge's agreement with people; None:
    they were not compared.
    """
    flat = [is_supported for draft in supported for is_supported in draft]
    n, n_unproved = len(flat), flat.count(None)
    low, high = (sum(map(bool, flat)) + more for more in (0, n_unproved))
    mean = {"value": low / n, "n": n, "computable": True, "reason": None}
    block = {**mean, "ci_low": None, "ci_high": None}
    if n_unproved:
        block |= {"unproved_low": low / n, "unproved_high": high / n}
    agreement = None
    if kappa is not None:
        known = {"value": sum(kappa) / 2, "n": 60, "computable": True, "reason": None}
        known |= {"ci_low": kappa[0], "ci_high": kappa[1]}
        counts = dict.fromkeys(("both", "judge_only", "human_only", "neither"), 15)
        agreement = {"n": 60, "kappa": known, "accuracy": known, "confusion": counts}
    document["claims"] = {
        "judge": {"name": "offline", "version": "1", "settings": {}},
        "agreement": agreement,
        "n_unproved": n_unproved,
        "coverage": block,
        "faithfulness": block,
        "queries": [
            {
                "id": query["id"],
                "claims": [
                    {
                        "text": "a claim",
                        "draft_span": [0, 7],
                        "is_substantive": True,
                        "supported_by": "d1" if is_supported else None,
                        "is_unproved": is_supported is None,
                        "is_context_unproved": is_supported is None,
                        "span": None,
                        "in_context": is_supported is True,
                        "reason": "",
                    }
                    for is_supported in draft
                ],
            }
            for query, draft in zip(document["queries"], supported, strict=True)
        ],
    }
    return document


def thresholds_of(folder: Path, *rows: str, rule: str = "threshold") -> Thresholds:
    """Thresholds of TOML tables, each given as its lines."""
    path = folder / "guard.toml"
    text = f'[decision]\nrule = "{rule}"\n'
    path.write_text(text + "".join(f"[[threshold]]\n{row}\n" for row in rows))
    return read_thresholds(path)


def drop(metric: str, points: float, *more: str) -> str:
    """The lines of a threshold on a drop."""
    lines = (
        f'metric = "{metric}"',
        'direction = "down is bad"',
        f"max_change = {points}",
        'unit = "points"',
    )
    return "\n".join((*lines, *more))
