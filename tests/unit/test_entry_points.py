"""What another distribution adds through entry points works as what this package brings."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from retrieval_eval.demo import write_demo

PROJECT = Path(__file__).resolve().parents[2]

METRIC = '''
"""A metric of another distribution."""

from retrieval_eval.agents.metrics.catalog import metric
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


FIGURE = '''
"""A figure of another distribution."""

from retrieval_eval.report.registered import Words, figure, known_values


@figure("rug")
def rug(ax, frame, x, by=None):
    """Draw a mark a row."""
    values = known_values(frame, x, by)["all"]
    ax.plot(values, [0.0] * len(values), "|")
    return Words(f"{len(values)} values", "A mark a row", frame[[x]], f"{len(values)} marks")
'''


@pytest.fixture(scope="module")
def with_extras(tmp_path_factory):
    """Run Python with the distribution installed; return what a program prints as JSON."""
    site = tmp_path_factory.mktemp("site")
    (site / "their_metric.py").write_text(METRIC)
    (site / "their_figure.py").write_text(FIGURE)
    info = site / "their_distribution-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: their-distribution\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(
        "[retrieval_eval.metrics]\nfirst_file_share = their_metric:first_file_share\n"
        "[retrieval_eval.figures]\nrug = their_figure:rug\n"
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


def test_a_trial_is_measured_in_four_lines(with_extras):
    run, out = with_extras
    path = next(p for p in sorted(out.rglob("*.retrieval_metrics.json")))
    stored = json.loads(path.read_text())
    names = stored["provenance"]
    site = out.parent / "demo"
    (trial,) = site.glob(f"runs/demo/{names['config_name']}/*/{names['trial_name']}")
    task = site / "benchmarks" / names["benchmark"] / names["task_name"]
    found = run(
        "import json, retrieval_eval as rev\n"
        f"trace, truth = rev.read_trace({str(trial)!r}), rev.load_ground_truth({str(task)!r})\n"
        "events = rev.extract_events(trace, truth)\n"
        "measured = rev.measure(events).file_level_metrics\n"
        "print(json.dumps([measured.file_recall, measured.mrr, measured.first_file_share]))"
    )
    block = stored["file_level_metrics"]
    assert found == [block["file_recall"], block["mrr"], block["first_file_share"]]


def _blocks(language: str) -> list[str]:
    text = (PROJECT / "docs" / "howto" / "harness.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def harness_site(tmp_path):
    """Return a folder with the package of the page on harnesses, as if it were installed."""
    site = tmp_path / "site"
    info = site / "their_package-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "their_package.py").write_text("\n".join(_blocks("python")))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    points = "\n".join(_blocks("toml")).replace("project.entry-points.", "").replace('"', "")
    (info / "entry_points.txt").write_text(points)
    return site


def _traced(path: Path, *sites: Path) -> dict[str, str] | None:
    """Return what the command proves of a trace, or None where it is not recognised."""
    done = subprocess.run(
        [
            *[sys.executable, "-m", "retrieval_eval", "trace", str(path)],
            *["--truth", "src/a.py,src/b.py", "--json"],
        ],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [*sites, PROJECT]))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or "not a known trace format" in done.stderr, done.stderr
    return json.loads(done.stdout)["evidence"] if done.returncode == 0 else None


def test_a_dialect_changes_what_a_trace_proves(tmp_path, harness_site):
    """A tool of unknown name proves nothing; with its dialect one read is sure, one refused."""
    trace = tmp_path / "session.json"
    (text,) = _blocks("json")
    trace.write_text(text)
    assert _traced(trace) == {"src/a.py": "possible", "src/b.py": "possible"}
    assert _traced(trace, harness_site) == {"src/a.py": "certain", "src/b.py": "none"}


def test_a_format_makes_a_file_a_trace(tmp_path, harness_site):
    calls = [
        {"id": "1", "path": "/workspace/src/a.py", "result": "status 0\nlimit = 3\n"},
        {"id": "2", "path": "/workspace/src/b.py", "result": "status 1\nno such file\n"},
    ]
    lines = [json.dumps({"writer": "my-agent", "tool": "peek", **call}) for call in calls]
    trace = tmp_path / "session.jsonl"
    trace.write_text("\n".join(lines))
    assert _traced(trace) is None
    assert _traced(trace, harness_site) == {"src/a.py": "certain", "src/b.py": "none"}
