from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.untrusted import earliest, from_milliseconds, latest, unix_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-03-13T16:33:07.430Z", 1773419587.43),
        ("2026-03-13T17:33:07.430+01:00", 1773419587.43),
        ("2026-03-13T16:33:07.430000", 1773419587.43),
        ("2026-03-13T16:33:07.430123456Z", 1773419587.430123),
        (" 2026-03-13T16:33:07Z ", 1773419587.0),
    ],
)
def test_every_way_of_writing_a_time_means_utc_unless_it_has_an_offset(text, seconds):
    assert unix_seconds(text) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    "value",
    [None, "", "yesterday", 5, True, [], {}, "9" * 80, "0001-01-01T00:00:00Z", "2026-13-01"],
)
def test_what_is_no_time_is_none(value):
    assert unix_seconds(value) is None


@pytest.mark.parametrize("value", [None, "1", True, -1, 0, float("nan"), float("inf"), 10**400])
def test_milliseconds_must_be_a_positive_number(value):
    assert from_milliseconds(value) is None


def test_milliseconds_become_seconds():
    assert from_milliseconds(1774379904973) == pytest.approx(1774379904.973)


def test_unknown_times_do_not_decide():
    assert earliest(None, 3.0, 2.0) == 2.0
    assert latest(None, 3.0, 2.0) == 3.0
    assert earliest(None) is None
    assert latest() is None
