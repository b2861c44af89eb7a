from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from retrieval_eval.agents.metrics import measure
from retrieval_eval.model import to_builtins
from retrieval_eval.records import Target
from tests.trials import ref, trial, truth


def utilization_probes(made, **options) -> dict:
    return to_builtins(measure(made, **options).utilization_probes)


def chunk_metrics(made, **options) -> dict:
    return to_builtins(measure(made, **options).chunk_level_metrics)


def error_taxonomy(made, **options) -> dict:
    return to_builtins(measure(made, **options).error_taxonomy)


def test_utilization_by_hand():
    block = utilization_probes(
        trial(
            truth("src/a.py", "src/b.py", edits=["src/a.py"]),
            ("matched", "src/b.py"),
            ("opened", "src/a.py", {"via": "shell"}),
            ("written", "src/a.py"),
            ("written", "src/new.py"),
            ("opened", "src/new.py"),
            ("written", "/tmp/notes.md"),
        )
    )
    assert block["util_read_overlap_with_relevant_files"] == 0.5
    assert block["util_write_overlap_with_relevant_files_proxy"] == 0.5
    assert block["util_write_overlap_with_expected_edit_files"] == 1.0
    assert block["util_read_before_write_ratio"] == 0.5
    assert block["probe_available"]
    assert block["expected_edit_probe_available"]
    assert block["own_output_files"] == ("/tmp/notes.md",)


FILES = [f"src/{name}.py" for name in "abcde"]


@given(
    made=st.lists(
        st.tuples(
            st.sampled_from(["opened", "matched", "listed", "written"]),
            st.sets(st.sampled_from(FILES), min_size=1),
        ),
        max_size=6,
    ),
    expected=st.sets(st.sampled_from(FILES), min_size=1),
)
def test_the_counts_beside_the_metrics_are_those_of_the_files(made, expected):
    measured = measure(trial(truth(*expected), *((a, " ".join(sorted(f))) for a, f in made)))
    read = {file for access, files in made for file in files if access == "opened"}
    written = {file for access, files in made for file in files if access == "written"}
    accessed = [file for access, files in made for file in files if access != "written"]
    probes, files = measured.utilization_probes, measured.file_level_metrics
    assert (probes.files_read, probes.files_written) == (len(read), len(written))
    assert probes.relevant_files_read == len(read & expected)
    assert probes.relevant_files_written == len(written & expected)
    assert (files.n_ground_truth, files.n_retrieved) == (len(expected), len(set(accessed)))
    assert (files.n_overlap, files.n_repeats) == (
        len(set(accessed) & expected),
        len(accessed) - len(set(accessed)),
    )
    assert sum(files.found_by[way] for way in ("structured", "shell_only", "subagent_only")) == (
        files.n_overlap
    )


def test_a_read_only_trial_has_no_write_overlap():
    block = utilization_probes(trial(truth("src/a.py"), ("opened", "src/a.py")))
    assert block["util_read_overlap_with_relevant_files"] == 1.0
    assert block["util_write_overlap_with_relevant_files_proxy"] is None
    assert block["reasons"]["util_write_overlap_with_relevant_files_proxy"] == "no_writes"
    assert block["reasons"]["util_read_before_write_ratio"] == "no_writes"
    assert not block["expected_edit_probe_available"]


def test_reading_after_writing_is_not_reading_before():
    block = utilization_probes(
        trial(truth("src/a.py"), ("written", "src/a.py"), ("opened", "src/a.py"))
    )
    assert block["util_read_before_write_ratio"] == 0.0


@pytest.mark.parametrize("access", ["matched", "listed"])
def test_a_name_or_a_hit_is_no_reading_before_the_write(access):
    block = utilization_probes(
        trial(truth("src/a.py"), (access, "src/a.py"), ("written", "src/a.py"))
    )
    assert block["util_read_before_write_ratio"] == 0.0


def test_probes_without_ground_truth_or_trace():
    blind = utilization_probes(trial(truth(), ("opened", "src/a.py"), ("written", "src/a.py")))
    assert not blind["probe_available"]
    assert blind["util_read_overlap_with_relevant_files"] is None
    assert blind["util_read_before_write_ratio"] == 1.0
    gone = utilization_probes(trial(truth("src/a.py")), reason="no_trace")
    assert not gone["probe_available"]
    assert set(gone["reasons"].values()) == {"no_trace"}


def test_taxonomy_by_hand():
    block = error_taxonomy(
        trial(
            truth("src/a.py", "src/b.py", "lib/c.py"),
            ("matched", "src/a.py src/near.py docs/far.md"),
            ("opened", "src/b.py"),
            ("written", "src/b.py"),
            ("written", "docs/far.md"),
            ("written", "answer.json"),
        )
    )
    assert block["labels"] == {
        "irrelevant_retrieval": 2,
        "missed_key_evidence": 1,
        "wrong_evidence_used": 1,
        "unused_correct_retrieval": 1,
        "ambiguity_near_miss": 1,
    }
    denominators = {label: rate["denominator"] for label, rate in block["rates"].items()}
    assert denominators == {
        "irrelevant_retrieval": 4,
        "missed_key_evidence": 3,
        "wrong_evidence_used": 2,
        "unused_correct_retrieval": 2,
        "ambiguity_near_miss": 2,
    }
    assert block["files"] == {
        "irrelevant_retrieval": ("docs/far.md", "src/near.py"),
        "missed_key_evidence": ("lib/c.py",),
        "wrong_evidence_used": ("docs/far.md",),
        "unused_correct_retrieval": ("src/a.py",),
        "ambiguity_near_miss": ("src/near.py",),
    }


@pytest.mark.parametrize(
    ("expected", "reason", "n_candidates"),
    [(truth(), None, 1), (truth("src/a.py"), "no_trace", None)],
)
def test_without_ground_truth_or_trace_there_are_no_labels(expected, reason, n_candidates):
    block = error_taxonomy(trial(expected, ("opened", "src/a.py")), reason=reason)
    assert (block["computable"], block["reason"]) == (False, reason or "no_ground_truth")
    assert (block["labels"], block["slices"]["candidate_set_count"]) == ({}, n_candidates)


def test_a_near_miss_is_in_the_same_repository():
    block = error_taxonomy(trial(truth("one::src/a.py"), ("opened", "one::src/x.py two::src/y.py")))
    assert block["files"]["ambiguity_near_miss"] == ("one::src/x.py",)


def test_a_near_miss_need_not_state_the_only_repository():
    block = error_taxonomy(trial(truth("one::src/a.py"), ("opened", "src/x.py two::src/y.py")))
    assert block["files"]["ambiguity_near_miss"] == ("src/x.py",)


def test_a_rate_without_denominator_is_not_zero():
    block = error_taxonomy(trial(truth("src/a.py"), ("opened", "src/a.py")))
    assert block["rates"]["wrong_evidence_used"]["rate"] is None
    assert block["rates"]["irrelevant_retrieval"]["rate"] == 0.0


SIZES = [(0, "small"), (5, "small"), (6, "medium"), (20, "medium"), (21, "large")]


@pytest.mark.parametrize(("n", "name"), SIZES)
def test_candidate_set_size_counts_distinct_files(n, name):
    files = " ".join(f"src/f{i}.py" for i in range(n)) or ""
    steps = [("listed", files), ("opened", files)] if n else []
    slices = error_taxonomy(trial(truth("src/a.py"), *steps))["slices"]
    assert (slices["candidate_set_size"], slices["candidate_set_count"]) == (name, n)


def test_evidence_is_mcp_once_any_call_was():
    steps = [("opened", "src/a.py"), ("matched", "src/b.py", {"is_mcp": True})]
    assert error_taxonomy(trial(truth("src/a.py"), *steps))["slices"]["evidence_type"] == "mcp"
    assert error_taxonomy(trial(truth("src/a.py"), steps[0]))["slices"]["evidence_type"] == "local"


CHUNKED = truth("src/a.py", "src/b.py", chunks=[("src/a.py", 10, 19), ("src/b.py", 1, 5)])


def test_chunks_match_by_file_and_by_line():
    block = chunk_metrics(
        trial(
            CHUNKED,
            ("opened", "src/a.py", {"lines": ((1, 12),)}),
            ("opened", "src/a.py", {"lines": ((11, 14), (40, 49))}),
        )
    )
    assert (block["resolution"], block["validity"]) == ("chunk_level", "file_match_only")
    assert (block["chunk_recall"], block["chunks_hit"], block["chunks_total"]) == (0.5, 1, 2)
    overlap = block["line_overlap"]
    assert overlap["line_recall"] == pytest.approx(5 / 15)
    assert overlap["line_precision"] == pytest.approx(5 / 24)
    assert (overlap["lines_seen"], overlap["lines_read"], overlap["chunks_seen"]) == (5, 24, 1)


def test_of_three_chunks_the_one_in_an_accessed_file_is_hit():
    places = [(f"src/{name}.py", 1, 5) for name in "abc"]
    expected = truth(*(file for file, *_ in places), chunks=places)
    assert chunk_metrics(trial(expected, ("opened", "src/a.py")))["chunks_hit"] == 1


def test_a_whole_file_covers_its_chunk_but_hides_how_much_was_read():
    overlap = chunk_metrics(trial(CHUNKED, ("opened", "src/a.py", {"is_whole": True})))[
        "line_overlap"
    ]
    assert overlap["lines_seen"] == 10
    assert overlap["line_precision"] is None


def test_a_read_without_lines_leaves_its_chunk_out():
    overlap = chunk_metrics(trial(CHUNKED, ("opened", "src/a.py")))["line_overlap"]
    assert (overlap["chunks_unknown"], overlap["lines_expected"], overlap["lines_seen"]) == (
        1,
        5,
        0,
    )
    both = chunk_metrics(trial(CHUNKED, ("opened", "src/a.py src/b.py")))["line_overlap"]
    assert both == {
        "computable": False,
        "reason": "no_line_ranges",
        "chunks_unknown": 2,
        "bounds": dict.fromkeys(("line_recall", "line_precision", "line_f1"), (0.0, 1.0)),
    }


def test_without_chunks_the_resolution_says_so():
    block = chunk_metrics(trial(truth("src/a.py"), ("opened", "src/a.py")))
    assert (block["resolution"], block["validity"]) == ("file_level_only", "unsupported")
    assert block["chunk_recall"] is None


def test_coverage_over_steps_redundancy_and_evidence_drop():
    block = chunk_metrics(
        trial(
            truth("src/a.py", "src/b.py"),
            ("opened", "src/x.py"),
            ("matched", "src/a.py"),
            ("opened", "src/x.py src/b.py"),
            ("written", "src/c.py"),
        )
    )
    assert block["coverage_auc"] == pytest.approx((0 + 0.5 + 1.0) / 3)
    assert block["redundancy"] == pytest.approx(1 - 3 / 4)
    assert block["evidence_drop"] == 0.5


def test_a_line_that_two_chunks_expect_counts_once():
    chunks = [("src/a.py", 1, 10), ("src/a.py", 5, 15), ("src/a.py", 5, 15)]
    expected = truth("src/a.py", chunks=chunks)
    overlap = chunk_metrics(trial(expected, ("opened", "src/a.py", {"lines": ((6, 25),)})))[
        "line_overlap"
    ]
    # Lines 6 to 15 of 1 to 15 were seen, and 20 lines were read.
    assert overlap["line_recall"] == pytest.approx(10 / 15)
    assert overlap["line_precision"] == pytest.approx(10 / 20)
    assert (overlap["lines_expected"], overlap["lines_seen"]) == (15, 10)
    assert overlap["chunks_seen"] == 3


def test_files_shown_by_a_call_of_no_category_count_in_the_coverage_over_steps():
    steps = [("opened", "src/x.py"), ("opened", "src/a.py", {"category": "other"})]
    block = chunk_metrics(trial(truth("src/a.py"), *steps))
    assert block["coverage_auc"] == pytest.approx((0 + 1) / 2)


def test_every_block_gives_the_same_reason_for_a_missing_ground_truth():
    only_own = replace(truth(), reason="not_a_retrieval_target")
    reasons = chunk_metrics(trial(only_own, ("opened", "src/a.py")))["reasons"]
    assert reasons["coverage_auc"] == reasons["evidence_drop"] == "not_a_retrieval_target"


def possibly(made, *targets: Target):
    """The trial with a call that may have shown these."""
    event = replace(made.events[-1], targets=(), possible=targets, step_index=len(made.events))
    return dataclasses.replace(made, events=(*made.events, event))


def test_lines_have_bounds_where_reads_leave_them_open():
    (a, _) = CHUNKED.files
    seen = trial(CHUNKED, ("opened", "src/a.py", {"lines": ((1, 12),)}))
    maybe = Target(a, "opened", ((13, 16),), doubt="no_result")
    overlap = chunk_metrics(possibly(seen, maybe))["line_overlap"]
    # Lines 10 to 12 of the 15 expected were shown, and 13 to 16 may have been.
    assert overlap["line_recall"] == pytest.approx(3 / 15)
    assert overlap["line_precision"] == pytest.approx(3 / 12)
    assert overlap["bounds"]["line_recall"] == pytest.approx((3 / 15, 7 / 15))
    assert overlap["bounds"]["line_precision"] == pytest.approx((3 / 16, 7 / 16))
    assert overlap["bounds"]["line_f1"] == pytest.approx((6 / 31, 14 / 31))
    assert "bounds" not in chunk_metrics(seen)["line_overlap"]


def test_lines_that_only_may_have_been_shown_are_no_zero():
    (_, b) = CHUNKED.files
    seen = trial(CHUNKED, ("opened", "lib/x.py", {"lines": ((1, 12),)}))
    maybe = Target(b, "matched", doubt="cut_result")
    overlap = chunk_metrics(possibly(seen, maybe))["line_overlap"]
    assert overlap["line_recall"] is None
    assert overlap["reasons"]["line_recall"] == "evidence_incomplete"
    assert overlap["bounds"]["line_recall"] == pytest.approx((0.0, 5 / 15))


def test_a_precision_that_is_missing_has_its_reason():
    whole = chunk_metrics(trial(CHUNKED, ("opened", "src/a.py", {"is_whole": True})))
    overlap = whole["line_overlap"]
    assert overlap["reasons"] == dict.fromkeys(("line_precision", "line_f1"), "unknown_length")
    # Lines 1 to 19 at least were read, of which 10 to 19 are expected.
    assert overlap["bounds"]["line_precision"] == pytest.approx((0.0, 10 / 19))
    nothing = chunk_metrics(trial(CHUNKED, ("listed", "src/a.py")))["line_overlap"]
    assert nothing["line_recall"] == 0.0
    assert nothing["reasons"]["line_precision"] == "nothing_retrieved"


RANGES = st.lists(
    st.tuples(st.integers(1, 30), st.integers(0, 9)).map(lambda r: (r[0], sum(r))), max_size=3
)
READS = st.lists(
    st.tuples(
        st.sampled_from(["src/a.py", "src/b.py", "lib/x.py"]),
        st.one_of(st.just(None), RANGES.map(tuple)),
        st.booleans(),
        st.sampled_from([None, "no_result"]),
    ),
    max_size=5,
)


@given(reads=READS)
def test_a_share_of_lines_lies_within_its_bounds(reads):
    targets = [
        Target(ref(file), "opened", lines, is_whole, doubt)
        for file, lines, is_whole, doubt in reads
        if lines != ()
    ]
    certain = tuple(t for t in targets if t.doubt is None)
    made = trial(CHUNKED, ("listed", "docs/z.md"))
    made = dataclasses.replace(
        made, events=(replace(made.events[0], targets=certain), *made.events[1:])
    )
    made = possibly(made, *(t for t in targets if t.doubt is not None))
    overlap = chunk_metrics(made)["line_overlap"]
    for name, (low, high) in overlap.get("bounds", {}).items():
        assert 0 <= low < high <= 1
        if overlap.get(name) is not None:
            assert low - 1e-9 <= overlap[name] <= high + 1e-9
    for name in ("line_recall", "line_precision", "line_f1"):
        assert not overlap["computable"] or (overlap[name] is None) == (
            name in overlap.get("reasons", {})
        )
