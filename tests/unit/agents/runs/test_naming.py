from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents.runs.layout import METRICS_SUFFIX, artefact_stems, safe_name
from retrieval_eval.records import TrialRef


@given(st.text(max_size=300))
def test_a_safe_name_is_one_harmless_path_component(name):
    safe = safe_name(name)
    assert safe
    assert len(safe) <= 160
    assert not safe.startswith(".")
    assert Path("folder") / safe == Path("folder") / Path(safe).name


@given(st.text(max_size=20), st.text(max_size=20))
def test_two_names_never_fall_together(one, other):
    assert (safe_name(one) == safe_name(other)) == (one == other)


def ref(task: str, trial: str, batch: str | None = None, config: str = "c") -> TrialRef:
    return TrialRef("r", config, batch, trial, Path(config) / str(batch) / trial, task)


def test_the_first_trial_by_batch_then_name_has_the_tasks_name():
    trials = [ref("t", "t__b", "2"), ref("t", "t__a", "2"), ref("t", "t__z", "1"), ref("u", "u__a")]
    stems = artefact_stems(trials)
    assert [stems[t] for t in trials] == ["c/t@t__b", "c/t@t__a", "c/t", "c/u"]


def test_equal_names_still_get_stems_of_their_own():
    trials = [ref("t", "t__a", b) for b in ("1", "2", "3")]
    assert sorted(artefact_stems(trials).values()) == ["c/t", "c/t@t__a", "c/t@t__a.2"]


def test_repeats_of_a_long_name_fit_into_a_file_name():
    trials = [ref("t" * 150, f"{'t' * 150}__{suffix}") for suffix in ("one", "two", "three")]
    stems = artefact_stems(trials)
    assert len(set(stems.values())) == 3
    assert all(len(f"{Path(s).name}{METRICS_SUFFIX}") <= 255 for s in stems.values())
