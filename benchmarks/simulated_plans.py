"""Planned studies carried out: how often a study of the planned size has a clear verdict.

Each function returns one row of a table, as those of `simulated_studies.py` do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from simulated_draws import generator
from simulated_studies import Row, percent

from retrieval_eval.stats.equivalence import equivalence_of_pairs
from retrieval_eval.stats.paired import compare_paired
from retrieval_eval.stats.power import units_needed
from retrieval_eval.stats.sequential import AlwaysValid, always_valid_bounded, always_valid_mean

ALPHA: Final = 0.05

PLANS: Final[dict[str, dict[str, Any]]] = {
    "normal, effect 1.0 sd": {"sd": 0.1, "difference": 0.1},
    "normal, effect 0.5 sd": {"sd": 0.2, "difference": 0.1},
    "normal, effect 0.25 sd": {"sd": 0.2, "difference": 0.05},
    "30 % without a difference": {"sd": 0.2, "difference": 0.1, "share_zero": 0.3},
    "60 % without a difference": {"sd": 0.2, "difference": 0.1, "share_zero": 0.6},
    "clusters of 4, ICC 0.2": {"sd": 0.2, "difference": 0.1, "icc": 0.2, "cluster_size": 4},
    "clusters of 20, ICC 0.1": {"sd": 0.1, "difference": 0.1, "icc": 0.1, "cluster_size": 20},
    "rewards 0 and 1, 59 % without a difference": {
        "sd": 0.608,
        "difference": 0.2,
        "is_reward": True,
        "up": 0.305,
        "down": 0.105,
    },
}
"""What is planned for, by its name on the page."""

LOOKS: Final[dict[str, tuple[Callable[..., AlwaysValid], Callable[..., Any], bool]]] = {
    "bounded, normal (0.3)": (
        always_valid_bounded,
        lambda g, n: np.clip(g.normal(0, 0.3, n), -1, 1),
        True,
    ),
    "bounded, 60 % zeros": (
        always_valid_bounded,
        lambda g, n: (g.random(n) < 0.4) * g.uniform(-1, 1, n),
        True,
    ),
    "log ratios, normal": (always_valid_mean, lambda g, n: g.normal(0, 0.5, n), True),
    "log ratios, t with 4 degrees": (always_valid_mean, lambda g, n: g.standard_t(4, n), False),
    "exponential": (always_valid_mean, lambda g, n: g.exponential(1, n) - 1, False),
}
"""What comes in over time without a difference, with whether its promise is exact."""

MARGINS: Final[dict[str, Callable[..., Any]]] = {
    "normal": lambda g, n: g.normal(0.05, 0.1, n),
    "exponential": lambda g, n: g.exponential(0.05, n),
    "75 % zeros, else 0.2": lambda g, n: g.choice([0.0, 0.0, 0.0, 0.2], n),
}
"""Differences whose mean lies at the margin of equivalence, 0.05."""


def plan_row(name: str, studies: int) -> Row:
    """Plan a study for 80 % power, then carry it out as often as stated."""
    given = PLANS[name]
    g = generator("plan", name)
    size, icc = given.get("cluster_size", 1), given.get("icc", 0.0)
    deviation = given["sd"] * math.sqrt((1 + (size - 1) * icc) / size)
    units = units_needed(given["difference"] / deviation, is_clustered=size > 1)
    assert units is not None
    n = units * size
    return [name, str(n), percent(_is_clear(*_drawn(g, n, given)) for _ in range(studies))]


def _drawn(
    g: np.random.Generator, n: int, given: dict[str, Any]
) -> tuple[np.ndarray[Any, Any], list[int] | None]:
    """Return the differences of a study, and their clusters."""
    shift, zero = given["difference"], given.get("share_zero", 0.0)
    if given.get("is_reward"):
        up, same = given["up"], 1 - given["up"] - given["down"]
        return g.choice([1.0, 0.0, -1.0], n, p=[up, same, given["down"]]), None
    size, icc = given.get("cluster_size", 1), given.get("icc", 0.0)
    if size > 1:
        labels = np.arange(n) // size
        shared = g.normal(0, given["sd"] * math.sqrt(icc), labels.max() + 1)[labels]
        return shift + shared + g.normal(0, given["sd"] * math.sqrt(1 - icc), n), labels.tolist()
    centre = shift / (1 - zero)
    spread = math.sqrt(given["sd"] ** 2 / (1 - zero) - zero * centre**2)
    return (g.random(n) >= zero) * g.normal(centre, spread, n), None


def _is_clear(differences: np.ndarray[Any, Any], clusters: list[int] | None) -> bool:
    """Return whether test and interval find a difference above 0."""
    found = compare_paired(
        np.zeros(len(differences)), differences, seed=1, n_resamples=999, clusters=clusters
    )
    low, p_value = found.interval.low.value, found.p_value.value
    return low is not None and p_value is not None and p_value < ALPHA and low > 0


def look_row(name: str, n: int, studies: int) -> Row:
    """Look after every value while nothing differs, and count studies that ever find something."""
    made, draw, _ = LOOKS[name]
    g = generator("looks", name, n)
    p_values, widths = [], []
    for _ in range(studies):
        found = made(draw(g, n))
        low, high = found.interval.low.value, found.interval.high.value
        p_values.append(found.p_value.value)
        if low is not None and high is not None:
            widths.append(high - low)
    false = percent(p is not None and p <= ALPHA for p in p_values)
    return [name, str(n), false, f"{np.median(widths):.2f}"]


def margin_row(name: str, n: int, studies: int) -> Row:
    """Count studies called equivalent although their difference is as large as the margin."""
    g = generator("margin", name, n)
    found = percent(
        equivalence_of_pairs(MARGINS[name](g, n), 0.05, seed=1, n_resamples=999).is_equivalent
        for _ in range(studies)
    )
    return [name, str(n), found]
