"""What a killed process leaves is deleted by the next one; what a living process holds is not."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import threading

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.io import files, locks
from retrieval_eval.io.locks import alone, new_temporary, private_folder, remove_leftovers

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs locks that end with a process")

HOLD = """
import sys
from pathlib import Path
from retrieval_eval.io.locks import alone, new_temporary, private_folder
place = Path(sys.argv[1])
new_temporary(place)
with alone(place / "gold.jsonl", "writes it"), private_folder() as private:
    (private / "file").touch()
    print(private, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path, monkeypatch):
    """A process that holds a temporary file, a lock and a private folder until it is killed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def ours(folder):
    return sorted(path.suffix for path in folder.iterdir() if path.name.startswith("."))


def test_leftovers_go_with_their_writer_and_not_before(tmp_path, holder):
    (tmp_path / ".notes.tmp").touch()
    (tmp_path / "temporary/retrieval-eval-notes").mkdir()
    remove_leftovers(tmp_path)
    assert ours(tmp_path) == [".lock", ".tmp", ".tmp"]
    with pytest.raises(BadInputError, match="another process writes it now"):
        alone(tmp_path / "gold.jsonl", "writes it").__enter__()
    with private_folder():
        assert len(list((tmp_path / "temporary").iterdir())) == 3
    holder.kill()
    holder.wait()
    with alone(tmp_path / "gold.jsonl", "writes it"), private_folder():
        assert len(list((tmp_path / "temporary").iterdir())) == 2
    files.write_bytes(tmp_path / "other.json", b"{}")
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == [".notes.tmp"]


def test_a_new_file_taken_for_a_leftover_is_made_again(tmp_path, monkeypatch):
    take, taken = locks._take, []

    def late(handle, **how):
        if not taken:
            taken.append(1)
            remove_leftovers(tmp_path)
        return take(handle, **how)

    monkeypatch.setattr(locks, "_take", late)
    handle, path = new_temporary(tmp_path)
    assert path.exists()
    os.close(handle)


def test_the_next_one_begins_when_the_last_one_has_ended(tmp_path):
    counted = tmp_path / "n"
    counted.write_text("0")

    def count():
        for _ in range(25):
            with alone(counted, "counts", patience=30):
                counted.write_text(str(int(counted.read_text()) + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted.read_text() == "100"
    assert [path.name for path in tmp_path.iterdir()] == ["n"]


def test_without_locks_all_works_and_nothing_is_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_take", lambda handle, **how: None)
    handle, path = new_temporary(tmp_path)
    os.close(handle)
    remove_leftovers(tmp_path)
    assert path.exists()
    with alone(tmp_path / "a", "writes it"), alone(tmp_path / "a", "writes it"), private_folder():
        files.write_bytes(tmp_path / "a", b"1")
    assert (tmp_path / "a").read_bytes() == b"1"


def test_only_a_place_that_may_not_be_written_to_goes_without_a_lock(tmp_path, monkeypatch):
    def refuse(code):
        def opened(*_):
            raise OSError(code, os.strerror(code))

        return opened

    for code in (errno.EROFS, errno.EACCES, errno.EPERM):
        monkeypatch.setattr(locks.os, "open", refuse(code))
        with alone(tmp_path / "a", "writes it"):
            pass
    for code in (errno.ELOOP, errno.EMFILE, errno.ENOSPC, errno.ENOENT, errno.EDQUOT):
        monkeypatch.setattr(locks.os, "open", refuse(code))
        with pytest.raises(BadInputError, match=r"a: cannot be written by one process alone \("):
            alone(tmp_path / "a", "writes it").__enter__()
    monkeypatch.undo()
    monkeypatch.setattr(locks.fcntl, "flock", refuse(errno.EIO))
    with pytest.raises(BadInputError, match="cannot be written by one process alone"):
        alone(tmp_path / "a", "writes it").__enter__()


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path):
    with alone(tmp_path / "a", "writes it"):
        (lock,) = tmp_path.iterdir()
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInputError, match="cannot be written by one process alone"):
        alone(tmp_path / "a", "writes it").__enter__()
    assert not (tmp_path / "elsewhere").exists()
