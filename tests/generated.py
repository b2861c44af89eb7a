"""The files of this project that are made from declarations in the package: ``make schemas``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from retrieval_eval.model import PUBLISHED, json_schema
from retrieval_eval.report.columns import (
    DIFF_FRAMES,
    FRAMES,
    HISTORY_FRAMES,
    SEARCH_FRAMES,
    STUDY_FRAMES,
    TRIAL_FRAMES,
)

PROJECT = Path(__file__).resolve().parents[1]

COLUMNS_HEAD = """# Columns of the data frames

Generated from `retrieval_eval/report/columns.py` by `make schemas`. A missing number is a missing
value, never 0. `{k}` means each cut-off of the run, `{measure}` each measure of a search run. `run`
comes from `load_run`, `study` from `compare`, `trial` from `run.trial(…)`, `search` from
`load_search`, `diff` from `load_diff`, `history` from `load_history`. The frames of `run` are
copies and cannot be assigned; `run.filter(…)` returns a run of the trials that pass a condition,
with everything computed anew from these.

A CSV made from simulated data begins with one more column, `simulated_data`, which holds `true` in
every row; other CSVs and the frames do not have it.
"""


def generated() -> dict[Path, str]:
    """Return every generated file with its text."""
    schemas = {
        PROJECT / "schemas" / document.schema_file: json.dumps(
            json_schema(kind), indent=2, ensure_ascii=False
        )
        + "\n"
        for kind, document in PUBLISHED.items()
    }
    return {**schemas, PROJECT / "docs" / "columns.md": "\n".join(_columns_page())}


def _columns_page() -> Iterator[str]:
    yield COLUMNS_HEAD
    owners = {
        "run": FRAMES,
        "study": STUDY_FRAMES,
        "trial": TRIAL_FRAMES,
        "search": SEARCH_FRAMES,
        "diff": DIFF_FRAMES,
        "history": HISTORY_FRAMES,
    }
    for owner, frames in owners.items():
        for name, (row, columns) in frames.items():
            yield f"## `{owner}.{name}`\n\n{row[0].upper()}{row[1:]}.\n"
            yield "| column | type | unit | meaning | source |\n|---|---|---|---|---|"
            for c in columns:
                yield f"| `{c.name}` | {c.type} | {c.unit or ' '} | {c.meaning} | `{c.source}` |"
            yield ""


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(PROJECT))
