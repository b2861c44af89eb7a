"""Plant changes of known cause in a simulated search system, and count which cause is named first.

Prints Markdown; with --write it becomes docs/search-causes.md.

    python benchmarks/search_causes.py --write
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

from planted import DEPTH, TRUTH, World, pair

from retrieval_eval.search.change.causes import causes

TARGET = Path(__file__).resolve().parents[1] / "docs" / "search-causes.md"
WORLDS = 10
NOISES = (0.0, 0.02, 0.1, 0.3, 1.0)

INTRODUCTION = """\
# Is the cause of a change named?

`search diff` and `search guard` name what explains a change (at most five sentences, the most
telling first). Changes of known cause are planted in a simulated system, and the first cause that
is named is compared with what was planted. `python benchmarks/search_causes.py --write` writes
this page.

The system answers 120 queries of two corpora and four areas with {depth} documents out of 900 in
six folders and three languages. Each change is planted in {worlds} systems, without and with
run-to-run noise (in 10 % of the queries neighbouring documents change places). Runs are scored and
compared as `search run` and `search diff` do it.
"""


def planted() -> tuple[list[str], int, int]:
    """Return a row for each planted change, how many causes were named first, and of how many."""
    rows, n_right, n_all = [], 0, 0
    for name, code in TRUTH.items():
        counts, said = [], ""
        for noise in (0.0, 0.1):
            found = [causes(*pair(World(seed), name, noise=noise)) for seed in range(WORLDS)]
            right = [one[0].sentence for one in found if one and one[0].code == code]
            said = said or next(iter(right), "")
            counts.append(f"{len(right)} of {len(found)}")
            n_right, n_all = n_right + len(right), n_all + len(found)
        text = said.replace("|", "\\|").replace("<", "&lt;")
        rows.append(f"| {name} | `{code}` | {' | '.join(counts)} | {text} |")
    return rows, n_right, n_all


def unchanged() -> list[str]:
    """Return a row for each noise level: pairs of runs of one system, and what was named."""
    rows = []
    for noise in NOISES:
        said, n = [], 0
        for seed in range(WORLDS):
            world = World(1_000 + seed)
            runs = [world.run(noise=noise, varies=noise, luck=luck) for luck in range(5)]
            for before, after in pairwise(runs):
                n += 1
                said += [one.sentence for one in causes(before, after)[:1]]
        rows.append(f"| {noise:.0%} | {n} | {len(said)} | {'; '.join(said) or '—'} |")
    return rows


def main() -> None:
    """Print the page, and write it where asked to."""
    rows, n_right, n_all = planted()
    page = INTRODUCTION.format(depth=DEPTH, worlds=WORLDS)
    page += f"""
## Planted changes

The cause that was planted is named first in **{n_right} of {n_all}** pairs.

| planted | cause | first, without noise | with noise | first sentence |
|---|---|---|---|---|
"""
    page += "\n".join(rows)
    page += """

## Unchanged systems

Pairs of runs of one system; the share of queries that are answered otherwise each time is stated.

| queries that vary | pairs | with a cause | sentences |
|---|---|---|---|
"""
    page += "\n".join(unchanged()) + "\n"
    print(page)
    if "--write" in sys.argv[1:]:
        TARGET.write_text(page)


if __name__ == "__main__":
    main()
