from __future__ import annotations

import pytest

from retrieval_eval import schema
from retrieval_eval.search.decide.thresholds import components_of, read_thresholds
from retrieval_eval.search.run.abstention import Gate
from retrieval_eval.search.run.composite import Bound
from tests.guards import with_claims
from tests.plain_runs import composite_block, metric_value
from tests.plain_runs import composite_sentence as sentence
from tests.searches import answer, gold_query, gold_set, run_of

GOLD = gold_set(
    *(gold_query(f"a{i}", {"x": 1}) for i in range(4)),
    *(gold_query(f"u{i}", answerable=False) for i in range(4)),
)
# P@1 is 3 of 4, RR (1 + 1 + 1 + 1/2) / 4; 3 of 4 unanswerable queries are refused, none else.
RUN = run_of(
    GOLD,
    [
        *(answer(f"a{i}", ["x"]) for i in range(3)),
        answer("a3", ["y", "x"]),
        *(answer(f"u{i}") for i in range(3)),
        answer("u3", ["x"]),
    ],
)
CAUGHT = Bound("ungrounded_true_positive_rate", 0.7)
REFUSED = Bound("answerable_false_refusal_rate", 0.1, is_ceiling=True)
FIRST = Bound("P@1", 0.5)


def test_the_value_is_the_smallest_margin_and_names_its_component():
    block = composite_block(RUN, [FIRST, CAUGHT, REFUSED])
    assert block["worst"] == "ungrounded_true_positive_rate"
    assert block["value"]["value"] == pytest.approx(0.75 - 0.7)
    assert block["value"]["n"] == 4
    assert [row["margin"] for row in block["components"]] == pytest.approx([0.25, 0.05, 0.1])
    assert [row["passes"] for row in block["components"]] == [True, True, True]
    assert [(row["floor"], row["ceiling"]) for row in block["components"]] == [
        (0.5, None),
        (0.7, None),
        (None, 0.1),
    ]
    assert block["reasons"] == []


def test_of_equal_margins_the_first_is_named():
    block = composite_block(RUN, [Bound("RR", 0.875), Bound("P@1", 0.75)])
    assert (block["value"]["value"], block["worst"]) == (0.0, "RR")
    assert all(row["passes"] for row in block["components"])


def test_a_missing_component_makes_it_not_computable_and_is_named():
    block = composite_block(RUN, [FIRST, Bound("claim_coverage", 0.8)])
    assert (block["value"]["value"], block["value"]["reason"]) == (None, "missing_component")
    assert block["worst"] is None
    assert block["reasons"] == ["claim_coverage: the value was not recorded"]
    assert block["components"][1]["passes"] is None
    assert sentence(block) == (
        "composite: not computable (claim_coverage: the value was not recorded)"
    )


def test_one_that_is_not_required_only_counts_where_it_is():
    block = composite_block(RUN, [FIRST, Bound("claim_coverage", 0.8, required=False)])
    assert [row["name"] for row in block["components"]] == ["P@1"]
    assert block["worst"] == "P@1"


def test_without_components_there_is_nothing_to_compute():
    block = composite_block(RUN, [])
    assert block["value"]["reason"] == "missing_component"
    assert block["reasons"] == ["no component: no threshold has a floor or a ceiling"]


def test_the_interval_spans_the_smallest_ends():
    rates = RUN["abstention"]
    low, high = (rates["true_positive_rate"][end] for end in ("ci_low", "ci_high"))
    most = rates["false_refusal_rate"]["ci_high"]
    value = composite_block(RUN, [CAUGHT, REFUSED])["value"]
    assert value["ci_low"] == pytest.approx(min(low - 0.7, 0.1 - most))
    assert value["ci_high"] == pytest.approx(min(high - 0.7, 0.1 - 0))


def test_where_a_component_has_no_interval_there_is_none():
    # All four are a fifth: resampling cannot show how much they vary.
    assert RUN["metrics"]["P@5"]["ci_low"] is None
    value = composite_block(RUN, [CAUGHT, Bound("P@5", 0.1)])["value"]
    assert value["computable"]
    assert (value["ci_low"], value["ci_high"]) == (None, None)


def test_the_components_are_the_bounds_of_the_guard_on_the_whole_run(tmp_path):
    path = tmp_path / "guard.toml"
    path.write_text(
        """
        [[threshold]]
        metric = "P@5"
        direction = "down is bad"
        floor = 0.2
        required = true
        [[threshold]]
        metric = "Recall@20"
        direction = "down is bad"
        max_change = 0.5
        unit = "points"
        [[threshold]]
        metric = "P@1"
        direction = "down is bad"
        floor = 0.3
        slice = { corpus = "docs" }
        [[threshold]]
        metric = "composite"
        direction = "down is bad"
        floor = 0.0
        [[threshold]]
        metric = "answerable_false_refusal_rate"
        direction = "up is bad"
        ceiling = 0.1
        required = false
        """
    )
    assert components_of(read_thresholds(path)) == (
        Bound("P@5", 0.2, required=True),
        Bound("answerable_false_refusal_rate", 0.1, is_ceiling=True, required=False),
    )


def test_a_run_carries_the_composite_of_the_gate_and_the_auc():
    assert RUN["composite"] == composite_block(RUN)
    rows = {row["name"]: (row["floor"], row["ceiling"]) for row in RUN["composite"]["components"]}
    assert rows == {
        "ungrounded_true_positive_rate": (Gate().min_true_positive_rate, None),
        "answerable_false_refusal_rate": (None, Gate().max_false_refusal_rate),
        "auc": (0.7, None),
    }
    assert metric_value(RUN, "composite").value == RUN["composite"]["value"]["value"]
    assert schema.faults(RUN, "search_run") == []


def test_the_sentence_names_the_worst_and_its_bound():
    assert sentence(None) is None
    # Student's interval of 1, 1, 1, 0 reaches beyond 0 and 1, where shares end.
    assert sentence(composite_block(RUN, [FIRST])) == (
        "composite: +25.00 points [−50.00, +50.00]; worst is P@1 at 0.750 with a floor of 0.500"
    )
    assert "worst is answerable_false_refusal_rate at 0.000 with a ceiling of 0.100" in sentence(
        composite_block(RUN, [REFUSED])
    )


def test_the_sentence_names_the_bound_that_is_worst_of_a_metric_with_two():
    # P@1 is 0.75: above its floor by 0.25, above its ceiling by 0.15.
    block = composite_block(RUN, [FIRST, Bound("P@1", 0.6, is_ceiling=True)])
    assert "worst is P@1 at 0.750 with a ceiling of 0.600" in (sentence(block) or "")


def test_unproved_claims_make_it_a_range():
    run = with_claims(dict(RUN), [[True, None], *[[True, True]] * 7])
    low, high = 15 / 16 - 0.95, 16 / 16 - 0.95
    block = composite_block(run, [FIRST, Bound("claim_coverage", 0.95)])
    found = block["value"]
    assert (found["value"], found["unproved_low"]) == (pytest.approx(low), pytest.approx(low))
    assert found["unproved_high"] == pytest.approx(high)
    said = "composite: −1.25 points —, −1.25 to +5.00 with its unproved claims; worst is claim"
    assert sentence(block).startswith(said)
