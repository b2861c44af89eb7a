"""What is made from simulated data says so, by a mark in the data and not by a name."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from retrieval_eval.cli import run as command
from retrieval_eval.demo import write_search_demo
from retrieval_eval.report import build_search, load_run
from retrieval_eval.report.building import build_diff
from retrieval_eval.report.publishing import write_frame
from retrieval_eval.search.change.diff_text import diff_markdown
from retrieval_eval.search.run import Settings
from tests.plain_runs import diff
from tests.searches import measure

SAID = "Simulated data: "


def a_run(demo_tree: Path, root: Path, name: str, *, is_simulated: bool, n: int = 2) -> Path:
    """Copy some trials of the demo to a run of another name, with or without their mark."""
    for config in sorted((demo_tree / "runs" / "demo").iterdir()):
        found = (path.parent for path in config.rglob("result.json"))
        trials = sorted(trial for trial in found if (trial / "agent").is_dir())
        for trial in trials[:n]:
            target = root / "runs" / name / trial.relative_to(demo_tree / "runs" / "demo")
            shutil.copytree(trial, target)
            result = json.loads((target / "result.json").read_text())
            assert result["simulated"] is True
            if not is_simulated:
                del result["simulated"]
                (target / "result.json").write_text(json.dumps(result))
    return root / "runs" / name


@pytest.fixture
def loaded(demo_tree, tmp_path):
    def load(name: str, **options):
        a_run(demo_tree, tmp_path, name, **options)
        return load_run(name, runs_root=tmp_path / "runs", benchmarks_root=demo_tree / "benchmarks")

    return load


def test_the_mark_is_in_the_trials_and_not_in_the_name(loaded):
    run = loaded("my_study", is_simulated=True)
    total = len(run.trial_files)
    assert run.summaries[0].counts.simulated == run.n_simulated == total > 0
    assert run.trials["is_simulated"].all()
    said = f"{SAID}all {total} trials are invented; the findings are about no real agent."
    assert run.block().finding == said
    assert said in repr(run)
    trial = run.trial().block()
    assert trial.finding == f"{SAID}the trial is invented; the findings are about no real agent."


def test_a_run_of_that_name_without_the_mark_is_an_ordinary_one(loaded):
    run = loaded("demo", is_simulated=False)
    assert run.n_simulated == 0
    assert not run.trials["is_simulated"].any()
    assert run.block().finding == ""
    assert run.trial().block().finding == ""
    assert "imulated" not in repr(run)


def test_a_csv_says_it_in_its_first_column_and_stays_a_csv(tmp_path):
    frame = pd.DataFrame({"name": ["a,b", 'c"d'], "n": [1, 2]})
    write_frame("names", "", frame, tmp_path, is_simulated=True)
    data = (tmp_path / "names.csv").read_bytes()
    assert data == b'simulated_data,name,n\r\ntrue,"a,b",1\r\ntrue,"c""d",2\r\n'
    write_frame("empty", "", frame.head(0), tmp_path, is_simulated=True)
    assert (tmp_path / "empty.csv").read_bytes() == b"simulated_data,name,n\r\n"
    assert list(frame.columns) == ["name", "n"]


def titles(page: Path) -> tuple[str, str]:
    html = page.read_text(encoding="utf-8")
    title = html.partition("<title>")[2].partition("</title>")[0]
    return title, html.partition("<h1")[2].partition("</h1>")[0].partition(">")[2]


def assert_marked(page: Path) -> None:
    assert all(title.startswith(SAID) for title in titles(page)), titles(page)
    html = page.read_text(encoding="utf-8")
    assert f'<p class="finding">{SAID}' in html.partition('class="block answer')[0]
    (notebook,) = page.parent.glob("*.ipynb")
    formats, first, *_ = json.loads(notebook.read_text())["cells"]
    assert f"pagetitle: '{SAID}" in "".join(formats["source"])
    assert first["source"][0].startswith(f"# {SAID}")
    for table in set(page.parent.glob("*.csv")) - {page.with_name("versions.csv")}:
        rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
        assert table.read_text(encoding="utf-8").startswith("simulated_data,"), table.name
        assert all(row["simulated_data"] == "true" for row in rows), table.name


def test_page_notebook_and_tables_of_a_run_say_it(demo_page):
    assert_marked(demo_page)


def a_search(folder: Path, *, is_simulated: bool) -> tuple[Path, Path]:
    """Measure two runs on the demo's documents, whose gold set may have lost its mark."""
    demo = write_search_demo(folder)
    rows = [json.loads(line) for line in demo.gold.read_text(encoding="utf-8").splitlines()]
    assert all(row["simulated"] is True for row in rows)
    kept = [{k: v for k, v in row.items() if is_simulated or k != "simulated"} for row in rows[:12]]
    demo.gold.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    found = []
    for k1 in ("1.2", "2.0"):
        out = folder / f"k1-{k1}"
        measure(
            demo.gold,
            f"bm25:{demo.corpus}",
            options={"k1": k1},
            label=f"k1-{k1}",
            out=out,
            settings=Settings(),
        )
        found += out.glob("eval-report-*Z.json")
    return found[0], found[1]


@pytest.mark.slow
@pytest.mark.parametrize("is_simulated", [True, False])
def test_pages_of_searches_say_it(tmp_path, is_simulated):
    runs = a_search(tmp_path / "study", is_simulated=is_simulated)
    document = json.loads(runs[0].read_text())
    total = document["run"]["gold_set"]["n_queries"]
    assert document["run"]["gold_set"].get("n_simulated") == (total if is_simulated else None)
    markdown = runs[0].with_suffix(".md").read_text(encoding="utf-8")
    assert (SAID in markdown) == is_simulated
    found = diff(*(json.loads(run.read_text()) for run in runs), seed=1)
    assert any(SAID in notice for notice in found.notices) == is_simulated
    assert (SAID in diff_markdown(found)) == is_simulated
    if is_simulated:
        given = {"reports_dir": tmp_path / "pages", "renderer": "embedded"}
        assert_marked(build_search(runs[0], **given))
        assert_marked(build_diff(*runs[:2], **given))


def test_the_command_says_it(demo_tree, tmp_path, capsys):
    a_run(demo_tree, tmp_path, "study", is_simulated=True, n=1)
    given = ["--benchmarks-root", str(demo_tree / "benchmarks")]
    assert command(["evaluate", str(tmp_path / "runs/study"), *given]) == 0
    assert "SIMULATED DATA" in capsys.readouterr().out
    trial = next((tmp_path / "runs").rglob("result.json")).parent
    assert command(["trace", str(trial)]) == 0
    assert "SIMULATED" in capsys.readouterr().out
