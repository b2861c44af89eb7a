from retrieval_eval.stats.proportions import cell

SEED = 7


def test_cells_under_five_are_not_interpretable():
    assert not cell([1, 0, 1, 0], is_binary=True, seed=SEED).is_interpretable
    assert cell([1, 0, 1, 0, 1], is_binary=True, seed=SEED).is_interpretable
