"""The report of a run, beside other ways to execute the same cells.

- *ours* is the command: it executes the notebook, checks the page, and writes page and tables;
- *kernel and script* starts a kernel that does nothing, and runs the same cells in plain IPython:
  imports, reading, statistics and drawing, without a notebook or a page;
- *nbconvert* executes the same notebook and converts it to HTML.

The run has been evaluated before. Each is a process of its own, and time is that of all processes.

    python benchmarks/ratios.py --only reports
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rounds import OURS, Row, alternating, compared, processor_of

from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.demo import write_demo
from retrieval_eval.report.notebook_files import notebook

START = """
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3")
client.stop_channels()
manager.shutdown_kernel()
"""
SCRIPT = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
# As in a kernel, every form of an output is made: text, HTML and pictures.
shell.display_formatter.active_types = shell.display_formatter.format_types
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        with capture_output():
            done = shell.run_cell("".join(cell["source"]))
        done.raise_error()
"""


def with_parameters(read: dict[str, Any], values: dict[str, str]) -> dict[str, Any]:
    """Return a notebook whose cell of parameters also sets some of them."""
    for cell in read["cells"]:
        if "parameters" in cell["metadata"].get("tags", ()):
            assigned = [f"\n{name} = {value!r}" for name, value in values.items()]
            cell["source"] = ["".join([*cell["source"], *assigned])]
    return read


def rows(*, is_quick: bool) -> Iterator[Row]:
    """Yield the comparisons."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_demo(folder)
        roots = {part: str(folder / part.replace("_root", "")) for part in ROOTS}
        output = str(folder / "output")
        evaluate(["demo"], **roots, output_dir=output)
        source = folder / "equal.ipynb"
        values = {"run_id": "demo", **roots, "output_dir": output}
        read = json.loads(notebook("run_report").read_text(encoding="utf-8"))
        source.write_text(json.dumps(with_parameters(read, values)), encoding="utf-8")
        python = [sys.executable, "-c"]
        report = [sys.executable, "-m", "retrieval_eval", "report", f"{roots['runs_root']}/demo"]
        report += ["--reports-dir", str(folder / "pages"), "--output-dir", output]
        report += ["--renderer", "embedded"]
        report += ["--benchmarks-root", roots["benchmarks_root"]]
        nbconvert = [sys.executable, "-m", "nbconvert", "--execute", "--to", "html"]

        def ours() -> float:
            shutil.rmtree(folder / "pages", ignore_errors=True)
            return processor_of(report, folder)

        tasks = {
            OURS: ours,
            "kernel and script": lambda: (
                processor_of([*python, START], folder)
                + processor_of([*python, SCRIPT, str(source)], folder)
            ),
            "nbconvert": lambda: processor_of([*nbconvert, str(source)], folder),
        }
        if is_quick:
            del tasks["nbconvert"]
        times = alternating(tasks, 1 if is_quick else 3, lambda task: task())
    n = f"{sum(cell['cell_type'] == 'code' for cell in read['cells'])} cells of code"
    yield from compared(times, section="reports", what="report of the demo", n=n)


ROOTS = ("runs_root", "benchmarks_root")
