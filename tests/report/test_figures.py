from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from retrieval_eval.model.impact import (
    Association,
    CalibrationBin,
    FirstHitCurve,
    PairSlice,
    RewardTier,
)
from retrieval_eval.report.exhibits import Empty, Figure
from retrieval_eval.report.figures import (
    associations,
    at_k,
    costs,
    coverage,
    error_modes,
    paired_bars,
    recall_ecdf,
    reliability,
    slices,
    suites,
    timeline,
    tool_mix,
    ttfr,
    utilization,
)
from retrieval_eval.report.show import exhibit_html
from tests.report.made import comparison, result

EVIL = "$\\frac{<script>&|`\u202e\ud800 任务🙂"
RESULT = result(
    n_pairs=4,
    mean_difference=0.1,
    ci_low=-0.1,
    ci_high=0.3,
    p_value=0.2,
    wins=2,
    ties=1,
    losses=1,
)
PAIR = comparison(comparison_config=EVIL, n_pairs=4, metrics={})


def cell(dimension: str, level: str, n: int, difference: float | None = 0.2) -> PairSlice:
    return PairSlice(
        dimension=dimension,
        level=level,
        n_pairs=n,
        interpretable=n >= 5,
        mean_baseline=0.3,
        mean_comparison=0.5,
        mean_difference=difference,
        ci_low=0.1,
        ci_high=0.3,
    )


def hit(config: str, unit: str = "seconds", n_never: int = 1) -> FirstHitCurve:
    """Return the times of trials that hit at 10 and 20, and of others that never do."""
    n = 2 + n_never
    return FirstHitCurve(
        config_name=config,
        unit=unit,
        n=n,
        n_hit=2,
        n_never=n_never,
        until=30.0,
        curve=((10.0, 1 / n), (20.0, 2 / n)),
        share_never=n_never / n,
        share_never_low=0.1,
        share_never_high=0.8,
        median=20.0 if 2 / n >= 0.5 else None,
        median_low=10.0,
        restricted_mean=15.0,
        restricted_mean_low=12.0,
        restricted_mean_high=18.0,
    )


def no_hit(config: str) -> FirstHitCurve:
    return FirstHitCurve(
        config_name=config,
        unit="seconds",
        n=2,
        n_hit=0,
        n_never=2,
        curve=(),
        share_never=1.0,
        share_never_low=0.3,
        share_never_high=1.0,
    )


def tier(config: str, name: str, n: int) -> RewardTier:
    return RewardTier(
        config_name=config,
        tier=name,
        n=n,
        interpretable=n >= 5,
        mean_reward=0.4,
        ci_low=0.2,
        ci_high=0.6,
    )


def recall_bin(config: str, low: float, n: int) -> CalibrationBin:
    return CalibrationBin(
        config_name=config,
        low=low,
        high=low + 0.2,
        n=n,
        interpretable=n >= 5,
        mean_recall=low + 0.1,
        mean_reward=0.4,
        ci_low=0.2,
        ci_high=0.6,
    )


def association(
    r: float | None, n: int = 20, scope: str = "pooled", group: str | None = None
) -> Association:
    return Association(
        retrieval_metric="file_recall",
        outcome_metric="reward",
        scope=scope,
        group=group,
        n=n,
        computable=r is not None,
        reason=None if r else "no_trace",
        spearman_r=r,
        ci_low=-0.1,
        ci_high=0.6,
        q_value=0.01,
    )


def track(config: str):
    steps = [(0, "code_search", False), (1, "file_read", True), (2, "unheard_of", False)]
    return timeline.Track(config, "t", steps)


DRAWN: dict[str, Callable[[], Figure | Empty]] = {
    "coverage": lambda: coverage.draw({"matched and scored": 7, "no ground truth": 2}),
    "recall-ecdf": lambda: recall_ecdf.draw({"base": [0.0, 0.5, 1.0], EVIL: [0.2]}),
    "at-k": lambda: at_k.draw(
        {"base": {("recall", 1): (0.5, 3)}, EVIL: {("ndcg", 5): (None, 0)}}, (1, 5)
    ),
    "paired": lambda: paired_bars.draw(
        [("a", 0.1, 0.5, 0.4), (EVIL, 0.5, 0.2, -0.3), ("c", 0.5, 0.5, 0.0)], PAIR, RESULT
    ),
    "suites": lambda: suites.draw([(EVIL, 3, 0.2, 0.4)], PAIR, "file_recall"),
    "ttfr": lambda: ttfr.draw([hit("base"), hit("base", "tokens"), no_hit(EVIL)], ["base", EVIL]),
    "utilization": lambda: utilization.draw({"base": (3, 1, 2), EVIL: (0, 0, 1)}),
    "error-modes": lambda: error_modes.draw(
        {"base": {"missed_key_evidence": (1, 4)}, EVIL: {"irrelevant_retrieval": (0, 0)}}
    ),
    "slices": lambda: slices.draw(
        [cell("suite", EVIL, 6), cell(EVIL, "large", 2), cell(EVIL, "small", 7, None)],
        0.1,
        "file recall",
    ),
    "reliability": lambda: reliability.draw(
        [recall_bin(EVIL, 0.2, 5), recall_bin(EVIL, 0.8, 1)],
        [tier(EVIL, "all", 7), tier(EVIL, EVIL, 9), tier("base", "none", 1)],
        ["base", EVIL],
    ),
    "associations": lambda: associations.draw(
        [association(0.4), association(-0.2, 20, "config", EVIL)], [EVIL]
    ),
    "costs": lambda: costs.draw({"cost_usd": {EVIL: [0.5, 1.5], "base": []}}, [EVIL, "base"]),
    "tool-mix": lambda: tool_mix.draw({EVIL: {"file_read": 3, "other": 1}}),
    "timeline": lambda: timeline.draw([track(EVIL)], EVIL, [EVIL]),
}
EMPTY: dict[str, Callable[[], Figure | Empty]] = {
    "coverage": lambda: coverage.draw({}),
    "recall-ecdf": lambda: recall_ecdf.draw({"base": []}),
    "at-k": lambda: at_k.draw({"base": {("recall", 1): (None, 0)}}, (1,)),
    "paired": lambda: paired_bars.draw([], PAIR, RESULT),
    "suites": lambda: suites.draw([], PAIR, "file_recall"),
    "ttfr": lambda: ttfr.draw([no_hit("base")], ["base"]),
    "utilization": lambda: utilization.draw({"base": (0, 0, 0)}),
    "error-modes": lambda: error_modes.draw({"base": {"missed_key_evidence": (0, 0)}}),
    "slices": lambda: slices.draw([], None, "file recall"),
    "reliability": lambda: reliability.draw(
        [recall_bin("base", 0.2, 4)], [tier("base", "all", 4)], ["base"]
    ),
    "associations": lambda: associations.draw([association(None), association(0.9, 3)], []),
    "costs": lambda: costs.draw({}, ["base"]),
    "tool-mix": lambda: tool_mix.draw({"base": {}}),
    "timeline": lambda: timeline.draw([], "t", []),
}


@pytest.mark.parametrize("key", DRAWN)
def test_a_figure_has_words_and_data_beside_its_marks(key):
    figure = DRAWN[key]()
    assert isinstance(figure, Figure)
    assert figure.key == key
    assert len(figure.alt) > 40
    assert re.search(r"\d", figure.alt), "the alternative text gives main numbers"
    assert figure.caption
    assert figure.data.rows
    assert all(len(row) == len(figure.data.header) for row in figure.data.rows)
    ET.fromstring(figure.svg)


@pytest.mark.parametrize("key", DRAWN)
def test_the_same_data_gives_the_same_bytes(key):
    first, second = DRAWN[key](), DRAWN[key]()
    assert first == second


@pytest.mark.parametrize("key", DRAWN)
def test_a_figure_loads_nothing_and_hides_no_markup(key):
    figure = DRAWN[key]()
    assert not re.search(r'(?:href|src)="(?!#)', figure.svg)
    assert "<script" not in figure.svg
    assert "<metadata" not in figure.svg
    shown = exhibit_html(figure)
    assert "<script>" not in shown
    assert "<details>" in shown
    assert 'alt="' in shown


@pytest.mark.parametrize("key", EMPTY)
def test_without_data_there_is_a_sentence_and_no_figure(key):
    empty = EMPTY[key]()
    assert isinstance(empty, Empty)
    assert empty.sentence.endswith(".")


def test_ecdf_table_gives_hand_computed_quantiles():
    figure = recall_ecdf.draw({"base": [0.0, 0.5, 1.0]})
    # header: config, n, 10 %, 25 %, 50 %, 75 %, 90 %, share at 0, share at 1
    row = ("base", "3", "0.10", "0.25", "0.50", "0.75", "0.90", "0.33", "0.33")
    assert figure.data.rows == (row,)


def test_a_long_strip_says_that_it_is_cut():
    steps = [(i, "file_read", False) for i in range(timeline.MAX_STEPS + 1)]
    long, short = timeline.Track("a", "t", steps), timeline.Track("a", "t", steps[1:])
    cut = timeline.draw([long], "t", ["a"])
    whole = timeline.draw([short], "t", ["a"])
    assert isinstance(cut, Figure)
    assert isinstance(whole, Figure)
    assert len(cut.data.rows) == timeline.MAX_STEPS
    assert cut.caption.endswith(" Of each the first 400 are shown.")
    assert "first 400" not in whole.caption


def test_levels_that_are_not_drawn_are_counted():
    levels = [
        replace(cell("suite", f"s{i:02d}", 9 - i // 5, 0.1), interpretable=True)
        for i in range(slices.MAX_LEVELS + 2)
    ]
    figure = slices.draw(levels, 0.1, "file recall")
    assert isinstance(figure, Figure)
    assert figure.caption.endswith(" Only in the data: 2 levels with fewer tasks.")
    assert len(figure.data.rows) == slices.MAX_LEVELS + 2


def test_never_hitting_trials_stay_in_the_denominator():
    found = [hit("base", n_never=2), hit("other", n_never=3)]
    figure = ttfr.draw(found, ["base", "other"])
    # Two of four hit, at 10 and 20: a quarter by 10, half by 20, never three quarters.
    assert figure.data.rows[0] == ("base", "seconds", "10.0", "10.0", "20.0", "—", "—", "0.50")
    assert figure.data.rows[1] == ("other", "seconds", "10.0", "20.0", "—", "—", "—", "0.40")
    table = ttfr.table(found, ["base", "other"])
    # Below five trials watched no median and no mean is interpreted.
    assert table.rows[0][3:] == ("0.50 [0.10, 0.80]", "—", "—", "30.0")
    table = ttfr.table([replace(hit("base", n_never=2), n=5)], ["base"])
    assert table.rows[0] == (
        "base",
        "seconds",
        "2 of 5",
        "0.50 [0.10, 0.80]",
        "20.0 [10.0, not reached]",
        "15.0 [12.0, 18.0]",
        "30.0",
    )


def test_slices_under_five_show_only_their_n():
    found = [cell("suite", "s", 4, 0.91), cell("suite", "t", 5, 0.11)]
    figure = slices.draw(found, None, "file recall")
    assert "0.91" not in figure.svg
    assert "n = 4: not interpreted" in figure.svg
    assert "0.91" not in figure.alt
    assert "+0.11" in figure.alt
    assert figure.data.rows[0][2:] == ("4", "—", "—", "not interpreted")


def test_a_slice_the_analysis_does_not_interpret_is_never_interpreted():
    doubtful = replace(cell("suite", "s", 9, 0.91), interpretable=False)
    assert "0.91" not in slices.draw([doubtful], None, "file recall").svg


def test_of_many_levels_those_with_most_tasks_are_drawn():
    found = [cell("suite", f"suite-{i:02d}", 5 + i) for i in range(20)]
    figure = slices.draw(found, None, "file recall")
    assert "suite-19" in figure.svg
    assert "suite-00" not in figure.svg
    assert len(figure.data.rows) == 20


def test_rewards_of_few_tasks_are_not_interpreted():
    found = [tier("base", "none", 4), tier("base", "all", 6)]
    table = reliability.tiers_table(found, ["base"])
    assert table.rows[0] == ("none", "not interpreted, n = 4")
    assert table.rows[3] == ("all", "0.40 [0.20, 0.60], n = 6")
    assert table.rows[1] == ("below half", "—")


def test_a_pooled_association_that_turns_sign_is_never_strong():
    strong = association(0.4)
    assert associations.is_strong(strong)
    turned = replace(strong, sign_change=True)
    assert not associations.is_strong(turned)
    figure = associations.draw([turned], [])
    assert "sign changes in groups" in figure.svg
    assert figure.data.rows[0][-1] == "sign changes within groups"


def test_more_than_four_configs_become_facets_of_at_most_four():
    values = {f"config-{i}": [i / 10] for i in range(6)}
    figure = recall_ecdf.draw(values)
    assert figure.svg.count("Share of trials") == 2
    assert len(figure.data.rows) == 6


def test_configs_differ_in_shape_not_only_in_colour():
    from retrieval_eval.report.style import MARKS

    assert len({m.marker for m in MARKS}) == len({m.line for m in MARKS}) == len(MARKS)
