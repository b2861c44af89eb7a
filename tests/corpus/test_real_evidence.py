"""Real traces cut at random: the interval of the cut trace holds the value of the whole one."""

from __future__ import annotations

import json
import random

import pytest
from msgspec.structs import replace

from retrieval_eval.agents.events import extract_events
from retrieval_eval.agents.events.evidence import evidence, gap_of
from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.truth import load_ground_truth
from retrieval_eval.io.layout import TaskIndex, discover, resolve_trials
from tests.trials import trace_or_none

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


@pytest.fixture(scope="module")
def whole_trials(real_runs):
    """Trials whose trace lacks nothing, with trace, ground truth and evidence."""
    index = TaskIndex(real_runs / "benchmarks")
    runs = sorted(p for p in (real_runs / "runs/official").iterdir() if p.is_dir())
    found = [trial for run in runs for trial in discover(run, run.name).trials]
    kept = []
    for trial in resolve_trials(found, index)[0]:
        trace, truth = trace_or_none(trial.path), load_ground_truth(trial.task_dir)
        if trace is not None and truth.files:
            events = extract_events(trace, truth)
            if gap_of(events) is None:
                kept.append((trial, trace, truth, evidence(events)))
    assert len(kept) > 15
    return kept


def assert_holds(whole, cut, what):
    """Whatever was certain stays possible at least, and nothing becomes certain."""
    for file, before in whole.items():
        if before == "certain":
            assert cut[file] != "none", (what, file)
        else:
            assert cut[file] != "certain", (what, file)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_results_dropped_at_random_leave_the_recall_open(whole_trials, share):
    draw = random.Random(int(share * 10))
    for trial, trace, truth, whole in whole_trials:
        calls = tuple(replace(c, result=None) if draw.random() < share else c for c in trace.calls)
        cut = evidence(extract_events(replace(trace, calls=calls), truth))
        assert_holds(whole, cut, trial.trial_name)


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_a_transcript_cut_anywhere_leaves_the_recall_open(whole_trials, tmp_path, share):
    draw = random.Random(int(share * 10))
    n_cut = 0
    for number, (trial, _, truth, whole) in enumerate(whole_trials):
        source = trial.path / "agent/claude-code.txt"
        if not source.is_file():
            continue
        lines = source.read_text("utf-8").splitlines()
        at = draw.randrange(len(lines) - 1) if share < 0.5 else None
        kept = lines[:at] if at is not None else [n for n in lines if draw.random() > share / 20]
        folder = tmp_path / str(number) / "agent"
        folder.mkdir(parents=True)
        (folder / "claude-code.txt").write_text("\n".join(kept), "utf-8")
        trace = trace_or_none(folder.parent)
        if trace is None:
            continue
        events = extract_events(trace, truth)
        is_visible = gap_of(events) is not None or events.ledger.calls_without_result
        if is_visible:
            n_cut += 1
            assert_holds(whole, evidence(events), trial.trial_name)
    assert n_cut > 5


def test_results_without_their_ids_make_nothing_certain(whole_trials, tmp_path):
    for number, (trial, _, truth, whole) in enumerate(whole_trials):
        source = trial.path / "agent/claude-code.txt"
        if not source.is_file():
            continue
        folder = tmp_path / str(number) / "agent"
        folder.mkdir(parents=True)
        lines = []
        for text in source.read_text("utf-8").splitlines():
            line = json.loads(text)
            for block in (line.get("message") or {}).get("content") or []:
                if isinstance(block, dict) and number % 2:
                    block.pop("tool_use_id", None)
            lines.append(json.dumps(line))
        (folder / "claude-code.txt").write_text("\n".join(lines), "utf-8")
        cut = evidence(extract_events(read_trace(folder.parent), truth))
        assert_holds(whole, cut, trial.trial_name)
