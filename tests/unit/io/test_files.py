from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.io import files
from tests.locking import lock


def test_a_document_is_read_with_or_without_byte_order_mark(tmp_path):
    path = tmp_path / "x.json"
    for data in (b'{"a": 1}', b'\xef\xbb\xbf{"a": 1}'):
        path.write_bytes(data)
        assert files.read_json(path, tmp_path) == files.Json({"a": 1})


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"a": }', "x.json: not valid JSON (line 1, column 7"),
        (b'{\n"a": 1,\n"b"', "x.json: not valid JSON (line 3, column 4"),
        (b"\xff\xfe", "x.json: line 1 is not UTF-8"),
        (b'{"a":1}\n\xff', "x.json: line 2 is not UTF-8"),
        (b"[" * 100_000, "x.json: not valid JSON (nested too deeply)"),
        (b"", "x.json: not valid JSON"),
    ],
)
def test_a_broken_document_is_named_by_file_and_line(tmp_path, data, problem):
    path = tmp_path / "x.json"
    path.write_bytes(data)
    found = files.read_json(path, tmp_path)
    assert found.value is None
    assert found.problem.startswith(problem)


def test_a_missing_file_and_a_folder_are_problems(tmp_path):
    assert "cannot be read" in files.read_json(tmp_path / "none.json", tmp_path).problem
    assert "cannot be read" in files.read_json(tmp_path, tmp_path).problem
    assert "cannot be read" in next(files.iter_jsonl(tmp_path / "none", tmp_path)).problem


def test_links_out_of_the_tree_are_not_followed(tmp_path):
    outside, inside = tmp_path / "secret.json", tmp_path / "tree"
    outside.write_text('{"secret": 1}')
    inside.mkdir()
    (inside / "link.json").symlink_to(outside)
    assert "not followed" in files.read_json(inside / "link.json", inside).problem
    assert "not followed" in next(files.iter_jsonl(inside / "link.json", inside)).problem
    (inside / "loop").symlink_to(inside / "loop")
    assert files.read_json(inside / "loop", inside).problem


def test_jsonl_lines_carry_their_own_problems(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n[1]\n{"half": \n\xff\n"last"')
    lines = list(files.iter_jsonl(path, tmp_path))
    assert [(line.number, line.value) for line in lines] == [
        (1, {"a": 1}),
        (3, [1]),
        (4, None),
        (5, None),
        (6, "last"),
    ]
    assert lines[2].problem.startswith("x.jsonl: line 4: not valid JSON")
    assert lines[3].problem == "x.jsonl: line 5 is not UTF-8"


def test_writing_is_whole_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "x.json"
    files.write_json(path, {"a": "ü"})
    assert json.loads(path.read_bytes()) == {"a": "ü"}

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(BadInputError, match=r"x\.json: cannot be written \(disk full\)"):
        files.write_json(path, {"b": 2})
    assert json.loads(path.read_bytes()) == {"a": "ü"}
    assert list(path.parent.iterdir()) == [path]


def test_what_is_there_can_be_opened_without_waiting(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "locked").mkdir()
    lock(monkeypatch, tmp_path / "locked")
    names = ("file", ".", "broken", "round", "pipe", "missing", "locked/x")
    is_there = {name: files.is_there(tmp_path / name) for name in names}
    assert is_there == dict.fromkeys(names, True) | {"pipe": False, "missing": False}
    assert not files.probe((tmp_path / "locked/x").is_file)
    assert files.entries(tmp_path / "locked") == []


def test_files_below_a_folder_are_found_in_order(tmp_path):
    for name in ("b/c/d.txt", "a.txt", "b/a.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "b/c/up").symlink_to("..")
    found = [path.relative_to(tmp_path).as_posix() for path in files.files_below(tmp_path)]
    assert found == ["a.txt", "b/a.txt", "b/c/d.txt"]
    assert files.files_below(tmp_path / "missing") == []


def test_no_artefact_holds_nan_and_lone_surrogates_are_replaced():
    with pytest.raises(ValueError, match="JSON compliant"):
        files.json_bytes({"a": float("nan")})
    assert "a\ufffdb" in files.json_bytes(["a\ud800b"]).decode()


def test_what_a_person_closed_stays_closed(tmp_path):
    path = tmp_path / "x.json"
    for mode in (0o644, 0o600, 0o640):
        if mode != 0o644:
            path.chmod(mode)
        files.write_json(path, {"mode": mode})
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert files.read_json(path, tmp_path).value == {"mode": 0o640}


def test_within_a_block_a_file_is_read_and_a_folder_listed_once(tmp_path):
    inside, outside = tmp_path / "trial", tmp_path / "other"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.json").write_text('{"n": 1}\n')
    with files.reading_once(inside):
        first = [files.read_json(f / "a.json", f).value for f in (inside, outside)]
        assert first == [{"n": 1}, {"n": 1}]
        assert files.entries(inside) == files.files_below(inside) == [inside / "a.json"]
        for folder in (inside, outside):
            (folder / "a.json").write_text('{"n": 2}\n')
            (folder / "b.json").write_text("{}")
        assert files.read_json(inside / "a.json", inside).value == {"n": 1}
        assert [line.value for line in files.iter_jsonl(inside / "a.json", inside)] == [{"n": 1}]
        assert files.entries(inside) == files.files_below(inside) == [inside / "a.json"]
        assert files.read_json(outside / "a.json", outside).value == {"n": 2}
        assert len(files.entries(outside)) == 2
    assert files.read_json(inside / "a.json", inside).value == {"n": 2}
    assert len(files.entries(inside)) == 2


def test_a_block_that_fails_keeps_nothing_and_a_missing_file_is_looked_for_again(tmp_path):
    with suppress(RuntimeError), files.reading_once(tmp_path):
        assert files.read_text(tmp_path / "a", tmp_path).problem is not None
        (tmp_path / "a").write_text("there")
        assert files.read_text(tmp_path / "a", tmp_path).value == "there"
        raise RuntimeError
    (tmp_path / "a").write_text("new")
    assert files.read_text(tmp_path / "a", tmp_path).value == "new"


def test_a_path_through_a_link_or_upwards_is_resolved(tmp_path):
    root, other = tmp_path / "root", tmp_path / "other"
    (root / "sub").mkdir(parents=True)
    other.mkdir()
    (root / "in").symlink_to(root / "sub")
    (root / "out").symlink_to(other)
    assert files.is_inside(root / "sub" / "a", root)
    assert files.is_inside(root / "in" / "a", root)
    assert files.is_inside(root, root)
    assert not files.is_inside(root / "out" / "a", root)
    assert not files.is_inside(root / ".." / "other", root)
    assert files.is_inside(root / "sub" / ".." / "a", root)


def test_many_files_are_synced_together_and_few_one_by_one(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(files.os, "fsync", lambda handle: synced.append("file"))
    monkeypatch.setattr(files.os, "sync", lambda: synced.append("system"), raising=False)
    names = [tmp_path / str(number) for number in range(65)]
    for path in names:
        files.write_bytes(path, b"x", is_synced=False)
    assert synced == []
    names[0].unlink()
    files.settle(names[:3])
    assert synced == ["file"] * (3 if files.os.name == "posix" else 2), "and their folder"
    files.settle(names)
    assert synced[3:] == ["system"]


MANY = {
    "empty objects": ("[" + "{}," * 10 + "0]", "9 objects and lists"),
    "empty lists, nested": ("[" * 11 + "]" * 11, "9 objects and lists"),
    "objects in an object": ('{"a": [' + "{}, " * 9 + "0]}", "9 objects and lists"),
    "numbers": ("[" + "1," * 101 + "1]", "99 values"),
    "texts": ('["a"' + ',""' * 101 + "]", "99 values"),
    "between texts": ("[" + '"\\\\",{},' * 11 + "0]", "9 objects and lists"),
    "not JSON at its end": ("[" + "{}," * 10, "9 objects and lists"),
}


@pytest.fixture
def small_bounds(monkeypatch):
    for name, value in (("MOST_GROUPS", 9), ("MOST_VALUES", 99), ("_SMALL", 1)):
        monkeypatch.setattr(files, name, value)


@pytest.mark.parametrize("block", [3, 1 << 20])
@pytest.mark.parametrize(("text", "message"), MANY.values(), ids=MANY)
def test_a_document_of_too_many_values_is_refused_before_it_is_made(
    small_bounds, monkeypatch, text, message, block
):
    monkeypatch.setattr(files, "_BLOCK", block)
    monkeypatch.setattr(files, "_DECODER", None)
    for given in (text, text.encode()):
        assert files.decode(given) == (None, f"holds more than {message}, which no trace does")


@pytest.mark.parametrize("block", [3, 1 << 20])
@pytest.mark.parametrize(
    "value",
    [
        [{}] * 8,
        {"a": "{}[],[[[[[[[[[[[[" * 20},
        {"[[[[[[[[[[[[": "\\"},
        ['"{[' * 40, "\\" * 41, '\\"{{{{{{{{{{{'],
        ["{" * 20, '"', "{" * 20, "é" * 30 + "["],
    ],
)
def test_what_texts_hold_is_no_value(small_bounds, monkeypatch, value, block):
    monkeypatch.setattr(files, "_BLOCK", block)
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert files.decode(text) == (value, None)
        assert files.decode(text.encode()) == (value, None)
