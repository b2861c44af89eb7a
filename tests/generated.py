"""The files of this project that are made from declarations in the package: ``make schemas``."""

from __future__ import annotations

import json
from pathlib import Path

from retrieval_eval.model import DOCUMENTS, INPUTS, json_schema

PROJECT = Path(__file__).resolve().parents[1]


def generated() -> dict[Path, str]:
    """Return every generated file with its text."""
    return {
        PROJECT / "schemas" / document.schema_file: json.dumps(
            json_schema(kind), indent=2, ensure_ascii=False
        )
        + "\n"
        for kind, document in {**DOCUMENTS, **INPUTS}.items()
    }


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(PROJECT))
