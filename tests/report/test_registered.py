"""Every figure and table that notebooks call by name keeps its promises, whatever the frame."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from importlib.metadata import EntryPoint

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import retrieval_eval as rev
from retrieval_eval import registry
from retrieval_eval.errors import BadInputError
from retrieval_eval.report.defaults import Defaults, shown_as
from retrieval_eval.report.registered import (
    FIGURES,
    TABLES,
    Exhibit,
    Namespace,
    NothingToShow,
    Words,
    figure,
)
from retrieval_eval.report.show import to_html

EVIL = "<script>&|`\u202e\ud800 任务"
NAMES = [EVIL, *(f"group-{i}" for i in range(7))]
ARGUMENTS: dict[str, tuple[tuple[object, ...], dict[str, object]]] = {
    "calibration": ((), {"least": 1}),
    "cards": ((), {}),
    "correlations": ((), {}),
    "count": (("task_name", "config_name"), {}),
    "curve": (("cost_usd", "file_recall"), {"by": "config_name", "marks": "task_name"}),
    "ecdf": (("file_recall",), {}),
    "errors": ((), {"least": 1}),
    "estimates": ((), {}),
    "first_hit": ((), {"least": 1}),
    "forest": (
        ("task_name", "file_recall", "baseline", "comparison"),
        {"by": "config_name", "n": "n", "p": "cost_usd", "limit": "difference"},
    ),
    "found": ((), {}),
    "headline": ((), {}),
    "outcomes": ((pd.DataFrame(),), {}),
    "pairs": ((), {}),
    "slices": ((), {}),
    "tools": ((), {"least": 1}),
    "means": ((["file_recall", "cost_usd"],), {}),
    "over_time": (
        ("file_recall", "task_name"),
        {"by": "config_name", "low": "baseline", "high": "comparison", "line": "n"},
    ),
    "paired": (("file_recall",), {}),
    "show": ((["task_name", "file_recall", "cost_usd"],), {}),
    "tasks": ((), {}),
    "stacked": (("config_name", "task_name"), {"weights": "n"}),
    "strip": (("file_recall",), {}),
    "timeline": ((), {}),
}
"""How each entry is called with the frame of :func:`rows`."""

OF_STUDY = ("headline", "outcomes", "pairs", "slices", "tasks")
"""Entries that show a comparison; their tests are those of the page of a run."""
PANELS = ("errors", "first_hit", "timeline", "tools")
FRAMES = [name for name in FIGURES if name not in (*OF_STUDY, "found")]
EACH_FIGURE = pytest.mark.parametrize("name", FRAMES)
EACH = pytest.mark.parametrize("name", [*FRAMES, *(n for n in TABLES if n not in OF_STUDY)])


def rows(n_groups: int, n_each: int = 5, *, has_values: bool = True) -> pd.DataFrame:
    """Return a frame that every entry can show: trials, with columns of other frames beside."""
    # One row at least says of each column whether it holds text.
    made = [
        {
            "config_name": NAMES[g],
            "task_name": f"{NAMES[g]} {i}",
            "trial_name": f"{NAMES[g]} {i % 2}",
            "metric": "file_recall",
            "status": f"{NAMES[i % 3]}",
            "tool_category": "file_read" if i % 2 else NAMES[0],
            "hits_ground_truth": 1.0 if i == 2 else None,
            "step_index": float(i) if has_values else None,
            "file_recall": ((g + i) % 5) / 4 if has_values and i != 3 else None,
            "recall@1": ((g + i) % 3) / 4 if has_values and i != 1 else None,
            "cost_usd": 1.5 * i if has_values else None,
            "baseline": 0.5 if has_values else None,
            "comparison": 0.25 * (i % 5) if has_values else None,
            "difference": 0.25 * (i % 5) - 0.5 if has_values else None,
            "n": (3.0 if i == 4 else 9.0) if has_values else None,
            "benchmark": NAMES[g],
            "baseline_config": NAMES[0],
            "comparison_config": NAMES[1],
            "n_pairs": 9.0 if has_values else 0.0,
            "mean_difference": 0.25 * (2 * n_groups + g) if has_values else None,
            "ci_low": -0.5,
            "ci_high": 0.5,
            "p_value": 0.01 * n_groups + 0.1 * g,
            "q_value": 0.5,
            "label": f"{NAMES[g]} ~ reward",
            "scope": "pooled",
            "group": None,
            "spearman_r": 0.25 * g if has_values else None,
            "sign_change": 0.0,
            "estimate": 0.25 * (2 * n_groups + g) if has_values else None,
            "variance_between": 0.25 + g / 4 if has_values else None,
            "variance_within": 0.5 if has_values else None,
            "view": NAMES[g],
            "verdict": "better",
            "retrieval_metric": NAMES[g],
            "outcome_metric": ("reward", "cost_usd", "elapsed_seconds")[i % 3],
            "dimension": "all",
            "level": "all",
            "opened": ("none", "some", "all")[i % 3],
            "of": "files",
            "mode": "missed",
            "kind": f"{NAMES[g]} tool",
            "unit": "seconds",
            "file": f"{NAMES[i % 3]}.py",
            "repository": None,
            "mean_reward": 0.25 * (g % 3) if has_values else None,
            "count": 1.0 + g if has_values else 0.0,
            "denominator": 9.0 if has_values else 0.0,
            "n_files": 4.0 if has_values else 0.0,
            "n_expected": 1.0 * (g % 3),
            "is_first": float(i == 0),
            "time": 2.0 * i + g if has_values else None,
            "is_retrieved": float((g + i) % 2),
            "is_possible": 0.0,
            "first_step": float(i),
            "opened_step": float(i),
            "n_ground_truth": 4.0,
            "n_overlap": 2.0,
        }
        for g in range(max(1, n_groups))
        for i in range(n_each)
    ]
    is_text = {c: isinstance(v, str) or c in ("group", "repository") for c, v in made[0].items()}
    frame = pd.DataFrame(
        {
            c: pd.Series([r[c] for r in made], dtype="object" if is_text[c] else "float64")
            for c in made[0]
        }
    )
    return frame if n_groups else frame[:0]


def shown(name: str, frame: pd.DataFrame, **options: object) -> Exhibit:
    entries = FIGURES if name in FIGURES else TABLES
    arguments, more = ARGUMENTS[name]
    return entries[name](frame, *arguments, **more, **options)


@EACH
@pytest.mark.parametrize(("n_groups", "n_each"), [(1, 1), (8, 5)])
def test_it_shows_what_the_frame_holds(name, n_groups, n_each):
    exhibit = shown(name, rows(n_groups, n_each))
    assert not exhibit.nothing
    assert (name in TABLES and not exhibit.finding) or re.search(r"\d", exhibit.finding)
    assert not exhibit.finding.endswith(".")
    assert exhibit.caption
    assert len(exhibit.data)
    page = to_html(exhibit.block())
    assert page == exhibit._repr_html_()
    assert "<script>" not in page
    assert "\ud800" not in page
    if name in FIGURES:
        assert len(exhibit.alt) > 40
        assert re.search(r"\d", exhibit.alt), "the alternative text gives main numbers"
        assert exhibit.ax is not None
        assert exhibit.ax.get_figure() is exhibit.figure
        ET.fromstring(exhibit.svg())


@EACH
def test_an_empty_frame_and_one_without_values_say_why_there_is_nothing(name):
    for frame in (rows(0), rows(2, has_values=False)):
        exhibit = shown(name, frame)
        if name in TABLES and len(frame):
            assert name == "count" or exhibit.nothing or "—" in exhibit._repr_html_()
            continue
        assert exhibit.nothing.endswith(".")
        assert exhibit.ax is None
        assert exhibit.nothing.rstrip(".") in exhibit.finding
        assert 'class="empty"' in exhibit._repr_html_()


@EACH
def test_what_it_says_follows_the_frame(name):
    frame = rows(2)
    part = frame[frame["config_name"] == NAMES[1 if name in FIGURES else 0]]
    whole, cut = shown(name, frame), shown(name, part)
    if name in TABLES:
        assert to_html(whole.block()) != to_html(cut.block())
    else:
        assert whole.finding != cut.finding
        assert whole.caption != cut.caption
    assert not cut.data.equals(whole.data)


@EACH_FIGURE
def test_the_same_frame_gives_the_same_bytes_until_the_axes_are_edited(name):
    exhibit, same = shown(name, rows(2)), shown(name, rows(2))
    assert exhibit.svg() == same.svg()
    if name == FRAMES[0]:
        same.ax.set_title("added by hand")
        assert "added by hand" in same.svg()


@EACH_FIGURE
def test_it_draws_on_given_axes_and_leaves_no_canvas_open(name):
    _, (left, right) = plt.subplots(1, 2)
    if name in PANELS:
        with pytest.raises(BadInputError, match="draws several panels"):
            shown(name, rows(2), ax=right)
        plt.close("all")
        return
    exhibit = shown(name, rows(2), ax=right)
    assert exhibit.ax is right
    assert not left.has_data()
    exhibit._repr_html_()
    assert not plt.get_fignums()


@EACH
def test_words_and_key_can_be_given(name):
    exhibit = shown(name, rows(2), key="mine", finding="My finding", caption="My caption")
    assert (exhibit.key, exhibit.finding, exhibit.caption) == ("mine", "My finding", "My caption")


def needed(name: str) -> set[str]:
    """Return the columns that an entry names or takes for granted."""
    arguments, more = ARGUMENTS[name]
    values = [*arguments, *more.values()]
    own = {
        "estimates": "metric",
        "calibration": "config_name opened mean_reward",
        "cards": "",
        "correlations": "spearman_r",
        "errors": "label config_name denominator",
        "first_hit": "config_name unit time",
        "tools": "kind n_files is_first",
    }
    if name in own:
        return set(own[name].split())
    named = {n for v in values for n in ([v] if isinstance(v, str) else v) if isinstance(n, str)}
    if name == "paired":
        return {"metric", "task_name", "baseline", "comparison", "difference"}
    if name == "timeline":
        return {"config_name", "trial_name", "step_index", "tool_category", "hits_ground_truth"}
    return named - {"n"}


@EACH
def test_a_column_that_is_not_there_is_named_with_the_closest(name):
    for column in needed(name):
        other = rows(2).rename(columns={column: f"{column[:-1]}_"})
        said = rf"no column '{re.escape(column)}'; it has .*{re.escape(column[:-1])}_"
        with pytest.raises(BadInputError, match=said):
            shown(name, other)
    with pytest.raises(BadInputError, match="expected a data frame, not list"):
        shown(name, [1])


def test_missing_and_odd_values_are_left_out_and_counted():
    frame = pd.DataFrame({"config_name": ["a"] * 5, "x": [1, None, float("inf"), True, "2"]})
    drawn = rev.plot.ecdf(frame, "x")
    assert drawn.data["n"].tolist() == [1]
    assert "1 of 5 rows" in drawn.caption


def test_entries_are_found_by_attribute():
    assert dir(rev.plot) == sorted(FIGURES)
    assert dir(rev.table) == sorted(TABLES)
    assert set(ARGUMENTS) == {*FIGURES, *TABLES}
    assert rev.plot.ecdf is FIGURES["ecdf"]
    with pytest.raises(AttributeError, match="'ecdff' is no figure; did you mean 'ecdf'"):
        rev.plot.ecdff  # noqa: B018


def test_a_figure_of_another_distribution_is_found_by_its_name(monkeypatch):
    point = EntryPoint("rings", f"{__name__}:rings", "retrieval_eval.figures")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    others = registry.Registry("retrieval_eval.figures", "figure")
    assert Namespace(others, "").rings(rows(1)).nothing == "There are no rings."


@figure("rings")
def rings(ax, frame) -> Words:
    """Draw nothing."""
    raise NothingToShow("There are no rings.")


FIGURES._entries.pop("rings")


def test_a_frame_carries_what_its_table_says_until_rows_are_left_out():
    frame = pd.DataFrame({"a": ["x", "y", "z"], "b": [1, 2, 3]})
    known = Defaults("mine", "Letters", {"a": "Letter"}, "Three", "No letter.", top=2, notes=["N."])
    whole = shown_as(frame, known)
    found = rev.table.show(whole)
    assert (found.key, found.finding, found.caption) == ("mine", "Three", "Letters")
    (shown,) = found.block().exhibits
    assert (shown.header, len(shown.rows)) == (("Letter",), 2)
    assert shown.notes == ("N.", "The first 2 of 3 rows.")
    part = rev.table.show(whole[whole["b"] > 1], ["b"])
    assert (part.finding, part.caption) == ("", "Letters")
    assert part.block().exhibits[0].notes == ()
    assert rev.table.show(shown_as(frame[:0], known)).nothing == "No letter."
    frame.attrs["withheld"] = "The runs cannot be compared."
    kept_back = rev.table.show(shown_as(frame, known))
    assert (kept_back.finding, kept_back.nothing) == ("Three", "No letter.")


def mutated(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with every number changed in place."""
    for name in frame.select_dtypes("float64"):
        if name not in ("hits_ground_truth", "step_index", "sign_change", "n", "n_pairs"):
            frame[name] = frame[name] / 3 + 0.015625
    return frame


def relabelled(frame: pd.DataFrame) -> pd.DataFrame:
    for name in ("config_name", "benchmark", "baseline_config", "comparison_config"):
        frame[name] = pd.Series([f"other-{text}" for text in frame[name]], dtype="object")
    return frame


def dropped(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame in another order, without some rows."""
    kept = frame[[not name.endswith("2") for name in frame["task_name"]]]
    return kept.sort_values("difference", ascending=False, ignore_index=True)


def words_of(exhibit: Exhibit) -> tuple[object, ...]:
    part = exhibit.block() if exhibit.ax is None else exhibit.data.to_dict("split")
    return (exhibit.finding, exhibit.caption, exhibit.alt, repr(part))


EDITS = pytest.mark.parametrize("edit", [mutated, relabelled, dropped])


@EACH
@EDITS
def test_an_edited_frame_has_the_words_of_its_own_rows(name, edit):
    frame = rows(2)
    # What an exhibit says must not be remembered by the frame that it was made of.
    frame.attrs |= {"frame": "study.estimates", "was_empty": False, "confidence": 0.95}
    before = shown(name, frame) if edit is mutated else None
    kept = before and words_of(before)
    edited = edit(frame)
    made_anew = pd.DataFrame({c: pd.Series(list(edited[c]), dtype=edited[c].dtype) for c in edited})
    made_anew.attrs |= {"frame": "study.estimates", "was_empty": False, "confidence": 0.95}
    assert words_of(shown(name, edited)) == words_of(shown(name, made_anew))
    # And an exhibit stays what it was made of, words and numbers.
    assert before is None or words_of(before) == kept


@pytest.mark.parametrize("name", [*(n for n in TABLES if n not in OF_STUDY), "ecdf"])
def test_what_an_exhibit_shows_is_not_changed_through_its_data(name):
    exhibit = shown(name, rows(2))
    kept = exhibit.block()
    for column in exhibit.data:
        same = [exhibit.data[column].iloc[0]] * len(exhibit.data)
        exhibit.data[column] = pd.Series(same, dtype="object")
    assert exhibit.block() == kept


@EDITS
def test_an_edited_frame_does_not_keep_what_its_table_said(edit):
    known = Defaults("mine", "Trials", finding="Ten trials, 0.75", notes=["Of ten trials."])
    whole = shown_as(rows(2), known)
    assert rev.table.show(whole).finding == "Ten trials, 0.75"
    found = rev.table.show(edit(whole))
    assert (found.finding, found.block().exhibits[0].notes) == ("", ())
    part = rev.table.show(shown_as(rows(2), known)[["task_name", "n"]])
    assert part.finding == "Ten trials, 0.75"
