"""Frames are copies, and a filtered run is the run that its trials alone would have given."""

from __future__ import annotations

import hashlib
import shutil
import time

import pandas as pd
import pytest
from msgspec.structs import replace

from retrieval_eval import associate, compare
from retrieval_eval.agents.study.associations import OUTCOME_METRICS, RETRIEVAL_METRICS
from retrieval_eval.agents.study.compare import COMPARED
from retrieval_eval.agents.study.trials import COLUMNS, NUMBERS
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.layout import discover
from retrieval_eval.report import Run, columns, load_run
from retrieval_eval.report.displays import answer
from retrieval_eval.report.filtering import evaluated
from tests.factories import write_run

SUITE = "benchmark == 'demo_fix'"


@pytest.fixture(scope="module")
def part(demo_run):
    return demo_run.filter(SUITE)


@pytest.fixture(scope="module")
def evaluated_alone(demo_run, demo_tree, tmp_path_factory):
    """Return a function that evaluates the folders of some trials and nothing else."""

    def evaluated(wanted):
        place = tmp_path_factory.mktemp("alone")
        keys = ["config_name", "batch_timestamp", "trial_name"]
        names = set(wanted[keys].itertuples(index=False, name=None))
        folder = demo_tree / "runs" / "demo"
        for trial in discover(folder, "demo").trials:
            if (trial.config_name, trial.batch_timestamp, trial.trial_name) in names:
                target = place / "runs" / "demo" / trial.path.relative_to(folder)
                shutil.copytree(trial.path, target)
        return load_run(
            "demo",
            runs_root=place / "runs",
            benchmarks_root=demo_tree / "benchmarks",
            output_dir=place / "out",
        )

    return evaluated


@pytest.fixture(scope="module")
def alone(demo_run, evaluated_alone):
    trials = demo_run.trials
    return evaluated_alone(trials[trials["benchmark"] == "demo_fix"])


def plain(document):
    return replace(document, generated_at="", input_fingerprint=None, body_sha256=None)


def test_any_choice_of_trials_gives_frames_and_documents_of_these_alone(demo_run, evaluated_alone):
    # A choice that cuts through tasks, repeats and both configurations.
    trials = demo_run.trials
    every_third = (trials["config_name"].str.len() + trials.index) % 3 == 0
    chosen = (trials["reward"] > 0.6) | every_third
    found, expected = demo_run.filter(chosen), evaluated_alone(trials[chosen])
    for name in columns.FRAMES:
        pd.testing.assert_frame_equal(found.frame(name), expected.frame(name))
    assert plain(found.impact) == plain(expected.impact)
    assert answer(found.study) == answer(expected.study)
    badges = dict(found.block().badges)
    assert badges.pop("Filtered")
    assert badges == dict(expected.block().badges)


def test_a_comparison_of_a_filtered_frame_is_that_of_a_run_of_these_trials(demo_run, alone):
    trials = demo_run.trials
    chosen = trials[trials["benchmark"] == "demo_fix"]
    (stored,) = alone.impact.comparisons
    found = compare(chosen, stored.baseline_config, stored.comparison_config)
    assert found.record == stored
    assert associate(chosen).records == alone.impact.associations
    (whole,) = demo_run.impact.comparisons
    arms = (whole.baseline_config, whole.comparison_config)
    assert compare(trials, *arms).record == whole
    pd.testing.assert_frame_equal(compare(trials, *arms).pairs, demo_run.pairs)


def test_every_column_that_a_comparison_reads_is_declared_with_its_source():
    declared = {c.name: c.source for c in columns.expand(columns.FRAMES["trials"][1], (5, 10))}
    sources = COLUMNS | {name: "/".join(path) for name, path in NUMBERS.items()}
    assert sources.pop("has_exception") in declared["has_exception"]
    needed = {*COLUMNS, *COMPARED, *RETRIEVAL_METRICS, *OUTCOME_METRICS}
    assert needed <= declared.keys()
    for name in sources.keys() & declared.keys():
        assert declared[name] == sources[name], name


def test_the_page_of_a_filtered_run_says_what_it_shows(demo_run, part):
    n = int((demo_run.trials["benchmark"] == "demo_fix").sum())
    said = f"{n} of {len(demo_run.trials)} trials, where {SUITE}"
    assert dict(part.block().badges)["Filtered"] == said
    (table,) = part.provenance().exhibits
    # Excluded folders have no row in run.trials that a condition could choose.
    assert ("Filter", f"{said}; 1 excluded folder left out too") in table.rows
    assert repr(part).startswith(f"<Run demo: {said}>")
    assert "Filtered" not in dict(demo_run.block().badges)
    (table,) = demo_run.provenance().exhibits
    assert "Filter" not in {name for name, _ in table.rows}


def test_the_frames_of_a_study_are_those_of_the_stored_analysis(demo_run):
    study, stored = demo_run.study, demo_run.impact
    columns = ["config_name", "unit", "n", "n_hit", "median"]
    pd.testing.assert_frame_equal(study.first_hits[columns], demo_run.first_hits[columns])
    assert study.admitted == stored.let_through
    assert study.tiers["mean_reward"].dropna().tolist() == [
        tier.mean_reward for tier in stored.tiers if tier.mean_reward is not None
    ]
    assert len(study.calibration) == len(stored.calibration)
    both = [column for column in demo_run.views if column in study.views]
    assert len(both) > 5
    pd.testing.assert_frame_equal(study.views[both], demo_run.views[both], check_flags=False)
    (pair,) = study.every_pair.to_dict("records")
    assert pair["mean_difference"] == stored.comparisons[0].metrics["file_recall"].mean_difference


def test_filtering_writes_nothing_and_leaves_the_run_as_it_was(demo_run):
    def digests():
        root = demo_run.folders[0].parent
        files = sorted(p for p in root.rglob("*") if p.is_file())
        return {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}

    before, said = digests(), answer(demo_run.study)
    demo_run.filter("reward > 0")
    assert digests() == before
    assert answer(demo_run.study) == said


def test_a_condition_is_a_text_a_function_or_a_mask(tmp_path):
    run = Run([write_run(tmp_path, n_tasks=4, suites=("demo_fix", "other"))])
    trials = run.trials
    mask = trials["benchmark"] == "demo_fix"
    expected = run.filter(SUITE).trials
    assert 0 < len(expected) < len(trials)
    for where in (
        lambda frame: frame["benchmark"] == "demo_fix",
        lambda frame: (frame["benchmark"] == "demo_fix").to_numpy(),
        mask,
        mask.sample(frac=1, random_state=1),
        mask.astype("boolean"),
        mask.to_numpy(),
        mask.tolist(),
        "`file_recall` > -1 and benchmark == 'demo_fix' or benchmark in ['demo_fix']",
    ):
        pd.testing.assert_frame_equal(run.filter(where).trials, expected)
    # A trial for which the condition is not known does not pass.
    unknown = (trials["file_recall"] >= 0).mask(trials.index == 1)
    assert len(run.filter(unknown).trials) == int(unknown.fillna(False).sum()) < len(trials)
    assert len(run.filter("`ndcg@10` > 0.5").trials) == int((trials["ndcg@10"] > 0.5).sum())


def test_filters_follow_one_another(demo_run):
    one = demo_run.filter(SUITE)
    two = one.filter(lambda frame: frame["reward"] > 0.5)
    both = demo_run.filter(f"{SUITE} and reward > 0.5")
    assert plain(two.impact) == plain(both.impact)
    said = dict(two.block().badges)["Filtered"]
    total = len(demo_run.trials)
    assert said == f"{len(two.trials)} of {total} trials, where {SUITE}, and by a function"
    masked = demo_run.filter([True] * total)
    assert dict(masked.block().badges)["Filtered"].endswith("trials, by a mask")


TOUCH = "reward.to_csv('harm') == 1"
UNSAFE = (
    TOUCH,
    "reward . to_csv('harm') == 1",
    "reward.eq.__globals__['sys'].modules['os'].system('touch harm') == 0",
    "reward.ne.im_func('harm')",
    # Whatever ends a text or a name elsewhere for a reader of its own.
    f"benchmark == '`' or {TOUCH} or benchmark == '`'",
    f"`'` == 1 or {TOUCH} or `'` == 1",
    f"'''a' ''' == 'a' or {TOUCH}",
    f"benchmark == 'a\\' or {TOUCH} or benchmark == 'b\\'",
    f"reward > 0 # '\n or {TOUCH} #'",
    f"benchmark == f'{{{TOUCH}}}'",
    # Whatever makes much of little.
    "benchmark == 'x' * 20000 * 15000",
    "benchmark == benchmark * 99999999",
    "benchmark + benchmark == 'x'",
    "benchmark.isin(['x'] * 999999999)",
    "(reward > 0) * 'x' == 'x'",
    "9**9**9 > reward",
    "reward < 1 << 99999999999",
    "benchmark == f'{1:999999999}'",
    "benchmark == '%999999999d' % 1",
    "benchmark == '%999999999s' % benchmark",
    "benchmark == '{:999999999}'.format(1)",
    "benchmark.str.repeat(99999999) == 'x'",
    "benchmark.str.pad(999999999) == 'x'",
    "benchmark.str.zfill(999999999) == 'x'",
    "benchmark.str.replace('', 'x') == 'x'",
    "benchmark.str.cat(benchmark) == 'x'",
    "benchmark.fillna(benchmark.sum()) == 'x'",
    "benchmark.fillna(benchmark.max()) == 'x'",
    "reward.repeat(99999999) > 0",
    "reward.round(-2147483647) > 0",
    "reward.quantile([0.5, 0.5]) + reward.quantile([0.2, 0.5, 0.5]) > 0",
    "reward.quantile(reward * 0) + reward.quantile(reward.rank(pct=True)) > 0",
    "reward.fillna(0, inplace=True) == None",
    "reward.fillna(**{'value': 0, 'inplace': True}) == None",
    "reward.isin([x for x in range(999999999)])",
    "reward.isin(range(999999999))",
    "reward.apply(lambda x: 1) > 0",
    "(x := reward) > 0",
    "reward[[0] * 999999999] > 0",
    "benchmark.str.contains('(d|d)+x')",
    "benchmark.str.contains('d*d*d*d*d*x')",
    "benchmark.str.contains(pat='(?:_|.)+$')",
    "benchmark.str.contains('d?' 'd?' 'ddd')",
    f"benchmark.str.contains('{'a|' * 101}')",
    f"reward > {'9' * 5_000}",
    f"reward > {'-' * 3_990}1",
    f"reward > {'(' * 1_000}1{')' * 1_000}",
    f"reward{'.abs()' * 600} > 0",
    f"reward > 0{' and reward > 0' * 300}",
)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("reward > 99", "no trial passes the condition: all 49 trials are left out"),
        ([True, False], "the condition has 2 values for 49 trials"),
        (lambda frame: frame["reward"], "True or False for every trial, not float64"),
        ("reward", "True or False for every trial, not float64"),
        ("reward + ", r"the condition 'reward \+' cannot be read"),
        ("nope > 1", "run.trials has no column 'nope'"),
        ("benchmark == @suite", "cannot be read"),
        ("reward = 1", "cannot be read"),
        ("True", "cannot be read"),
        (lambda frame: frame[frame["reward"] > 0], "True or False for every trial, not a table"),
        (lambda frame: frame["reward"].dropna() > 0, "values for 49 trials"),
        (
            lambda frame: pd.Series([True] * len(frame), index=range(100, 100 + len(frame))),
            "another index than run.trials",
        ),
        (7, "not int"),
        *((text, "cannot be read") for text in UNSAFE),
        (["yes"] * 49, "True or False for every trial, not (object|str)"),
    ],
)
def test_a_condition_that_makes_no_sense_is_named(demo_run, where, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    started = time.process_time()
    with pytest.raises(BadInputError, match=told):
        demo_run.filter(where)
    assert not list(tmp_path.iterdir())
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("a > 1 and b == 'x' or a == 1", [True, False, False]),
        ("not a > 1 and not (b == 'y')", [True, False, True]),
        ("b == ['x', 'z']", [True, False, False]),
        ("b not in ('x',) and a == a", [False, True, False]),
        ("1 < a <= 2.5 and `c d` != -2", [False, True, False]),
        ("`c d` > a and a in [1, 2.0]", [True, True, False]),
    ],
)
def test_a_condition_means_what_it_means_in_pandas(condition, wanted):
    frame = pd.DataFrame({"a": [1.0, 2.0, None], "b": ["x", "y", None], "c d": [3, 4, 6]})
    assert list(evaluated(frame, condition)) == wanted
    assert list(frame.eval(condition, engine="python")) == wanted


def test_load_run_takes_a_condition(demo_run, demo_tree, part):
    found = load_run(
        "demo",
        runs_root=demo_tree / "runs",
        benchmarks_root=demo_tree / "benchmarks",
        output_dir=demo_run.folders[0].parents[1],
        where=SUITE,
    )
    assert plain(found.impact) == plain(part.impact)
    assert repr(found) == repr(part)


def test_frames_are_copies_and_assignment_is_refused(tmp_path):
    run = Run([write_run(tmp_path)])
    expected = {name: run.frame(name) for name in columns.FRAMES}
    for name in columns.FRAMES:
        frame = run.frame(name)
        frame.loc[:, frame.columns[0]] = "planted"
        frame.pop(frame.columns[-1])
        with pytest.raises(AttributeError, match=rf"Run\.{name} cannot be .*filter\(…\)"):
            setattr(run, name, frame)
    for name in ("impact", "summaries", "comparison", "trial_files", "part"):
        with pytest.raises(AttributeError, match=rf"Run\.{name} cannot be assigned"):
            setattr(run, name, None)
    for row in run.trials["quality_flags"]:
        row.append("planted")
    events = run.events
    events["tool_name"] = "planted"
    events["target_files"].map(lambda files: files.append("planted"))
    for name, frame in expected.items():
        pd.testing.assert_frame_equal(run.frame(name), frame)
    assert not run.trials["quality_flags"].map(len).any()
    assert "planted" not in {f for files in run.events["target_files"] for f in files}


def test_a_trial_without_metrics_cannot_be_analysed_and_is_named(tmp_path):
    folder = write_run(tmp_path, n_tasks=3)
    (folder / "0" / "0000.retrieval_metrics.json").unlink()
    run = Run([folder])
    with pytest.raises(BadInputError, match=r"0000\.retrieval_metrics\.json is missing; evaluate"):
        run.filter("config_name != ''")
