import pytest

from retrieval_eval.stats.multiplicity import adjust_family, benjamini_hochberg, holm


def test_tests_without_p_value_do_not_count():
    adjusted = benjamini_hochberg([None, 0.01, None, 0.04])
    assert adjusted.m == 2
    assert adjusted.values == (None, 0.02, None, 0.04)
    assert benjamini_hochberg([None]).values == (None,)
    assert benjamini_hochberg([]).m == 0


@pytest.mark.parametrize("bad", [1.5, -0.1, float("nan")])
def test_what_is_no_p_value_is_refused(bad):
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, bad])


def test_a_declared_family_keeps_what_could_not_be_tested():
    declared = {"recall": 0.01, "mrr": None, "reward": 0.02, "cost": 0.9}
    family = adjust_family(declared)
    assert (family.method, family.m, family.untested) == ("holm", 3, ("mrr",))
    assert family.adjusted == {"recall": 0.03, "mrr": None, "reward": 0.04, "cost": 0.9}
    assert list(family.adjusted) == list(declared)
    assert family.rejected() == ("recall", "reward")
    assert family.rejected(0.04) == ("recall",)
    assert adjust_family(declared, benjamini_hochberg).adjusted["reward"] == 0.03
    assert adjust_family({}).m == 0
