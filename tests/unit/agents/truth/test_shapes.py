"""Every shape in which benchmark files were seen to list files."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.truth.shapes import (
    Entry,
    file_entries,
    symbols,
)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (["a.py", {"file": "b.py", "repo": "r"}], [("a.py", None), ("b.py", "r")]),
        ({"files": ["a.py"], "buggy_files": ["b.py"]}, [("a.py", None)]),
        ({"files": [], "buggy_files": ["b.py"]}, [("b.py", None)]),
        ({"files": [{"path": "a.py", "repository": "o/r"}]}, [("a.py", "o/r")]),
        # By repository, or by what the files are for.
        ({"files": {"kafka": ["a.py"], "spark": ["b.py"]}}, [("a.py", "kafka"), ("b.py", "spark")]),
        ({"files": {"primary": ["a.py"], "Secondary": ["b.py"]}}, [("a.py", None), ("b.py", None)]),
        (
            {
                "required_files": [{"path": "a.py", "repo": "r", "confidence": 0.9}],
                "sufficient_files": [{"path": "no.py", "repo": "r"}],
            },
            [("a.py", "r")],
        ),
        ({"entries": [{"file": "a.py", "key": 1}, "prose"]}, [("a.py", None)]),
        ({"steps": [{"repo": "r", "file": "a.py"}, "Open the door"]}, [("a.py", "r")]),
        (
            {"file_references": [{"patterns": [r"core/masked\.py", "masked", r"x/.*\.py"]}]},
            [("core/masked.py", None)],
        ),
        (
            {
                "file_references": [
                    {"patterns": [r"pkg/load/base\.go|pkg/load/loader\.go|load/"]},
                    {"patterns": [r"pkg/conf/config\.go|HeaderWriter|conf/config\.go"]},
                    {"patterns": [r"pkg/(a|b)/c\.go|pkg/.*\.go"]},
                ]
            },
            [
                ("pkg/load/base.go", None),
                ("pkg/load/loader.go", None),
                ("pkg/conf/config.go", None),
            ],
        ),
        ({"chain": [{"repo": "r", "path": "a.py", "symbol": "f"}, "prose"]}, [("a.py", "r")]),
        ({"fix_files": ["a.go"], "root_cause": {"file": "b.go"}}, [("a.go", None)]),
        ({"root_cause": {"file": "b.go", "function": "f"}}, [("b.go", None)]),
        (
            {
                "producer_repo": "acme/maker",
                "producer_changed_files": ["a.proto"],
                "consumer_affected_files": {"user": ["b.go"]},
            },
            [("a.proto", "acme/maker"), ("b.go", "user")],
        ),
        (
            {"dependency_chain": [{"from": "x", "to": "y", "manifest": "package.json"}]},
            [("package.json", "y")],
        ),
        ({"canonical_path": "a.cpp", "function_id": "a.cpp::f"}, [("a.cpp", None)]),
        ({"file_path": "a.pyx"}, [("a.pyx", None)]),
        ({"symbols": [{"file": "a.py", "symbol": "f", "repo": None}]}, [("a.py", None)]),
        ({"chunks": [{"file": "a.py", "line_start": 1, "line_end": 2}]}, [("a.py", None)]),
        ({"files": {"r": ["a.py"]}}, [("a.py", "r")]),
        ({"files": [{"name": "no path", "tags": ["x.y"]}]}, []),
        ({"root_cause": "a sentence", "steps": ["prose"]}, []),
        ({"files": {"a": 1}, "entries": 3, "steps": None, "symbols": [[], 1, None]}, []),
        (None, []),
        (7, []),
    ],
)
def test_files_of_every_shape(document, expected):
    assert file_entries(document) == tuple(Entry(*pair) for pair in expected)


def test_shorter_spellings_of_one_reference_are_one_file():
    patterns = [r"lib/core/a\.py", r"core/a\.py", r"core/b\.py"]
    found = file_entries({"file_references": [{"patterns": patterns}]})
    assert [entry.path for entry in found] == ["lib/core/a.py", "core/b.py"]


def test_symbols_without_a_name_or_a_file_are_none():
    listed = [{"file": "a.py", "symbol": ""}, {"symbol": "f"}, {"path": "a.py", "name": "g"}, 3]
    assert [(s.entry.path, s.symbol) for s in symbols(listed)] == [("a.py", "g")]
