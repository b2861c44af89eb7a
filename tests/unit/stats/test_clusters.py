import pytest

from retrieval_eval.stats.resampling import group


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


def test_equally_large_clusters_lose_one_degree_of_freedom():
    assert group(None, 9).degrees_of_freedom() == 8.0
    assert group([i // 3 for i in range(21)], 21).degrees_of_freedom() == 6.0
