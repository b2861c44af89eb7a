"""What the kernel gives up on is evaluated all the same."""

import numpy as np
import pytest

from retrieval_eval.ranking import evaluate_rankings, hits

pytestmark = pytest.mark.skipif(hits.kernel is None, reason="the kernel is not compiled")


def ids_of_one_slot(n):
    """Ids of eight bytes that a table of 1,024 places puts into the same one."""
    found, number = [], 0
    while len(found) < n:
        name = f"{number:08x}"
        mixed = (8 ^ int.from_bytes(name.encode(), "little")) * 0x9E3779B97F4A7C15 % 2**64
        if (mixed ^ mixed >> 32) % 1024 == 0:
            found.append(name)
        number += 1
    return found


def test_ids_made_to_collide_cost_no_quadratic_time(tmp_path):
    ids = ids_of_one_slot(300)
    text = "".join(f"q Q0 {name} 0 {-place} t\n" for place, name in enumerate(ids))
    rows = text.encode(), 6, 4
    assert hits.kernel.rank([{}], rows, {"q": 0}, {}, 1, False) is None
    path = tmp_path / "run.txt"
    path.write_text(text)
    found = evaluate_rankings({"q": {ids[99]: 1, "x": 1}}, path, ["RR", "Recall@100"])
    assert {name: mean.value for name, mean in found.means.items()} == {
        "RR": 1 / 100,
        "Recall@100": 1 / 2,
    }


@pytest.mark.parametrize("n_queries", [1, 2])
def test_rows_of_a_query_that_do_not_adjoin(tmp_path, n_queries):
    lines = [f"q{n % n_queries} Q0 d{n} 0 {n} t\n" for n in range(6)]
    rows = "".join(lines).encode(), 6, 4
    found = hits.kernel.rank([], rows, {}, {}, 1, False)
    assert (found is None) == (n_queries > 1)
    path = tmp_path / "run.txt"
    path.write_text("".join(lines))
    qrels = {"q0": {"d0": 1}}
    expected = 1 / (6 // n_queries)
    assert evaluate_rankings(qrels, path, ["RR"]).means["RR"].value == expected


@pytest.mark.parametrize(
    ("queries", "offsets"),
    [(b"qq", [0, 1, 3]), (b"qq", [0, -1, 2]), (b"qq", [0, 2, 1]), (b"qq", [0, 1])],
)
def test_columns_that_point_nowhere_are_irregular(queries, offsets):
    ends = np.array([0, 1, 2], dtype=np.int64)
    rows = queries, np.array(offsets, dtype=np.int64), b"ab", ends, np.array([2.0, 1.0])
    assert hits.kernel.nested(rows, False) is None
    assert hits.kernel.rank([{}], rows, {"q": 0}, {}, 1, False) is None
