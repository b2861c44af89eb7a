"""What makes a trial's artefacts stale."""

from __future__ import annotations

import sys
from collections import Counter
from importlib.metadata import EntryPoint

import pytest

import retrieval_eval
from retrieval_eval.agents.runs import fingerprint
from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.agents.runs.trial import Job, evaluate_trial
from retrieval_eval.agents.traces.formats import FORMATS
from retrieval_eval.errors import BadInputError
from retrieval_eval.io import files
from retrieval_eval.io.layout import trial_at
from tests.runs import write_trial


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a module as another distribution's trace format and return the code's digest."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(source):
        (tmp_path / "their_format.py").write_text(source, encoding="utf-8")
        point = EntryPoint("theirs", "their_format:theirs", FORMATS.group)
        points = [point] if source else []
        monkeypatch.setattr(
            fingerprint, "entry_points", lambda group: points if group == FORMATS.group else []
        )
        fingerprint.code_fingerprint.cache_clear()
        return fingerprint.code_fingerprint()

    yield install
    sys.modules.pop("their_format", None)
    fingerprint.code_fingerprint.cache_clear()


def test_the_code_of_another_distributions_entry_counts(installed):
    without, with_one, changed = installed(""), installed("theirs = 1"), installed("theirs = 2")
    assert len({without, with_one, changed}) == 3
    assert installed("theirs = 1") == with_one


def test_all_code_of_this_package_counts(monkeypatch):
    read = set()
    monkeypatch.setattr(
        files.Path,
        "read_bytes",
        lambda path, _read=files.Path.read_bytes: (read.add(path), _read(path))[1],
    )
    fingerprint.code_fingerprint.cache_clear()
    fingerprint.code_fingerprint()
    package = files.Path(retrieval_eval.__file__).resolve().parent
    assert {path for path in read if path.is_relative_to(package)} == {*package.rglob("*.py")}


def test_a_broken_entry_ends_an_evaluation_with_its_name(tmp_path, monkeypatch):
    points = [EntryPoint("theirs", "no_such_module:theirs", FORMATS.group)]
    monkeypatch.setattr("retrieval_eval.registry.entry_points", lambda group: points)
    monkeypatch.setattr(FORMATS, "_is_loaded", False)
    with pytest.raises(BadInputError, match="'theirs' cannot be loaded from no_such_module"):
        evaluate([tmp_path])


def test_a_trial_is_measured_from_the_bytes_of_its_digest_each_read_once(tmp_path, monkeypatch):
    run = tmp_path / "run"
    folder = write_trial(run, "baseline", "task", ["src/a.py"])
    trial = trial_at(folder, run)
    assert trial is not None
    opens: Counter[str] = Counter()
    monkeypatch.setattr(
        files.Path,
        "open",
        lambda path, *a, _open=files.Path.open, **k: (
            opens.update([path.name] if path.is_relative_to(folder) else []),
            _open(path, *a, **k),
        )[1],
    )
    job = Job(trial, tmp_path / "out", "one", (1, 5))
    done = evaluate_trial(job)
    assert done.is_fresh
    assert not (tmp_path / "out").exists(), "only the caller writes"
    assert "result.json" in opens
    assert set(opens.values()) == {1}
    for name, data in done.files().items():
        files.write_bytes(tmp_path / "out" / name, data)
    kept = evaluate_trial(job)
    assert (kept.is_fresh, kept.files(), kept.metrics) == (False, {}, done.metrics)
    (folder / "result.json").write_text("{}")
    assert evaluate_trial(job).is_fresh
