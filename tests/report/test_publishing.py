from __future__ import annotations

import csv

import pandas as pd

from retrieval_eval.report.publishing import write_frame


def test_no_text_of_a_cell_starts_a_row(tmp_path):
    names = ["a\rb", "c\nd", 'e","f', "g\r\nh"]
    frame = pd.DataFrame({"name": names, "n": range(4)})
    assert write_frame("names", "one row a name", frame, tmp_path) == (
        "names.csv",
        "one row a name",
    )
    with (tmp_path / "names.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    assert rows == [["name", "n"], *([name, str(n)] for n, name in enumerate(names))]
