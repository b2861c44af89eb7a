"""What another distribution adds through entry points works as what this package brings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from retrieval_eval.demo import write_demo

PROJECT = Path(__file__).resolve().parents[2]

METRIC = '''
"""A metric of another distribution."""

from retrieval_eval.metrics.catalog import metric
from retrieval_eval.values import ratio


@metric(
    "first_file_share",
    label="first file relevant",
    meaning="1 where the first file retrieved is a ground-truth file, else 0",
    is_compared=True,
    is_associated=True,
)
def first_file_share(view):
    return ratio(int(view.ranked[:1] and view.ranked[0] in view.relevant), 1, "nothing_retrieved")
'''


@pytest.fixture(scope="module")
def with_extras(tmp_path_factory):
    """Run Python with the distribution installed; return what a program prints as JSON."""
    site = tmp_path_factory.mktemp("site")
    (site / "their_metric.py").write_text(METRIC)
    info = site / "their_distribution-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: their-distribution\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(
        "[retrieval_eval.metrics]\nfirst_file_share = their_metric:first_file_share\n"
    )
    write_demo(site / "demo")

    def run(program: str):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(PROJECT)])}
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=site,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    run(
        "import retrieval_eval, json\n"
        "retrieval_eval.evaluate(['demo'], runs_root='demo/runs', output_dir='out')\n"
        "print(json.dumps(None))"
    )
    return run, site / "out"


def test_a_metric_stands_in_documents_schema_means_and_comparison(with_extras):
    run, out = with_extras
    documents = [json.loads(p.read_text()) for p in out.rglob("*.retrieval_metrics.json")]
    blocks = [d["file_level_metrics"] for d in documents if d["file_level_metrics"]["computable"]]
    assert {block["first_file_share"] for block in blocks} == {0.0, 1.0}
    assert all("first_file_share" in view for view in blocks[0]["views"].values())
    schema = run(
        "import json; from retrieval_eval.schema import load_schema;"
        "print(json.dumps(load_schema('retrieval_metrics')))"
    )
    field = schema["$defs"]["FileLevel"]["properties"]["first_file_share"]
    assert field["description"].startswith("1 where the first file")
    (summary,) = [json.loads(p.read_text()) for p in out.rglob("run_retrieval_summary.json")]
    for config in summary["configs"].values():
        assert config["metrics"]["first_file_share"]["n"] > 0
    (impact,) = [json.loads(p.read_text()) for p in out.rglob("run_impact_analysis.json")]
    assert "first_file_share" in impact["comparisons"][0]["metrics"]
    assert "first_file_share" in {a["retrieval_metric"] for a in impact["associations"]}


def test_a_metric_is_a_column_of_the_frame(with_extras):
    run, _ = with_extras
    column = run(
        "import json, retrieval_eval\n"
        "run = retrieval_eval.load_run('demo', runs_root='demo/runs', output_dir='out')\n"
        "print(json.dumps(run.trials.first_file_share.dropna().tolist()))"
    )
    assert set(column) == {0.0, 1.0}


def test_the_command_knows_the_metric(with_extras):
    run, out = with_extras
    path = next(out.rglob("*.retrieval_metrics.json"))
    found = run(
        "import json; from retrieval_eval.schema import faults;"
        f"print(json.dumps([str(f) for f in faults(json.load(open({str(path)!r})),"
        " 'retrieval_metrics')]))"
    )
    assert found == []
