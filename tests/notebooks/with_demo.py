"""Copies of the notebooks that are given the demo, which no report shows by default."""

from __future__ import annotations

import sys
from pathlib import Path

from papermill import execute_notebook

from retrieval_eval.report.parameters import of_notebook


def first_parameter(notebook: Path) -> str:
    """Return the parameter that names the run."""
    return next(iter(of_notebook(notebook)))


def copy_with_demo(source: Path, target: Path) -> None:
    """Write every notebook below ``source`` to ``target``, its run being the demo."""
    for notebook in sorted(source.rglob("*.ipynb")):
        copy = target / notebook.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        is_lesson = notebook.parent.name == "explore"  # those run as they are
        given = {} if is_lesson else {first_parameter(notebook): "demo"}
        execute_notebook(notebook, copy, given, prepare_only=True, log_output=False)


if __name__ == "__main__":
    copy_with_demo(Path(sys.argv[1]), Path(sys.argv[2]))
