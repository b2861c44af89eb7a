from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from retrieval_eval.report.comparison import Comparison, MetricResult
from retrieval_eval.report.exhibits import Empty, Figure
from retrieval_eval.report.figures import (
    associations,
    at_k,
    costs,
    coverage,
    error_modes,
    paired_bars,
    recall_ecdf,
    slices,
    suites,
    timeline,
    tool_mix,
    ttfr,
    utilization,
)
from retrieval_eval.report.show import exhibit_html, exhibit_markdown

EVIL = "$\\frac{<script>&|`\u202e\ud800 任务🙂"
RESULT = MetricResult(
    "file_recall", True, 4, True, None, 0.4, 0.5, 0.1, -0.1, 0.3, 0.2, 2, 1, 1, 0.2
)
PAIR = Comparison("base", EVIL, True, None, 4, 4, 4, {}, ())


def association(r: float | None, n: int = 20, scope: str = "pooled", group: str = ""):
    return associations.Association(
        "file_recall", "reward", scope, group, n, r, -0.1, 0.6, 0.01, None if r else "no_trace"
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
    "ttfr": lambda: ttfr.draw({"base": ttfr.Arm([3.0], [900.0], 1), EVIL: ttfr.Arm([], [], 2)}),
    "utilization": lambda: utilization.draw({"base": (3, 1, 2), EVIL: (0, 0, 1)}),
    "error-modes": lambda: error_modes.draw(
        {"base": {"missed_key_evidence": (1, 4)}, EVIL: {"irrelevant_retrieval": (0, 0)}}
    ),
    "slices": lambda: slices.draw(
        {(EVIL, "small"): (0.2, 6), ("all", "large"): (-0.1, 2)}, [EVIL, "all"], ["small", "large"]
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
    "ttfr": lambda: ttfr.draw({"base": ttfr.Arm([], [], 3)}),
    "utilization": lambda: utilization.draw({"base": (0, 0, 0)}),
    "error-modes": lambda: error_modes.draw({"base": {"missed_key_evidence": (0, 0)}}),
    "slices": lambda: slices.draw({}, [], []),
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
    assert "<script>" not in exhibit_markdown(figure)


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


def test_never_hitting_trials_stay_in_the_denominator():
    arm = ttfr.Arm([10.0, 20.0], [100.0, 200.0], n_never=2)
    assert arm.median(arm.seconds) == 20.0
    assert ttfr.Arm([10.0], [], n_never=2).median([10.0]) is None
    table = ttfr.draw({"base": arm}).data
    assert table.rows[0][:3] == ("base", "2 of 4", "20.0")


def test_cells_under_five_show_only_their_n():
    figure = slices.draw({("s", "small"): (0.9, 4), ("s", "large"): (0.1, 5)}, ["s"], list("ab"))
    assert "0.90" not in figure.svg
    assert "+0.90" not in figure.alt


def test_more_than_four_configs_become_facets_of_at_most_four():
    values = {f"config-{i}": [i / 10] for i in range(6)}
    figure = recall_ecdf.draw(values)
    assert figure.svg.count("Share of trials") == 2
    assert len(figure.data.rows) == 6


def test_configs_differ_in_shape_not_only_in_colour():
    from retrieval_eval.report.style import MARKS

    assert len({m.marker for m in MARKS}) == len({m.line for m in MARKS}) == len(MARKS)
