import pytest

from retrieval_eval.stats.clusters import group


def test_clusters_are_numbered_by_first_appearance():
    grouping = group(["b", "a", "b", "c"], 4)
    assert grouping.codes.tolist() == [0, 1, 0, 2]
    assert grouping.sizes().tolist() == [2.0, 1.0, 1.0]
    assert grouping.n_clusters == 3


def test_status_says_whether_clusters_can_be_resampled():
    assert group(None, 2).status == "none"
    assert group(["a", "b"], 2).status == "by_cluster"
    assert group(["a", "b", "a"], 3).status == "too_few_clusters"
    assert group([i % 6 for i in range(12)], 12).status == "by_cluster"
    assert group([i % 5 for i in range(12)], 12).is_usable is False


def test_one_label_for_each_unit():
    with pytest.raises(ValueError, match="one label for each"):
        group(["a"], 2)


def test_degrees_of_freedom_by_hand():
    # Shares 1/2, 1/4, 1/4, their squares sum to 3/8. Covariances of the adjusted deviations: 3 and
    # twice 7/6 on the diagonal, twice sqrt(32/3) * -3/8 and 4/3 * -1/8 beside it, each on both
    # sides. So (16/3) ** 2 over 9 + 49/18 + 6 + 1/18 = 160/9.
    assert group(["a", "a", "b", "c"], 4).degrees_of_freedom() == pytest.approx(1.6)


def test_equally_large_clusters_lose_one_degree_of_freedom():
    assert group(None, 9).degrees_of_freedom() == 8.0
    assert group([i // 3 for i in range(21)], 21).degrees_of_freedom() == 6.0


def test_one_more_unit_in_one_cluster_is_nearly_equally_large():
    # The general formula meets the short one for equal sizes.
    labels = [i // 50 for i in range(350)]
    assert group([*labels, 0], 351).degrees_of_freedom() == pytest.approx(6.0, abs=0.01)
