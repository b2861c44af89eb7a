"""Notebooks in a real kernel: every shipped one once, what fails in it, and what it leaves."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from retrieval_eval.errors import BadInputError, RenderError
from retrieval_eval.report.execute import Kernel, check_outputs, execute
from tests.notebooks.test_notebooks import FIRST, LESSONS, PUBLIC, REPORTS, name
from tests.rechunking import write_rows

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with Kernel() as opened:
        yield opened


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Path:
    """One folder, empty at first, for all notebooks, so that the demo is measured once."""
    return tmp_path_factory.mktemp("desk")


def outputs_of(path: Path) -> list[list]:
    """Return the outputs of each code cell behind the parameters."""
    cells = nbformat.read(path, as_version=4).cells
    tags = {"parameters", "injected-parameters"}
    shown = [c for c in cells if c.cell_type == "code" and not tags & {*c.metadata.get("tags", [])}]
    return [cell.outputs for cell in shown]


@pytest.mark.parametrize("path", REPORTS, ids=name)
def test_a_report_runs_on_the_demo(path, desk, kernel, monkeypatch):
    monkeypatch.chdir(desk)
    steps = []
    given = {FIRST.get(path.stem, "run_id"): "demo"}
    done = execute(
        path, desk / "out.ipynb", given, kernel=kernel, progress=lambda *step: steps.append(step)
    )
    found = outputs_of(done)
    assert all(found)
    assert steps[-1][0] == steps[-1][1]
    folder = "history" if path.stem == "history" else "eval"
    written = f"search-demo/data/{folder}" if path.stem in FIRST else "demo/data/runs/demo"
    assert (desk / "reports" / written).is_dir()
    (first, *_) = (o for outputs in found for o in outputs if o.output_type == "execute_result")
    assert "Simulated data: " in first["data"]["text/plain"]


@pytest.mark.parametrize(
    "path",
    [
        path if path.stem == "own_metric" else pytest.param(path, marks=pytest.mark.extra)
        for path in LESSONS
    ],
    ids=name,
)
def test_a_lesson_shows_something_in_every_cell_but_one(path, desk, kernel, monkeypatch):
    monkeypatch.chdir(desk)
    with pytest.MonkeyPatch.context() as patch:
        # A cell that defines a function of the user's own shows nothing.
        patch.setattr("retrieval_eval.report.execute.check_outputs", lambda _: None)
        found = outputs_of(execute(path, desk / "out.ipynb", {}, kernel=kernel))
    assert sum(not outputs for outputs in found) <= 1
    assert "text/html" in {kind for outputs in found for o in outputs for kind in o.get("data", {})}


@pytest.mark.extra
def test_the_public_study_finds_what_its_source_states(real_study, desk, kernel, monkeypatch):
    monkeypatch.chdir(desk)
    tasks = json.loads((real_study / "tasks.json").read_text(encoding="utf-8"))
    arms = {"one": "gemini-3-pro", "other": "gpt-5-mini"}
    for arm in arms.values():
        rows = [
            {
                "trace": str(real_study / "traces" / arm / f"{task['id']}.traj.json"),
                "task": task["id"],
                "config": arm,
                "reward": float(task["arms"][arm]["resolved"]),
            }
            for task in tasks
        ]
        write_rows(desk / f"{arm}.jsonl", rows)
    truth = [{"task": task["id"], "files": task["edit_files"]} for task in tasks]
    write_rows(desk / "truth.jsonl", truth)
    given = {name: f"{arm}.jsonl" for name, arm in arms.items()} | {"truth": "truth.jsonl"}
    found = outputs_of(execute(PUBLIC, desk / "out.ipynb", given, kernel=kernel))
    assert all(found)
    text = "\n".join(o["data"].get("text/html", "") for outputs in found for o in outputs)
    for stated in ("saturated", "0.66", "0.52", "0.049", "50 matched tasks"):
        assert stated in text


def a_notebook(path: Path, source: str) -> Path:
    cells = [nbformat.v4.new_code_cell("x: int = 1  # x"), nbformat.v4.new_code_cell(source)]
    cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


OURS = "from retrieval_eval.errors import BadInputError\nraise BadInputError('no such run')"


def test_notebooks_in_one_kernel_know_nothing_of_each_other(tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    plain = a_notebook(tmp_path / "plain.ipynb", "left = [x, 'left' in globals()]\nleft")
    fails = (
        (RenderError, r"(?s)ZeroDivisionError.*the culprit", "left = 1\n1 / 0  # the culprit"),
        (BadInputError, "^no such run$", OURS),
        (RenderError, "could not be executed", "import os\nos._exit(1)"),
    )
    out = tmp_path / "out.ipynb"
    with Kernel() as kernel:
        for error, message, source in fails:
            other = a_notebook(tmp_path / "other.ipynb", source)
            with pytest.raises(error, match=message):
                execute(other, out, {}, kernel=kernel)
            assert not out.exists()
        for x in (1, 2):
            done = nbformat.read(execute(plain, out, {"x": x}, kernel=kernel), as_version=4)
            shown = done.cells[-1]
            assert shown.outputs[0].data["text/plain"] == f"[{x}, False]"
            assert shown.execution_count == 3
        # All that a kill would leave, the kernel's connection too, is in folders that then go.
        assert {path.suffix for path in temporary.iterdir()} == {".private"}


def test_in_this_process_a_notebook_shows_what_it_shows_in_a_kernel(tmp_path):
    said = "import sys\nprint('said')\nprint('wrong', file=sys.stderr)\n"
    plain = a_notebook(tmp_path / "plain.ipynb", f"{said}sys.modules['os'] and [x, __name__]")
    fails = a_notebook(tmp_path / "fails.ipynb", "1 / 0  # the culprit")
    ours = a_notebook(tmp_path / "ours.ipynb", OURS)
    found = []
    for here in (False, True):
        done = execute(plain, tmp_path / f"{here}.ipynb", {"x": 4}, here=here)
        outputs = nbformat.read(done, as_version=4).cells[-1].outputs
        found.append(sorted((o.get("name", ""), o.get("text") or o.data) for o in outputs))
        with pytest.raises(RenderError, match=r"(?s)ZeroDivisionError.*the culprit"):
            execute(fails, tmp_path / "out.ipynb", {}, here=here)
        with pytest.raises(BadInputError, match=r"^no such run$"):
            execute(ours, tmp_path / "out.ipynb", {}, here=here)
    assert found[0] == found[1]
    assert len(found[0]) == 3


def test_a_kernel_that_is_still_busy_at_the_end_says_nothing(tmp_path, capfd):
    # The last request of a run asks what the kernel is; this one answers, and lingers.
    lingering = """import time
kernel = get_ipython().kernel
answered = kernel.shell_handlers["kernel_info_request"]
async def linger(*message):
    await answered(*message)
    time.sleep(1)
kernel.shell_handlers["kernel_info_request"] = linger
1"""
    source = a_notebook(tmp_path / "n.ipynb", lingering)
    execute(source, tmp_path / "out.ipynb", {})
    assert capfd.readouterr().err == ""


def test_a_notebook_without_outputs_is_no_report():
    with pytest.raises(RenderError, match="no output after executing"):
        check_outputs(next(path for path in REPORTS if path.stem == "run_report"))
