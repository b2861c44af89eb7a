from __future__ import annotations

from datetime import date
from xml.etree import ElementTree as ET

from retrieval_eval.search.guard.check import no_verdict
from retrieval_eval.search.guard.justification import Justification
from retrieval_eval.search.guard.rendering import to_junit
from tests.guards import drop, run_with, thresholds_of
from tests.plain_runs import check

TODAY = date(2026, 1, 10)
OPTIONAL = drop("claim_coverage", 1)
REQUIRED = drop("auc", 1, "required = true")


def suite_of(verdict):
    (suite,) = ET.fromstring(to_junit(verdict))
    return suite


def test_one_test_case_a_threshold_each_with_the_right_child(tmp_path):
    baseline, run = run_with([3] * 10), run_with([1] * 10)
    rows = [drop("P@5", 1), drop("RR", 5), drop("P@1", 1), REQUIRED, OPTIONAL]
    why = Justification({"P@1": 10}, "because", "a", "b", date(2027, 1, 1))
    query = run["queries"][0]
    query["ranking"][:2] = query["ranking"][1::-1]
    query["metrics"] |= {"P@1": 0.0, "RR": 0.5}
    run["metrics"]["P@1"]["value"], run["metrics"]["RR"]["value"] = 0.9, 0.95
    verdict = check(
        [run], [baseline], thresholds_of(tmp_path, *rows), today=TODAY, justifications=[why]
    )
    suite = suite_of(verdict)
    children = {
        case.get("name"): [c.tag for c in case if c.tag != "system-out"]
        for case in suite.iter("testcase")
    }
    assert children == {
        "P@5": ["failure"],
        "RR": [],
        "P@1": [],
        "auc": ["error"],
        "claim_coverage": ["skipped"],
    }
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "1", "errors": "1", "skipped": "1"}
    assert "40.00 points worse, and 1 are allowed" in suite.find(".//failure").get("message")
    assert (
        "overridden: 10.00 of at most 10 points excused: because ("
        in suite.findall("testcase")[2].find("system-out").text
    )


def test_a_run_that_cannot_be_read_is_an_error_everywhere(tmp_path):
    thresholds = thresholds_of(tmp_path, drop("P@5", 1), drop("RR", 1))
    suite = suite_of(no_verdict(thresholds, ["run.json: not valid JSON"], TODAY))
    assert (suite.get("tests"), suite.get("errors")) == ("2", "2")
    assert {e.get("message") for e in suite.iter("error")} == {"run.json: not valid JSON"}


def test_characters_that_xml_cannot_hold_are_replaced(tmp_path):
    thresholds = thresholds_of(tmp_path, drop("P@5", 1, 'slice = { corpus = "a\\u0001\\"<&>" }'))
    reason = 'bad \x00\x0b\ud800\ufffe]]> <x> & "quotes" \U0001f600 end'
    suite = suite_of(no_verdict(thresholds, [reason], TODAY))
    assert suite.find("testcase").get("name") == 'P@5 [corpus a\ufffd"<&>]'
    told = suite.find(".//error").get("message")
    assert told == 'bad \ufffd\ufffd\ufffd\ufffd]]> <x> & "quotes" \U0001f600 end'


def test_every_character_survives_or_is_replaced(tmp_path):
    thresholds = thresholds_of(tmp_path, drop("P@5", 1))
    every = "".join(map(chr, [*range(0x3000), *range(0xD7F0, 0xE010), *range(0xFFF0, 0x10010)]))
    told = suite_of(no_verdict(thresholds, [every], TODAY)).find(".//error").get("message")
    assert len(told) == len(every)
    assert all(a in (b, "\ufffd") for a, b in zip(told, every, strict=True))


def test_equal_verdicts_are_equal_bytes(tmp_path):
    run = run_with([3] * 8)
    thresholds = thresholds_of(tmp_path, drop("P@5", 1))
    first, second = (to_junit(check([run], [run], thresholds, today=TODAY)) for _ in range(2))
    assert first == second


def test_numbers_are_written_as_people_read_them(tmp_path):
    baseline, run = run_with([3] * 10), run_with([1, *[3] * 9])
    text = to_junit(check([run], [baseline], thresholds_of(tmp_path, drop("P@5", 1)), today=TODAY))
    assert "BREACH: 1 threshold: 1 breach" in text.decode()
    assert "q000: −4.00 points" in text.decode()
