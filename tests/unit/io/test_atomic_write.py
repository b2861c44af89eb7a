from __future__ import annotations

import stat
from pathlib import Path

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import write_atomically, write_bytes


def test_all_files_are_written_and_nothing_else(tmp_path):
    (tmp_path / "b").write_bytes(b"old")
    (tmp_path / "b").chmod(0o600)
    write_atomically({tmp_path / "x" / "a": b"1", tmp_path / "b": b"2"})
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert found == {"x", "x/a", "b"}
    assert (tmp_path / "b").read_bytes() == b"2"
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600


def test_none_is_written_when_one_cannot_be(tmp_path):
    (tmp_path / "b").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    for bad in (tmp_path / "folder", tmp_path / "b" / "below"):
        with pytest.raises(BadInputError, match="cannot be written"):
            write_atomically({tmp_path / "b": b"new", bad: b"2"})
        assert (tmp_path / "b").read_bytes() == b"old"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "folder"]


def test_a_device_is_written_to_and_stays_one(monkeypatch, tmp_path):
    device, file = tmp_path / "null", tmp_path / "a"
    device.symlink_to("/dev/null")
    monkeypatch.setattr("retrieval_eval.io.files._DEVICES", (str(tmp_path), "/dev"))
    write_atomically({device: b"1"})
    write_bytes(device, b"1")
    assert device.is_char_device()
    assert not file.exists()
    with pytest.raises(BadInputError, match="/dev/full: cannot be written"):
        write_bytes(Path("/dev/full"), b"1")
