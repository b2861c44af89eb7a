"""The recorded demo is what the simulators make, and it can be written anywhere, twice."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import PurePosixPath

import pytest

from retrieval_eval.demo import write_demo, write_search_demo
from tests.simulators.record_demo import FOLDER, compressed, packed, record, recordings

ARCHIVES = ("run.tar.gz", "search.tar.gz")


@pytest.fixture(scope="module")
def simulated():
    return recordings()


def contents(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def comparable(name, data):
    """Return the content of a file; of a database its rows, which no version of SQLite changes."""
    if not name.endswith(".sqlite"):
        return data
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(data)
        return list(database.iterdump())


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_committed_data_are_what_the_simulators_make(simulated, name):
    with tarfile.open(FOLDER / name) as archive:
        recorded = [(entry.name, archive.extractfile(entry).read()) for entry in archive]
    assert [name for name, _ in recorded] == [name for name, _ in simulated[name]]
    changed = [
        path
        for (path, data), (_, wanted) in zip(recorded, simulated[name], strict=True)
        if comparable(path, data) != comparable(path, wanted)
    ]
    assert changed == [], "the simulators changed: run `make demo-data`"


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_holds_plain_files_below_its_root_and_nothing_of_a_machine(name):
    data = (FOLDER / name).read_bytes()
    assert data[:10] == b"\x1f\x8b\x08\x00" + b"\0" * 4 + b"\x02\xff"  # no name and no time
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        entries = archive.getmembers()
    for entry in entries:
        assert entry.isreg()
        path = PurePosixPath(entry.name)
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert (entry.mtime, entry.uid, entry.gid, entry.mode) == (0, 0, 0, 0o644)
        assert (entry.uname, entry.gname) == ("", "")
    assert len({entry.name for entry in entries}) == len(entries)


def test_recording_again_gives_the_same_bytes_and_leaves_right_archives_alone(
    simulated, tmp_path, capsys
):
    record(tmp_path)
    for name in ARCHIVES:
        data = packed(simulated[name])
        assert gzip.decompress((tmp_path / name).read_bytes()) == data
        assert (tmp_path / name).read_bytes() == compressed(data)
    (tmp_path / ARCHIVES[0]).write_bytes(gzip.compress(packed(simulated[ARCHIVES[0]]), 1))
    (tmp_path / ARCHIVES[1]).write_bytes(gzip.compress(b"something else"))
    before = contents(tmp_path)
    capsys.readouterr()
    record(tmp_path)
    assert capsys.readouterr().out.splitlines() == [
        "run.tar.gz: unchanged",
        f"search.tar.gz: written, {len(simulated[ARCHIVES[1]])} files",
    ]
    assert (tmp_path / ARCHIVES[0]).read_bytes() == before[ARCHIVES[0]]


WRITERS = [("run.tar.gz", write_demo), ("search.tar.gz", write_search_demo)]


@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_what_is_written_is_what_was_recorded_and_writing_again_restores_it(
    simulated, tmp_path, name, write
):
    write(tmp_path)
    first = contents(tmp_path)
    assert first.keys() == dict(simulated[name]).keys()
    damaged = next(tmp_path.rglob("*.json*"))
    damaged.write_text("{}")
    write(tmp_path)
    assert contents(tmp_path) == first


def test_every_part_of_the_search_demo_is_there(tmp_path):
    demo = write_search_demo(tmp_path)
    assert demo.sources.is_dir()
    for path in (demo.corpus, demo.gold, demo.feedback, demo.drafts):
        assert path.is_file(), path


def test_every_trial_and_every_judgement_is_marked_as_simulated(demo_tree, tmp_path):
    trials = [
        json.loads(path.read_text("utf-8"))
        for path in (demo_tree / "runs").rglob("result.json")
        if "__" in path.parent.name and not path.parent.name.startswith("2026-")
    ]
    assert len(trials) == 50
    assert all(trial["simulated"] is True for trial in trials)
    lines = write_search_demo(tmp_path).gold.read_text("utf-8").splitlines()
    assert all(json.loads(line)["simulated"] is True for line in lines)
