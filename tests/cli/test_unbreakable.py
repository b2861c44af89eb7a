"""A disk that is full, a folder that cannot be written, two processes, a clock that is wrong.

Steps of a command that change the disk fail, one in turn: what is left is whole, the user gets one
sentence, and the next run gives what an undisturbed one gives. `benchmarks/unbreakable.py` kills
these commands.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import shutil
import sys
import threading
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from retrieval_eval.cli import gold_labelling, run
from retrieval_eval.demo import write_search_demo
from retrieval_eval.io import files
from retrieval_eval.io.artefacts import is_whole
from retrieval_eval.io.locks import alone
from retrieval_eval.search.measure import JOURNAL
from tests.runs import write_task, write_trial
from tests.sharing import shared

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs locks that end with a process")

FAULTS = {"full": errno.ENOSPC, "read-only": errno.EROFS}
LIMIT = {"full": 4, "read-only": 2}
"""Steps of a command that fail in turn, spread evenly; what is read-only stays so afterwards."""

_MOMENT = re.compile(rb"\d{4}-?\d\d-?\d\dT\d\d:?\d\d:?\d\dZ?")
_SECONDS = re.compile(rb'"(?:seconds|body_sha256)": ?[^,}\n]+|[0-9.]+ m?s\b')


class Disk:
    """Counts the steps that change a disk below a folder, and lets some of them fail."""

    def __init__(self) -> None:
        self.folder = ""
        self.steps = 0
        self.failing = range(0)
        self.error = 0

    def step(self, name: str) -> None:
        if self.folder and name.startswith(self.folder):
            self.steps += 1
            if self.steps in self.failing:
                raise OSError(self.error, os.strerror(self.error), name)

    def heard(self, event: str, arguments: tuple[object, ...]) -> None:
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
        if not self.folder:
            return
        if event in ("os.mkdir", "os.rename", "os.chmod"):
            self.step(os.fsdecode(arguments[0]))
        elif event == "open" and isinstance(arguments[0], str) and int(arguments[2]) & writes:
            self.step(arguments[0])

    @contextmanager
    def watched(self, folder, failing=range(0), error=0):
        self.folder, self.steps, self.failing, self.error = str(folder), 0, failing, error
        try:
            yield
        finally:
            self.folder = ""


DISK = Disk()
sys.addaudithook(DISK.heard)  # which cannot be removed, and does nothing outside a block


@pytest.fixture
def synchronised(monkeypatch):
    """A file whose content does not fit fails when it is synchronised at the latest."""
    fsync = os.fsync

    def checked(handle):
        DISK.step(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    monkeypatch.setattr(files.os, "fsync", checked)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return shared(tmp_path_factory, "unbreakable", prepare)


def prepare(folder):
    write_task(folder / "benchmarks", "task-one", ["src/a.py"])
    for number in range(2):
        write_trial(folder / "runs/r", "base", "task-one", ["src/a.py"], suffix=f"{number:07d}")
    demo = write_search_demo(folder / "search")
    rows = demo.gold.read_text().splitlines(keepends=True)
    demo.gold.write_text("".join(rows[:4]))
    shutil.rmtree(demo.sources)
    with working_in(folder):
        for label in ("first", "second"):
            measured = [*SEARCH, "--out", label, "--label", label, "--ask-twice", "0"]
            assert run(["search", "run", *BM25, *measured]) == 0
            (made,) = (folder / label).glob("*.json")
            (folder / "runs" / f"{label}.json").write_bytes(made.read_bytes())
            shutil.rmtree(folder / label)
        assert run([*POOL, "filled"]) == 0
        for sheet in (folder / "filled").glob("*.csv"):
            with sheet.open(encoding="utf-8-sig", newline="") as stream:
                head, *lines = csv.reader(stream)
            with sheet.open("w", encoding="utf-8-sig", newline="") as stream:
                csv.writer(stream).writerows([head, *([*line[:3], "1", ""] for line in lines)])


@contextmanager
def working_in(folder):
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


GOLD = "search/gold-set.jsonl"
BM25 = ["--retriever", "bm25:search/corpus.jsonl"]
SEARCH = ["--gold", GOLD, "--corpus-file", "search/corpus.jsonl"]
POOL = [
    "gold",
    "pool",
    *SEARCH,
    "--run",
    "runs/first.json",
    "--labellers",
    "ada,ben",
    "--depth",
    "3",
    "--out",
]
READ = ["gold", "settle", "--key", "filled/key.json", "--gold", GOLD]
FIRST, SECOND = "runs/first.json", "runs/second.json"
COMMANDS = {
    "evaluate": ["evaluate", "runs/r", "--output-dir", "out", "--jobs", "1"],
    "search run": ["search", "run", *BM25, *SEARCH, "--out", "out", "--ask-twice", "0"],
    "baseline": ["search", "baseline", "--update", SECOND, "--baseline", "out/b.json"],
    "guard": [
        *("search", "guard", SECOND, "--baseline", FIRST),
        *("--comment", "out/comment.md"),
    ],
    "bootstrap": ["gold", "bootstrap", "--gold", GOLD, "--database",
                  "sqlite:///search/feedback.sqlite"],
    "pool": [*POOL, "out"],
    "labels": [*READ, "filled/sheet-ada.csv"],
}  # fmt: skip


def timeless(folder):
    """Return the files of a folder by name, with times left out of names and contents."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = _MOMENT.sub(b"-", os.fsencode(path.relative_to(folder))).decode()
            found[name] = _SECONDS.sub(b"-", _MOMENT.sub(b"-", path.read_bytes()))
    return found


def fresh(inputs, tmp_path):
    work = tmp_path / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(inputs, work)
    return work


@pytest.mark.usefixtures("synchronised")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_each_step_may_fail_and_the_next_run_is_as_if_it_had_not(
    name, fault, inputs, tmp_path, capsys
):
    words = COMMANDS[name]
    work = fresh(inputs, tmp_path)
    before = timeless(work)
    with working_in(work), DISK.watched(work):
        code = run(words)
    wanted, n_steps = timeless(work), DISK.steps
    assert n_steps >= 3
    for step in range(1, n_steps + 1, -(-n_steps // LIMIT[fault])):
        work = fresh(inputs, tmp_path)
        capsys.readouterr()
        # A full disk may be freed by others a moment later; a read-only one stays so.
        last = step if fault == "full" else 10**9
        with working_in(work), DISK.watched(work, range(step, last + 1), FAULTS[fault]):
            assert run(words) in (3, code)
        said = capsys.readouterr().err
        assert said == "" or re.fullmatch(r"retrieval-eval: [^\n]+\n", said), (step, said)
        left = timeless(work)
        for file, data in left.items():
            if data != before.get(file) and data != wanted.get(file):
                assert file.endswith(("journal.jsonl", ".json")), (step, file)
                assert file.endswith("journal.jsonl") or is_whole(json.loads(data)) is not False
        assert before.keys() - left.keys() == set()
        with working_in(work):
            assert run(words) == code
        assert timeless(work) == wanted, step


def in_turn(monkeypatch, module, name, other):
    """Let a second process begin just when a command has read what it is about to change."""
    real, begun = getattr(module, name), []

    def called(*arguments, **more):
        found = real(*arguments, **more)
        if not begun:
            begun.append(threading.Thread(target=other))
            begun[0].start()
            time.sleep(0.2)
        return found

    monkeypatch.setattr(module, name, called)
    return begun


def test_two_who_add_labels_at_once_both_keep_them(inputs, tmp_path, monkeypatch):
    work = fresh(inputs, tmp_path)
    codes = []
    begun = in_turn(
        monkeypatch,
        gold_labelling,
        "load_gold_set",
        lambda: codes.append(run([*READ, "filled/sheet-ben.csv"])),
    )
    with working_in(work):
        codes.append(run([*READ, "filled/sheet-ada.csv"]))
        begun[0].join()
    assert codes == [0, 0]
    rows = [json.loads(line) for line in (work / GOLD).read_text().splitlines()]
    assert {label["labeller"] for row in rows for label in row.get("labels", ())} >= {"ada", "ben"}


def test_a_second_search_into_a_folder_is_refused(inputs, tmp_path, capsys):
    words = COMMANDS["search run"]
    with working_in(fresh(inputs, tmp_path)):
        with alone(Path("out", JOURNAL), "measures"):
            assert run(words) == 3
        said = "another process measures into this folder now; start again when it has ended\n"
        assert capsys.readouterr().err.endswith(said)
        assert not list(Path("out").glob("*.json*"))
        assert run(words) == 0


def clock(monkeypatch, *moments):
    """Let the clock show one moment after another, each time it is looked at, then the last."""
    left = [datetime.fromisoformat(moment) for moment in moments]

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            moment = left.pop(0) if len(left) > 1 else left[0]
            return moment.astimezone(tz)

    for name, module in list(sys.modules.items()):
        if name.startswith("retrieval_eval") and getattr(module, "datetime", None) is datetime:
            monkeypatch.setattr(module, "datetime", Clock)


def test_a_wrong_clock_changes_times_and_nothing_else(inputs, tmp_path, monkeypatch):
    found = []
    for moment in ("2026-03-29T02:30:00+02:00", "1970-01-01T00:00:00Z", "2199-12-31T23:59:59Z"):
        work = fresh(inputs, tmp_path)
        with working_in(work), monkeypatch.context() as patched:
            clock(patched, moment)
            for words in COMMANDS.values():
                assert run(words) in (0, 1)
        found.append(timeless(work))
    assert found[0] == found[1] == found[2]


def test_a_clock_that_is_set_back_overwrites_no_run(inputs, tmp_path, monkeypatch):
    """At the end of summer time a local clock shows an hour twice; names are in UTC."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    with working_in(fresh(inputs, tmp_path)), monkeypatch.context() as patched:
        for moment in ("02:30:00+02:00", "02:30:00+01:00", "02:30:00+02:00"):
            clock(patched, f"2026-10-25T{moment}")
            assert run(COMMANDS["search run"]) == 0
            patched.undo()
        names = sorted(path.name for path in Path("out").iterdir())
    monkeypatch.undo()
    time.tzset()
    stems = ["20261025T003000Z", "20261025T003000Z-2", "20261025T013000Z"]
    assert names == sorted(
        f"eval-report-{stem}.{kind}" for stem in stems for kind in ("json", "md")
    )


def test_an_evaluation_begun_before_the_clock_was_set_back_is_still_kept(
    inputs, tmp_path, monkeypatch
):
    work = fresh(inputs, tmp_path)
    with working_in(work), monkeypatch.context() as patched:
        clock(patched, "2026-10-25T02:30:00+00:00", "1999-01-01T00:00:00+00:00")
        assert run(COMMANDS["evaluate"]) == 0
        before = {path: path.read_bytes() for path in work.rglob("*.json")}
        assert run(COMMANDS["evaluate"]) == 0
        assert {path: path.read_bytes() for path in work.rglob("*.json")} == before


def test_what_has_not_to_be_written_needs_no_right_to_write(inputs, tmp_path):
    with working_in(fresh(inputs, tmp_path)):
        for name in ("bootstrap", "evaluate"):
            assert run(COMMANDS[name]) == 0
            with DISK.watched(Path.cwd(), range(1, 10**9), errno.EROFS):
                assert run(COMMANDS[name]) == 0
