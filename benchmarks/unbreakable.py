"""Kill each command that writes with SIGKILL, many times, and check what is left and what follows.

    python benchmarks/unbreakable.py [--kills 50] [--steps 50] [--disks | --trees]
        [--only "search run"] [--out table.md]

Every kill begins with a fresh copy of a folder in which the command has already run with other
settings, or not at all, in turn. There are two kinds of moments:

- drawn uniformly over the time that the command takes;
- just before a step that changes the disk: each file opened for writing, each synchronisation, each
  renaming, removal, change of mode and new folder. Before a synchronisation the file is also cut to
  half. If there are more steps than kills, some are drawn.

After a kill every file must be whole: one of before, or one that its format and its digest prove to
be complete. Nothing but the command's own output may have changed, and its processes must be gone.
Then the command runs again: it must end as if nothing had happened, with the files of an
undisturbed run but for times, and without temporary files of any kind.

Of an evaluation with two processes, or on a Dask cluster of two workers, one worker is killed in
place of the command, which must then end by itself with all documents. Results are printed as a
Markdown table; the exit code is 1 if anything was not as it must be.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import os
import pkgutil
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree as ET

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # no threads to copy

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import retrieval_eval
from retrieval_eval.cli import run
from tests.cloud import dask_scheduler, dask_worker

N_KILLS = 50
PATIENCE = 15.0
"""Seconds within which the processes of a killed command must have ended."""

FEW_TRIALS = 6
"""Trials of each of the two configurations."""

FEW_QUERIES = 30
"""Queries of a search run."""
DATA = "search"
SEARCH = ("--gold", f"{DATA}/gold-set.jsonl", "--corpus-file", f"{DATA}/corpus.jsonl")
FEW = ("--gold", f"{DATA}/few.jsonl", "--corpus-file", f"{DATA}/corpus.jsonl")
BM25 = ("--retriever", f"bm25:{DATA}/corpus.jsonl")
DATABASE = ("--database", f"sqlite:///{DATA}/feedback.sqlite")
EVAL = f"{DATA}/eval"
FIRST, SECOND = "measured/first.json", "measured/second.json"


@dataclass(frozen=True)
class Command:
    """A command line, what it may write, and the same with other settings, run before."""

    words: tuple[str, ...]
    outputs: tuple[str, ...]
    before: tuple[str, ...] = ()
    code: int = 0
    victim: str = ""
    """What is killed: the command itself, or a ``worker`` of its own or of a ``dask`` cluster."""

    @property
    def inputs(self) -> str:
        """The folder of inputs that it begins with."""
        if self.words[0] in ("search", "gold"):
            return "search"
        return "many" if "--executor" in self.words else "few"


RUN = ("runs/demo", "--benchmarks-root", "benchmarks", "--output-dir", "out")
TWO = ("--tables", "--executor", "processes:2")
COMMANDS = {
    "evaluate": Command(
        ("evaluate", *RUN, "--jobs", "1"), ("out",), ("evaluate", *RUN, "--k", "1,2")
    ),
    "evaluate, two processes": Command(
        ("evaluate", *RUN, *TWO), ("out",), ("evaluate", *RUN, "--k", "1,2", "--tables")
    ),
    "evaluate, a worker": Command(
        ("evaluate", *RUN, *TWO), ("out",), ("evaluate", *RUN, "--k", "1,2", "--tables"),
        victim="worker",
    ),
    "evaluate, a Dask worker": Command(
        ("evaluate", *RUN, "--executor", "dask://{dask}"), ("out",),
        ("evaluate", *RUN, "--k", "1,2"), victim="dask",
    ),
    "report": Command(
        ("report", *RUN, "--renderer", "embedded"),
        ("out", "reports"),
        ("report", *RUN, "--k", "1,2", "--renderer", "embedded"),
    ),
    "search run": Command(
        ("search", "run", *BM25, *FEW, "--out", EVAL, "--ask-twice", "5"),
        (EVAL,),
        ("search", "run", *BM25, *FEW, "--out", EVAL, "--option", "k1=0.5"),
    ),
    "search noise": Command(
        ("search", "noise", *BM25, *FEW, "--repeats", "2", "--out", f"{EVAL}/noise.json"),
        (f"{EVAL}/noise.json",),
    ),
    "search baseline": Command(
        ("search", "baseline", "--update", SECOND, "--baseline", f"{EVAL}/baseline.json"),
        (f"{EVAL}/baseline.json",),
        ("search", "baseline", "--update", FIRST, "--baseline", f"{EVAL}/baseline.json"),
    ),
    "search guard": Command(
        ("search", "guard", SECOND, "--baseline", FIRST,
         "--comment", "guard/comment.md"),
        ("guard",),
        ("search", "guard", FIRST, "--baseline", FIRST,
         "--comment", "guard/comment.md"),
        code=1,
    ),
    "report, of a search": Command(
        ("report", SECOND, *SEARCH[:2], "--renderer", "embedded"),
        ("reports",),
        ("report", FIRST, *SEARCH[:2], "--renderer", "embedded"),
    ),
    "gold bootstrap": Command(
        ("gold", "bootstrap", "--gold", f"{DATA}/gold-set.jsonl", *DATABASE),
        (f"{DATA}/gold-set.jsonl",),
        ("gold", "bootstrap", "--gold", f"{DATA}/gold-set.jsonl", *DATABASE, "--found-by", "bm25"),
    ),
    "gold pool": Command(
        ("gold", "pool", *SEARCH, "--run", FIRST, "--labellers", "ada,ben",
         "--depth", "5", "--out", "sheets"),
        ("sheets",),
        ("gold", "pool", *SEARCH, "--run", SECOND, "--labellers", "ada,ben",
         "--depth", "3", "--out", "sheets"),
    ),
    "gold settle": Command(
        ("gold", "settle", "filled/sheet-ada.csv", "--key", "filled/key.json",
         "--gold", f"{DATA}/gold-set.jsonl"),
        (f"{DATA}/gold-set.jsonl",),
    ),
}  # fmt: skip

# --- the command itself, in a process of its own ---


def inside(at: int, cuts: bool, counted: Path, words: Sequence[str]) -> int:
    """Run a command, and kill this process before step ``at``; write down how many steps it has."""
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    names = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"}
    steps: list[str] = []

    def step(name: str, handle: int | None = None) -> None:
        steps.append(name)
        if len(steps) == at:
            if cuts and handle is not None:
                os.ftruncate(handle, os.fstat(handle).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)

    def heard(event: str, arguments: tuple[object, ...]) -> None:
        if event in names:
            step(event)
        elif event == "open" and not str(arguments[0]).startswith("/dev/"):
            flags = arguments[2]
            if isinstance(flags, int) and flags & writing:
                step(event)

    synchronise = os.fsync

    def synchronised(handle: int) -> None:
        step("os.fsync", handle)
        synchronise(handle)

    os.fsync = synchronised
    sys.addaudithook(heard)
    code = run(list(words))
    counted.write_text(json.dumps(Counter(steps)))
    return code


def preload() -> None:
    """Load what commands load, so that it is not loaded anew for each of them."""
    names = ("bm25s", "distributed", "fsspec.implementations.local", "numpy", "pandas")
    for name in (*names, "pyarrow.parquet", "scipy.stats", "sqlalchemy", "tree_sitter_bash"):
        importlib.import_module(name)
    for _, name, is_package in pkgutil.walk_packages(retrieval_eval.__path__, "retrieval_eval."):
        if not is_package and not name.endswith("__main__"):
            with suppress(ImportError):
                importlib.import_module(name)


# --- the folders and files around it ---


@dataclass
class Kept:
    """What kills of one command left, and what followed."""

    n_timed: int = 0
    n_steps: int = 0
    n_late: int = 0
    n_files: int = 0
    n_leftovers: int = 0
    n_equal: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        return self.n_timed + self.n_steps


class Cluster:
    """A Dask scheduler with two workers, which start when they are needed."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._stack = ExitStack()
        self._workers: deque[subprocess.Popen[bytes]] = deque()
        self.address = ""

    def start(self) -> None:
        """Start all."""
        if not self.address:
            self.address = self._stack.enter_context(dask_scheduler(self._folder))
            for _ in range(2):
                self.add_worker()

    def add_worker(self) -> None:
        worker = dask_worker(self.address, self._folder, self._environment)
        self._workers.append(self._stack.enter_context(worker))

    def kill_worker(self) -> None:
        """Kill the worker that has run longest."""
        self._workers.popleft().kill()

    def stop(self) -> None:
        self._stack.close()


class Bench:
    """A folder with inputs, from which every kill starts, and a home of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.inputs = root / "inputs"
        self.home = root / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        project = Path(__file__).resolve().parents[1]
        self.environment = {
            "HOME": str(self.home),
            "PYTHONPATH": str(project),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        # Its workers outlive each kill, so nothing below them is deleted from outside.
        self.of_workers = root / "of-workers"
        self.of_workers.mkdir(exist_ok=True)
        self.cluster = Cluster(root, {**self.environment, "TMPDIR": str(self.of_workers)})

    def prepare(self) -> None:
        """Write what commands begin with: runs of 12 and of 98 trials, a search collection."""
        from retrieval_eval.demo import write_demo
        from retrieval_eval.search.demo import measured_demo

        few, many, search = (self.inputs / name for name in ("few", "many", "search"))
        write_demo(many)
        shutil.copytree(many / "benchmarks", few / "benchmarks")
        demo = many / "runs/demo"
        for config in [path for path in demo.iterdir() if path.is_dir()]:
            trials = sorted(path.parent for path in config.rglob("result.json"))[:FEW_TRIALS]
            for trial in trials:
                shutil.copytree(trial, few / "runs/demo" / config.name / trial.name)
            shutil.copytree(config, demo / f"{config.name}-again")
        child = os.fork()
        if not child:
            measured_demo(search / DATA)
            os._exit(0)
        os.waitpid(child, 0)
        found = sorted((search / EVAL).glob("eval-report-*.claims.json"))
        for name, path in zip((FIRST, SECOND), found, strict=True):
            (search / name).parent.mkdir(exist_ok=True)
            path.replace(search / name)
        shutil.rmtree(search / EVAL)
        shutil.rmtree(search / DATA / "sources")
        gold = search / DATA / "gold-set.jsonl"
        rows = gold.read_text().splitlines(keepends=True)
        gold.with_name("few.jsonl").write_text("".join(rows[:FEW_QUERIES]))
        pool = COMMANDS["gold pool"].words
        self.run(search, (*pool[:-1], "filled"))
        sheet = search / "filled/sheet-ada.csv"
        with sheet.open(encoding="utf-8-sig", newline="") as stream:
            cells = list(csv.reader(stream))
        graded = [cells[0], *([*row[:3], str(i % 3), ""] for i, row in enumerate(cells[1:]))]
        with sheet.open("w", encoding="utf-8-sig", newline="") as stream:
            csv.writer(stream).writerows(graded)

    def fresh(self, source: Path, *, is_disk: bool = False) -> Path:
        """Return a new copy of a folder, the same path each time, for paths are in documents.

        It may be a disk of its own, which the system lets a superuser mount.
        """
        target = self.root / "work"
        if target.is_mount():
            mount("--unmount", str(target))
        shutil.rmtree(target, ignore_errors=True)
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()
        if is_disk:
            target.mkdir()
            mount("-t", "tmpfs", "-o", "size=1g", "tmpfs", str(target))
        shutil.copytree(source, target, dirs_exist_ok=True)
        return target

    @property
    def temporary(self) -> Path:
        return self.root / "temporary"

    def left_behind(self) -> list[Path]:
        """Return what lies among the temporary files of commands and workers."""
        return [path for place in (self.temporary, self.of_workers) for path in place.iterdir()]

    def start(self, folder: Path, words: Sequence[str], *, at: int = 0, cuts: bool = False) -> int:
        """Start a command in a process and session of its own; return its number."""
        self.temporary.mkdir(exist_ok=True)
        child = os.fork()
        if child:
            return child
        code = 70
        try:
            os.setsid()
            os.chdir(folder)
            os.environ.update(self.environment, TMPDIR=str(self.temporary))
            tempfile.tempdir = None
            words = [word.format(work=folder, dask=self.cluster.address) for word in words]
            said = os.open(self.root / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(said, stream)
            code = inside(at, cuts, self.root / "steps.json", words)
            sys.stdout.flush()
        finally:
            os._exit(code)

    def run(self, folder: Path, words: Sequence[str]) -> tuple[int, float]:
        """Run a command undisturbed; return its exit code and seconds."""
        start = time.perf_counter()
        code = ended_with(self.start(folder, words))
        return code, time.perf_counter() - start

    def said(self) -> str:
        text = (self.root / "said.txt").read_text(errors="replace")
        return " ".join(text.split())[-300:]


def files_of(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder; one that is gone when it is read was temporary."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def mount(*words: str) -> None:
    program = "umount" if words[0] == "--unmount" else "mount"
    subprocess.run([program, *(w for w in words if w != "--unmount")], check=True)


def is_temporary(name: str) -> bool:
    return Path(name).name.startswith(".retrieval-eval.") or name.endswith((".tmp", ".lock"))


_MOMENT = re.compile(rb"20\d\d-?\d\d-?\d\d[T ]\d\d:?\d\d(?::?\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")
_NUMBERS = re.compile(
    rb'"(?:seconds|duration|start_time|end_time|body_sha256)": ?[^,}\n]+|[0-9.]+ m?s\b'
)
_DRAWN = re.compile(rb'"id": "[0-9a-f]{8}"|retrieval-eval-[a-z0-9_]{8}\.private')
"""The name of a notebook's cell of parameters, and of a private folder."""

_BREAK = "\N{ZERO WIDTH SPACE}".encode()
"""Where a page may break a long word, also in a moment."""


def timeless(data: bytes) -> bytes:
    """Return a file without what the clock decides, and without names that are drawn."""
    for pattern in (_MOMENT, _NUMBERS, _DRAWN):
        data = pattern.sub(b"-", data.replace(_BREAK, b""))
    return data


def rows_of(data: bytes) -> bytes:
    """Return the rows of a Parquet file as JSON; empty where it is damaged."""
    import pyarrow.parquet

    try:
        rows = pyarrow.parquet.read_table(pyarrow.BufferReader(data)).to_pylist()
    except pyarrow.ArrowException:
        return b""
    return b"\n".join(json.dumps(row).encode() for row in rows)


def timeless_files(files: dict[str, bytes], names: Sequence[str]) -> dict[str, str]:
    """Return digests of output files by name, with times left out of names and contents."""
    found: dict[str, str] = {}
    for name in sorted(files):
        if any(name == place or name.startswith(f"{place}/") for place in names):
            key = _MOMENT.sub(b"-", name.encode()).decode()
            data = rows_of(files[name]) if name.endswith(".parquet") else files[name]
            found[key] = sha256(timeless(data)).hexdigest()
    return found


def cut(name: str, data: bytes) -> str | None:
    """Return why a file is not whole, or None."""
    from retrieval_eval.io.artefacts import is_whole
    from retrieval_eval.schema import faults, kind_of

    suffix = Path(name).suffix
    if suffix == ".parquet":
        return None if rows_of(data) else "no rows"
    try:
        text = data.decode("utf-8-sig")
        if suffix in (".json", ".ipynb"):
            document = json.loads(text)
            kind = kind_of(document) if suffix == ".json" else None
            if isinstance(document, dict) and is_whole(document) is False:
                return "another digest"
            if kind is not None and (wrong := faults(document, kind)):
                return str(wrong[0])
        elif suffix == ".jsonl":
            lines = text.split("\n")
            # The last line of a journal may be under way; the next run drops it.
            for line in lines[:-1]:
                json.loads(line)
            if lines[-1] and "journal" not in name:
                return "the last line has no end"
        elif suffix == ".html" and not text.rstrip().endswith("</html>"):
            return "the page has no end"
        elif suffix == ".csv":
            widths = {len(row) for row in csv.reader(text.splitlines())}
            if len(widths) != 1 or not text.endswith("\n"):
                return f"rows of {sorted(widths)} cells"
        elif suffix == ".xml":
            ET.fromstring(text)
        elif suffix in (".yml", ".md") and not text.endswith("\n"):
            return "the last line has no end"
    except (ValueError, ET.ParseError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def processes_of(session: int) -> Iterator[int]:
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                yield int(place.name)


def ended_with(process: int) -> int:
    """Wait for a process; return its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def ended(session: int) -> bool:
    """Wait for all processes of a session; end those that stay and return whether there were."""
    end = time.monotonic() + PATIENCE
    while left := list(processes_of(session)):
        if time.monotonic() > end:
            for process in left:
                os.kill(process, signal.SIGKILL)
            return False
        time.sleep(0.05)
    return True


# --- kills ---


def measure(
    bench: Bench, name: str, n_kills: int, dice: random.Random, n_steps: int | None = None
) -> Kept:
    """Kill a command ``n_kills`` times by time and ``n_steps`` times before a step; check all."""
    kept, starts = undisturbed(bench, name)
    if not kept.faults:
        # A worker is there for a part of the time only: kills that met none are not counted.
        is_met = bool(COMMANDS[name].victim)
        while kept.n_timed - is_met * kept.n_late < n_kills and kept.n_timed < 3 * n_kills:
            start = starts[kept.n_timed % len(starts)]
            _Trial(bench, COMMANDS[name], kept, start).by_time(dice.uniform(0, start.seconds))
        moments = [(start, at) for start in starts for at in range(1, start.n_steps + 1)]
        if not COMMANDS[name].victim:
            for start, at in dice.sample(
                moments, min(n_kills if n_steps is None else n_steps, len(moments))
            ):
                _Trial(bench, COMMANDS[name], kept, start).before_step(at, dice.random() < 0.5)
    return kept


def measure_disk(bench: Bench, name: str, n_disks: int, dice: random.Random) -> Kept:
    """Run a command on disks that get full as it writes, and on one that is read-only."""
    kept, starts = undisturbed(bench, name)
    if not kept.faults:
        for number in range(n_disks):
            once = _Trial(bench, COMMANDS[name], kept, starts[number % len(starts)])
            once.on_disk(None if number < len(starts) else dice.random())
    return kept


def measure_tree(bench: Bench, name: str, n_trees: int) -> Kept:
    """Run a command where its user may write nothing, and where only its outputs may be written."""
    kept, starts = undisturbed(bench, name)
    if not kept.faults:
        for number in range(n_trees):
            once = _Trial(bench, COMMANDS[name], kept, starts[number % len(starts)])
            once.on_tree(has_writable_outputs=bool(number // len(starts) % 2))
    return kept


@dataclass(frozen=True)
class Start:
    """A folder that a command begins with, and what it makes of it undisturbed."""

    folder: Path
    wanted: dict[str, str]
    seconds: float
    n_steps: int
    n_bytes: int


def undisturbed(bench: Bench, name: str) -> tuple[Kept, list[Start]]:
    """Run a command in the folders it begins with: an empty one, and one of an earlier run."""
    command, kept, starts = COMMANDS[name], Kept(), list[Start]()
    places = [bench.inputs / command.inputs]
    if command.before:
        folder = bench.fresh(places[0])
        bench.run(folder, command.before)
        places.append(bench.root / "before")
        shutil.rmtree(places[-1], ignore_errors=True)
        shutil.copytree(folder, places[-1])
    for place in places:
        folder = bench.fresh(place)
        before = sum(map(len, files_of(folder).values()))
        code, lasted = bench.run(folder, command.words)
        if command.victim and code == command.code:
            # The workers of a cluster have loaded everything now, as they have at most kills.
            folder = bench.fresh(place)
            code, lasted = bench.run(folder, command.words)
        if code != command.code:
            kept.faults.append(f"undisturbed it ends with {code}: {bench.said()}")
            break
        n_steps = sum(json.loads((bench.root / "steps.json").read_text()).values())
        files = files_of(folder)
        n_bytes = sum(map(len, files.values())) - before
        wanted = timeless_files(files, command.outputs)
        starts.append(Start(place, wanted, lasted, n_steps, n_bytes))
    return kept, starts


@dataclass
class _Trial:
    """One kill, or one disk, and what is left."""

    bench: Bench
    command: Command
    kept: Kept
    start: Start

    def by_time(self, moment: float) -> None:
        folder = self.bench.fresh(self.start.folder)
        before = files_of(folder)
        process = self.bench.start(folder, self.command.words)
        time.sleep(moment)
        victims = [process]
        if self.command.victim == "worker":
            victims = [p for p in processes_of(process) if _is_worker(p)][:1]
            self.kept.n_late += not victims
        elif self.command.victim == "dask":
            victims = []
            self.kept.n_late += not list(processes_of(process))
            self.bench.cluster.kill_worker()
        for victim in victims:
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        self.kept.n_timed += 1
        self._check(folder, before, process, f"killed after {moment:.3f} s")

    def before_step(self, at: int, cuts: bool) -> None:
        folder = self.bench.fresh(self.start.folder)
        before = files_of(folder)
        process = self.bench.start(folder, self.command.words, at=at, cuts=cuts)
        self.kept.n_steps += 1
        self._check(folder, before, process, f"killed before step {at}")

    def on_disk(self, share: float | None) -> None:
        """Run on a disk with room for a share of what is written; None: it is read-only."""
        folder = self.bench.fresh(self.start.folder, is_disk=True)
        before = files_of(folder)
        how = "on a read-only disk"
        if share is None:
            mount("-o", "remount,ro", str(folder))
        else:
            room = int(share * max(self.start.n_bytes, 1 << 16))
            how = f"with room for {room} bytes"
            state = os.statvfs(folder)
            used = (state.f_blocks - state.f_bfree) * state.f_frsize
            mount("-o", f"remount,size={used + room // 4096 * 4096}", str(folder))
        code, _ = self.bench.run(folder, self.command.words)
        self.kept.n_timed += 1
        self.kept.n_late += code == self.command.code
        said = self.bench.said()
        if code not in (3, 4, self.command.code) or "Traceback" in said or "unexpected" in said:
            self.kept.faults.append(f"{how}: ends with {code}: {said}")
        mount("-o", "remount,rw,size=1g", str(folder))
        self._check_files(folder, before, how)
        self._again(folder, how)
        mount("--unmount", str(folder))

    def on_tree(self, *, has_writable_outputs: bool) -> None:
        """Run without permission to write the tree, or to write what is no output."""
        folder = self.bench.fresh(self.start.folder)
        before = files_of(folder)
        outputs = [folder / name for name in self.command.outputs]
        writable = {
            path if path.is_dir() else next(place for place in path.parents if place.is_dir())
            for path in outputs
        }
        places = [folder, *folder.rglob("*")]
        for path in places:
            is_open = path in writable or any(
                path == output or output in path.parents for output in outputs
            )
            if not (has_writable_outputs and is_open):
                path.chmod(path.stat().st_mode & 0o7555)
        how = "where only outputs may be written" if has_writable_outputs else "on a read-only tree"
        code, _ = self.bench.run(folder, self.command.words)
        self.kept.n_timed += 1
        self.kept.n_late += code == self.command.code
        said = self.bench.said()
        expected = (self.command.code,) if has_writable_outputs else (3, 4, self.command.code)
        if code not in expected or "Traceback" in said or "unexpected" in said:
            self.kept.faults.append(f"{how}: ends with {code}: {said}")
        left = files_of(folder)
        if not has_writable_outputs and left != before:
            self.kept.faults.append(f"{how}: files were changed")
        self._check_files(folder, before, how)
        for path in places:
            path.chmod(path.stat().st_mode | 0o200)
        self._again(folder, how)

    def _check(self, folder: Path, before: dict[str, bytes], process: int, how: str) -> None:
        code = ended_with(process)
        self.kept.n_late += code != -signal.SIGKILL and not self.command.victim
        if self.command.victim and code != self.command.code:
            self.kept.faults.append(f"{how}: ends with {code}: {self.bench.said()}")
        if self.command.victim == "dask":
            self.bench.cluster.add_worker()
        if not ended(process):
            self.kept.faults.append(f"{how}: processes were left")
        self._check_files(folder, before, how)
        self._again(folder, how)

    def _check_files(self, folder: Path, before: dict[str, bytes], how: str) -> None:
        left = files_of(folder)
        temporary = [name for name in left if is_temporary(name)]
        self.kept.n_leftovers += len(temporary) + len(self.bench.left_behind())
        for name, data in left.items():
            if (name in before and data == before[name]) or name in temporary:
                continue
            self.kept.n_files += 1
            if not self._may_write(name):
                self.kept.faults.append(f"{how}: {name} is no output and was changed")
            elif (why := cut(name, data)) is not None:
                self.kept.faults.append(f"{how}: {name} is not whole ({why})")
        for name in before.keys() - left.keys():
            if not self._may_write(name):
                self.kept.faults.append(f"{how}: {name} is no output and was removed")

    def _again(self, folder: Path, how: str) -> None:
        code, _ = self.bench.run(folder, self.command.words)
        if code != self.command.code:
            self.kept.faults.append(f"{how}, again: ends with {code}: {self.bench.said()}")
        files = files_of(folder)
        found = timeless_files(files, self.command.outputs)
        # A search run that was whole before the kill stays, and the next one lies beside it.
        extra = {name for name in found.keys() - self.start.wanted.keys() if "eval-report-" in name}
        found = {name: digest for name, digest in found.items() if name not in extra}
        differing = [n for n in sorted(found.keys() | self.start.wanted.keys())
                     if found.get(n) != self.start.wanted.get(n)]  # fmt: skip
        if differing:
            self.kept.faults.append(f"{how}, again: other content in {', '.join(differing[:4])}")
        else:
            self.kept.n_equal += 1
        rest = [name for name in files if is_temporary(name) or "journal" in name]
        rest += [path.name for path in self.bench.left_behind()]
        if rest:
            self.kept.faults.append(f"{how}, again: left behind {', '.join(rest[:4])}")

    def _may_write(self, name: str) -> bool:
        return any(name == p or name.startswith(f"{p}/") for p in self.command.outputs)


def _is_worker(process: int) -> bool:
    try:
        line = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    return b"spawn_main" in line


_COLUMNS = {
    "kills": ("by time", "before a step", "after its end"),
    "disks": ("disks", "", "had room"),
    "trees": ("trees", "", "needed not write, or could"),
}


def table(found: dict[str, Kept], what: str) -> str:
    """Return the results as Markdown."""
    times = _COLUMNS[what]
    heads = (
        "command", *times, "files new or changed", "temporary files", "after the next run",
        "next run equal", "faults",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|---{'|---:' * (len(heads) - 1)}|"]
    for name, kept in found.items():
        cells = (
            f"`{name}`", kept.n_timed, kept.n_steps, kept.n_late, kept.n_files, kept.n_leftovers,
            sum("left behind" in fault for fault in kept.faults), kept.n_equal, len(kept.faults),
        )  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=N_KILLS)
    parser.add_argument("--steps", type=int, help="kills before a step, if not as many")
    parser.add_argument("--only", choices=list(COMMANDS), action="append")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--disks", action="store_const", const="disks", dest="what", default="kills",
        help="full and read-only disks instead of kills (as a superuser)",
    )  # fmt: skip
    what.add_argument(
        "--trees", action="store_const", const="trees", dest="what",
        help="read-only trees instead of kills (not as a superuser)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path, help="folder to work in, which is not deleted")
    options = parser.parse_args()
    if options.what == "trees" and os.geteuid() == 0:
        parser.error("a superuser may write everything: start it as another user")
    with tempfile.TemporaryDirectory() as place:
        preload()
        bench = Bench(options.keep or Path(place))
        if not bench.inputs.exists():
            bench.prepare()
        found: dict[str, Kept] = {}
        for name in options.only or COMMANDS:
            if COMMANDS[name].victim == "dask":
                bench.cluster.start()
            dice = random.Random(f"{options.seed} {name}")
            if options.what == "kills":
                found[name] = measure(bench, name, options.kills, dice, options.steps)
            elif options.what == "disks":
                found[name] = measure_disk(bench, name, options.kills, dice)
            else:
                found[name] = measure_tree(bench, name, options.kills)
            print(table({name: found[name]}, options.what), flush=True)
            for fault in found[name].faults:
                print(f"  {name}: {fault}", flush=True)
        bench.cluster.stop()
    if options.out:
        options.out.write_text(table(found, options.what))
    sys.exit(any(kept.faults for kept in found.values()))


if __name__ == "__main__":
    main()
