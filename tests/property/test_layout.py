"""Decorated names and run trees of any shape."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

from retrieval_eval.io.layout import (
    CUT_LENGTH,
    UNKNOWN_CONFIG,
    TaskIndex,
    discover,
    plain,
    undecorated,
)

TASKS = (
    "ccx-onboard-search-208",
    "ccx-onboard-search-207",
    "linux-nfs-inode-revalidate-fault-001",
    "django__django-1234",
    "fix_login",
    "fix",
    "numpy-dtype-localize-001",
)
PREFIXES = st.lists(
    st.sampled_from(["mcp_", "bl_", "sgonly_", "artifact_", "sdlc_fix_", "sdlc_test_"]), max_size=2
).map("".join)
SUFFIXES = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=6, max_size=8)
WORDS = st.text("abcdefgh_-", min_size=1, max_size=12).filter(lambda w: w[0] not in "_-")


def index(*names: str) -> TaskIndex:
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            (Path(folder) / "suite" / name / "tests").mkdir(parents=True)
        return TaskIndex(Path(folder))


TASK_INDEX = index(*TASKS)


@given(st.sampled_from(TASKS), PREFIXES, st.none() | SUFFIXES, st.booleans())
def test_a_decorated_name_means_its_task(task, prefix, suffix, upper):
    assume(prefix or suffix is None or not suffix.isalpha())
    name = task.upper() if upper else task
    raw = f"{prefix}{name}" + (f"_{suffix}" if suffix else "")
    found = TASK_INDEX.resolve(raw).task
    assert found is not None
    assert found.name == task


@given(st.sampled_from(TASKS), PREFIXES, SUFFIXES)
def test_a_cut_name_means_its_task_or_nothing(task, prefix, suffix):
    raw = f"{prefix}{task}_{suffix}"[:CUT_LENGTH]
    assume(len(raw) == CUT_LENGTH)
    assume(prefix or not suffix.isalpha())
    assume(len(f"{prefix}{task}") <= CUT_LENGTH or "208" not in task)
    found = TASK_INDEX.resolve(raw).task
    assert found is None or found.name == task


@given(st.text(max_size=50))
def test_any_name_has_an_answer(raw):
    found = TASK_INDEX.resolve(raw)
    assert (found.task is None) is (found.reason is not None)
    steps = list(undecorated(raw))
    assert steps[0] == (raw,)
    assert all(form in raw for step in steps for form in step)
    assert plain(plain(raw)) == plain(raw)


@given(st.lists(WORDS, min_size=1, max_size=4, unique=True), WORDS)
def test_a_name_is_never_shortened_by_words_alone(names, word):
    raw = f"{names[0]}_{word}"
    tasks = index(*names)
    found = tasks.resolve(raw).task
    assert found is None or plain(found.name) == plain(raw) or raw.startswith(("bl_", "mcp_"))


LEVELS = st.lists(
    st.sampled_from(["mcp", "baseline", "ccb_fix_job", "2026-01-02__03-04-05"]),
    max_size=3,
    unique=True,
)


def place(trial: tuple[list[str], str, bool]) -> str:
    return "/".join([*trial[0], trial[1]])


TRIALS = st.lists(
    st.tuples(LEVELS, st.sampled_from(["a__Xy12345", "b-1__Zz98765", "c"]), st.booleans()),
    min_size=1,
    max_size=6,
    unique_by=place,
)


@given(TRIALS)
def test_every_trial_is_found_once_whatever_the_levels(trials):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for levels, name, has_result in trials:
            path = root.joinpath(*levels, name)
            (path / "agent").mkdir(parents=True)
            (path / "agent/trajectory.json").write_text("{}")
            if has_result:
                (path / "result.json").write_text(json.dumps({"task_name": "t"}))
        found = discover(root, "run")
        again = discover(root, "run")
    assert found == again
    assert found.excluded == ()
    expected = {(place(trial), trial[2]) for trial in trials}
    assert {
        (t.path.relative_to(root).as_posix(), t.task_name == "t") for t in found.trials
    } == expected
    assert len(found.trials) == len(trials)
    for trial in found.trials:
        levels = trial.path.relative_to(root).parts[:-1]
        configs = [level for level in levels if not level.startswith("2026-")]
        assert trial.config_name == (configs[0] if configs else UNKNOWN_CONFIG)
        assert (trial.batch_timestamp is not None) is any(v.startswith("2026-") for v in levels)
