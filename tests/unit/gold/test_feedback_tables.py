"""Names of tables and columns, and the worth of scores, from `gold.toml`."""

from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.bootstrap import FeedbackTables, feedback_settings


def _settings(tmp_path, toml):
    (tmp_path / "gold.toml").write_text(toml, encoding="utf-8")
    return feedback_settings(tmp_path / "gold-set.jsonl")


def test_the_documented_names_hold_without_a_file(tmp_path):
    settings = feedback_settings(tmp_path / "gold-set.jsonl")
    assert settings.tables == FeedbackTables()
    assert dict(settings.scores) == {3: 1}


def test_the_file_renames_and_grades(tmp_path):
    settings = _settings(
        tmp_path,
        "max_grade = 3\n[fields]\narea = 'field'\n"
        "[bootstrap.tables]\nsearch_logs = 'usage.queries'\n"
        "[bootstrap.columns]\nquery = 'q'\npractice_area = ''\n[bootstrap.scores]\n3 = 2\n2 = 1\n",
    )
    assert settings.tables.search_logs == "usage.queries"
    assert settings.tables.search_relevance_feedback == "search_relevance_feedback"
    assert (settings.tables.query, settings.tables.practice_area) == ("q", "")
    assert dict(settings.scores) == {3: 2, 2: 1}


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[bootstrap", "not valid TOML"),
        (f"n = {'9' * 5000}", "not valid TOML"),
        ("bootstrap = 3", r"\[bootstrap\] is a section"),
        ("[bootstrap]\ntable = 'x'", r"\[bootstrap\] has no 'table'; expected tables, columns"),
        ("[bootstrap]\ntables = 'x'", r"\[tables\] is a section"),
        ("[bootstrap.tables]\nlogs = 'x'", "'logs' is no table of the feedback; expected one of"),
        ("[bootstrap.tables]\nsearch_logs = ''", "'search_logs' cannot do without a name"),
        ("[bootstrap.columns]\nqueries = 'x'", "'queries' is no column of the feedback"),
        ("[bootstrap.columns]\nquery = 1", "query: expected a name in quotation marks"),
        ("[bootstrap.columns]\nquery = ''", "'query' cannot do without a name"),
        ("[bootstrap.scores]\nhigh = 1", "high: expected a whole score"),
        ("[bootstrap.scores]\n--3 = 1", "--3: expected a whole score"),
        (f"[bootstrap.scores]\n{'9' * 5000} = 1", "9: expected a whole score"),
        ("[bootstrap.scores]\n3 = '1'", "3: expected a whole score"),
        ("[bootstrap.scores]\n3 = true", "3: expected a whole score"),
        ("[bootstrap.scores]\n3 = -1", "3: expected a whole score"),
    ],
)
def test_settings_of_no_use_are_named(tmp_path, toml, said):
    with pytest.raises(BadInputError, match=rf"gold\.toml: .*{said}"):
        _settings(tmp_path, toml)
