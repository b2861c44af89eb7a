from __future__ import annotations

import gzip
import json
import sys
from contextlib import suppress
from importlib import import_module

import pytest

from retrieval_eval.agents.traces import NoTraceError, read_trace
from retrieval_eval.agents.traces.formats import FORMATS
from retrieval_eval.io import packed
from retrieval_eval.io.packed import PackedError, unpacked

LINES = "\n".join(map(json.dumps, FORMATS["codex-rollout"].example)).encode()


def zstd(data):
    """A frame in zstd's format, through whichever module this Python has."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "zstandard"
    return import_module(name).compress(data)


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_a_packed_session_is_the_session(tmp_path, pack):
    folder = tmp_path / "agent/sessions/2026/01/02"
    folder.mkdir(parents=True)
    (folder / "rollout-1.jsonl").write_bytes(LINES)
    plain = read_trace(folder / "rollout-1.jsonl")
    (folder / "rollout-1.jsonl").unlink()
    path = folder / f"rollout-1.jsonl.{'gz' if pack is gzip.compress else 'zst'}"
    path.write_bytes(pack(LINES))
    assert [c.result for c in read_trace(path).calls] == [c.result for c in plain.calls] != []
    assert len(read_trace(tmp_path).calls) == len(plain.calls)
    path.write_bytes(pack(json.dumps(FORMATS["opencode-export"].example, indent=1).encode()))
    assert read_trace(path).format == "opencode-export"
    path.write_bytes(pack(b"\x00\x01"))
    with pytest.raises(NoTraceError, match="found binary data that is packed"):
        read_trace(path)


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_a_packed_file_is_bounded_and_may_be_damaged(tmp_path, monkeypatch, pack):
    path = tmp_path / "a.jsonl.gz"
    whole = pack(LINES)
    for place in range(0, len(whole), 3):
        for data in (whole[:place], whole[:place] + b"\xff\xff" + whole[place + 2 :]):
            path.write_bytes(data)
            with suppress(NoTraceError):
                read_trace(path)
    path.write_bytes(pack(b"\n" * 5_000_000))
    monkeypatch.setattr(packed, "LARGEST", 4 << 20)
    with pytest.raises(NoTraceError, match="larger than 4 MiB"):
        read_trace(path)


def test_a_link_out_of_the_tree_is_not_followed(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"{}"))
    (tmp_path / "a/b.gz").symlink_to(tmp_path / "b.gz")
    with pytest.raises(PackedError, match="not followed"):
        unpacked(tmp_path / "a/b.gz", tmp_path / "a")
