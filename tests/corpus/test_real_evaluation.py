"""The pipeline over real runs: everything accounted for, and nothing found in text is missed."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from msgspec.structs import replace

from retrieval_eval import associate, compare
from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.agents.study import impact_analysis
from retrieval_eval.agents.study.stated import kept_design
from retrieval_eval.model import to_builtins
from retrieval_eval.report import Run
from retrieval_eval.schema import faults, kind_of
from tests.trials import trace_or_none

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


@pytest.fixture(scope="module")
def evaluated(real_runs, tmp_path_factory):
    output = tmp_path_factory.mktemp("real")
    runs = sorted(p for p in (real_runs / "runs" / "official").iterdir() if p.is_dir())
    return evaluate([str(run) for run in runs], output_dir=output)


@pytest.fixture(scope="module")
def trials(evaluated):
    return [done for run in evaluated.runs for done in run.trials]


def test_every_trial_is_evaluated_degraded_or_excluded(evaluated, trials, real_runs):
    results = [
        p
        for p in (real_runs / "runs").rglob("result.json")
        if "task_name" in json.loads(p.read_text())
    ]
    total: Counter[str] = Counter()
    for run in evaluated.runs:
        total.update(to_builtins(run.summary.counts))
    assert total["trials_found"] == len(results)
    assert total["evaluated"] + total["degraded"] + total["excluded"] == len(results)
    assert len(trials) == len(results) - total["excluded"]
    for done in trials:
        assert "could not be evaluated" not in (done.metrics.coverage.degraded_reason or "")


def test_every_artefact_is_valid(evaluated):
    for run in evaluated.runs:
        for path in run.folder.rglob("*.json"):
            document = json.loads(path.read_text())
            assert faults(document, kind_of(document)) == [], path.name


def test_comparing_the_frames_of_real_runs_gives_their_documents(evaluated):
    n = 0
    for run in evaluated.runs:
        frame = Run([run.folder]).trials
        stored = json.loads((run.folder / "run_impact_analysis.json").read_text())
        made = to_builtins(impact_analysis(frame, seed=stored["parameters"]["seed"]))
        assert json.loads(json.dumps(made["comparisons"])) == stored["comparisons"]
        for entry in stored["comparisons"]:
            # A pair that is named is no longer one of many: its verdict may differ.
            found = compare(frame, entry["baseline_config"], entry["comparison_config"]).to_json()
            for name in ("metrics", "pairs", "gate", "ledger", "slices", "excluded"):
                assert json.loads(json.dumps(found[name])) == entry[name]
            n += 1
        associated = json.loads(json.dumps(associate(frame).to_json()))
        assert associated == stored["associations"]
    assert n > 5


def test_what_stands_in_a_result_is_found_or_explained(trials):
    """Every ground-truth path in the text of a successful result is found.

    Two explanations are accepted, and distinguished by the text: the path is that of a file in
    another repository of the task, or it is a mention inside the content of another file.
    """
    statuses: Counter[str] = Counter()
    unexplained = []
    for done in trials:
        document = json.loads(
            (done.job.folder / f"{done.job.stem}.retrieval_events.json").read_text()
        )
        trace = trace_or_none(done.job.trial.path)
        if trace is None:
            continue
        targets = {
            (t["repository"], t["file"].lower())
            for e in document["events"]
            for t in e["targets"]
            if t["access"] != "written"
        }
        texts = [c.result.text for c in trace.calls if c.result and not c.result.is_error]
        truth = document["ground_truth"]
        for path, repository in zip(truth["files"], truth["repositories"], strict=True):
            name = path.lower()
            if (repository, name) in targets:
                statuses["found"] += 1
            elif not any(name in text.lower() for text in texts):
                statuses["not in any result"] += 1
            elif any(file == name or file.endswith(f"/{name}") for _, file in targets):
                statuses["in another repository"] += 1
            elif all(_is_mention(text, name) for text in texts):
                statuses["mentioned in content"] += 1
            else:
                unexplained.append((done.job.trial.trial_name, path))
    print(dict(statuses))
    assert unexplained == []
    assert statuses["found"] > statuses["not in any result"]


def _is_mention(text: str, name: str) -> bool:
    """Return whether ``name`` occurs only inside lines of content, never as the line's subject."""
    for line in text.lower().splitlines():
        place = line.find(name)
        if place >= 0 and not re.search(r"[\"'<(=\s]", line[:place]):
            return False
    return True


def test_the_calls_of_every_tool_and_server_add_up(trials):
    n = 0
    for done in trials:
        ledger = done.metrics.ledger
        if ledger is None:
            continue
        assert sum(calls for calls, _ in ledger.tools.values()) == ledger.calls_seen
        assert sum(calls for calls, _ in ledger.mcp_servers.values()) == ledger.mcp_calls
        answered = [ok for _, ok in ledger.mcp_servers.values()]
        assert sum(answered) >= (ledger.mcp_calls_ok or 0)
        for calls, ok in (*ledger.tools.values(), *ledger.mcp_servers.values()):
            assert 0 <= ok <= calls
        n += bool(ledger.mcp_servers)
    assert n > 10


def test_the_design_of_real_comparisons_reads_back_to_the_same(evaluated):
    n = 0
    for run in evaluated.runs:
        metrics = [done.metrics for done in run.trials]
        for stored in run.impact.comparisons:
            sides = (stored.baseline_config, stored.comparison_config)
            again = compare(metrics, *sides, design=kept_design(run.impact)).record
            # A pair that is named is one; its p is not adjusted over the others.
            kept = {"sources": {}, "family": stored.design.family}
            assert replace(again.design, **kept) == replace(stored.design, **kept)
            assert again.gate == stored.gate
            assert again.verdict == stored.verdict
            n += 1
    assert n > 5
