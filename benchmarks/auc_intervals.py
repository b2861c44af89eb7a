"""How often the interval of the area under the ROC of refusals contains the true area.

Top scores are normal: answerable ones with a spread of 1, unanswerable ones with 1 or 2. The last
column rounds scores to fifths of a spread, so that many are equal. Prints the rows of the table in
docs/abstention.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from retrieval_eval.search.run.abstention import auc, auc_interval

N_STUDIES = 2_000
SIZES = ((8, 80), (16, 158), (60, 540), (150, 450))
AREAS = (0.6, 0.75, 0.9, 0.97)
SPREADS = (1.0, 2.0)
STEP = 0.2


def coverage(m: int, n: int, area: float, spread: float, step: float, seed: int) -> float:
    generator = np.random.default_rng(seed)
    shift = float(ndtri(area)) * math.hypot(1, spread)

    def drawn(size: int, mean: float, deviation: float) -> np.ndarray:
        scores = generator.normal(mean, deviation, size)
        return np.round(scores / step) * step if step else scores

    truth = area
    if step:
        found = auc(drawn(1_000_000, 0, spread), drawn(1_000_000, shift, 1)).value
        assert found is not None
        truth = found
    held = 0
    for _ in range(N_STUDIES):
        ends = auc_interval(drawn(m, 0, spread), drawn(n, shift, 1))
        assert ends.low.value is not None
        assert ends.high.value is not None
        held += ends.low.value <= truth <= ends.high.value
    return held / N_STUDIES


def main() -> None:
    print("| unanswerable | answerable | area | spread 1 | spread 2 | spread 2, ties |")
    print("|---:|---:|---:|---:|---:|---:|")
    for row, (m, n) in enumerate(SIZES):
        for column, area in enumerate(AREAS):
            seed = 100 * row + 10 * column
            cells = [coverage(m, n, area, spread, 0.0, seed) for spread in SPREADS]
            cells.append(coverage(m, n, area, 2.0, STEP, seed + 1))
            shown = " | ".join(f"{100 * cell:.1f} %" for cell in cells)
            print(f"| {m} | {n} | {area} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
