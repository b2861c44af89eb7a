"""``retrieval-eval compare --sequential``."""

from __future__ import annotations

import json

from retrieval_eval.cli import run
from tests.runs import write_task, write_trial


def test_looks_are_given_beside_the_fixed_interval(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    truth = ["src/a.py", "src/b.py", "src/c.py", "src/d.py"]
    for i in range(7):
        write_task(tmp_path / "benchmarks", f"task-{i}", truth)
        for config, n in (("old", 1), ("new", 2 + i % 2)):
            write_trial(tmp_path / "runs" / "first", config, f"task-{i}", truth[:n])
    command = ["compare", "old", "new", "--run", "first", "--output-dir", "out"]
    run([*command, "--sequential", "--verbose"])
    text = " ".join(capsys.readouterr().out.split())
    assert "95 % interval, every look" in text
    assert "intervals and p of leading estimates hold at every look together" in text
    row = text.partition(" file_recall ")[2].partition(" mrr ")[0]
    run([*command, "--sequential", "--json"])
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    block = found["metrics"]["file_recall"]
    assert block["always_low"] < block["ci_low"] < block["ci_high"] < block["always_high"]
    assert found["design"]["is_sequential"] is True
    # The p of the table is that of its interval; the adjusted one is of a single look.
    assert f" {block['always_p']:.3f} —" in row
    assert f"{block['p_value']:.3f}" not in row
    run([*command, "--json"])
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert "always_low" not in found["metrics"]["file_recall"]
