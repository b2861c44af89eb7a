"""The files of this project that are made from declarations in the package: ``make schemas``."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import tests.traps
from retrieval_eval.agents.traces.dialects import dialect_of
from retrieval_eval.agents.traces.formats import (
    FORMATS,
    FileFormat,
    Format,
    LineFormat,
    StoreFormat,
    read_file,
)
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.model import PUBLISHED, json_schema
from tests.lab.drivers import UNPROVED
from tests.lab.situations import KINDS, SITUATIONS
from tests.traps import Absent, Trap, traps_of

PROJECT = Path(__file__).resolve().parents[1]
RESULTS = PROJECT / "tests" / "lab" / "results.json"
FORMATS_PAGE = PROJECT / "docs" / "formats.md"
_BEGIN, _END = "<!-- made by `make schemas` -->\n", "<!-- end of what `make schemas` makes -->"


def generated() -> dict[Path, str]:
    """Return every generated file with its text."""
    return {
        PROJECT / "schemas" / document.schema_file: json.dumps(
            json_schema(kind), indent=2, ensure_ascii=False
        )
        + "\n"
        for kind, document in PUBLISHED.items()
    } | {FORMATS_PAGE: _with_lab(FORMATS_PAGE.read_text(encoding="utf-8"))}


def _with_lab(page: str) -> str:
    """Return the page of formats with what the lab found between its two marks."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    return f"{before}{begin}{chr(10).join(lab_table())}\n\n{end}{after}"


def source_of(name: str) -> str:
    """Return what the reader of a format was written from."""
    entry = FORMATS[name]
    if entry.source:
        return entry.source
    dialect = dialect_of(_example_of(entry).harness)
    return dialect.source if dialect is not None else ""


def _example_of(entry: Format) -> Reading:
    """Return what is read from the example of a format."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "example"
        path.write_bytes(example_bytes(entry))
        reading = read_file(path, Path(folder))
    assert isinstance(reading, Reading)
    return reading


class Proof(NamedTuple):
    """What the lab found of one kind of trace that a harness writes.

    ``traces`` are what the lab keeps of the kind, ``run`` of the harness.
    """

    harness: str
    kind: str
    traces: Mapping[str, Any]
    run: Mapping[str, Any]


def lab_results() -> dict[str, Any]:
    """Return the results of the lab, by harness."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def proofs() -> dict[str, list[Proof]]:
    """Return what the lab found, by the name of the format; of some formats nothing."""
    found: dict[str, list[Proof]] = {}
    for harness, run in lab_results().items():
        for kind, traces in run.get("traces", {}).items():
            found.setdefault(_versionless(kind.split()[0]), []).append(
                Proof(harness, kind, traces, run)
            )
    return {
        name: [] if name in UNPROVED else found.get(_versionless(_example_of(entry).format), [])
        for name, entry in sorted(FORMATS.items())
    }


def _versionless(form: str) -> str:
    return re.sub(r"-[\d.]+$", "", form)


_FACTS: Final = ("tokens", "cost", "times", "model", "version", "MCP", "sub-agents")
_VERDICTS: Final = ("right", "possible", "wrong", "unread")
_GIVEN: Final = {
    "AGENTS.md": "instructions of the project",
    "notes/attached.md": "a file that the prompt names",
    "shop/rules/AGENTS.md": "instructions of a folder",
}
"""What the files are that a harness gives by itself, in the workspace of the lab."""


def lab_table() -> Iterator[str]:
    """Yield what the lab found when it ran the harnesses that write the formats."""
    yield "## What was run\n"
    yield "The lab (`make lab`) runs a harness against a scripted model, in up to"
    yield f"{len(SITUATIONS)} situations, and compares what the model was given with what is read."
    yield "*Right*: every file and line. *Possible*: nothing false, but a file that was given is"
    yield "only possible. *Wrong*: a file, a line or a sum is. *Not shown*: what the model was"
    yield "given and the trace does not hold, so that no reading could know of it.\n"
    yield "| format | run | right | possible | wrong | unread | not shown |"
    yield f"|---|---|{'---:|' * len(_VERDICTS)}---|"
    not_run: dict[str, list[str]] = {}
    for name, found in proofs().items():
        if not found:
            source = source_of(name).partition(";")[0]
            read = f"read from {source}" if source else "read from its description"
            reason = UNPROVED.get(name, "its run has no result yet")
            not_run.setdefault(f"{reason}; {read}", []).append(f"`{name}`")
        for proof in found:
            counts = [proof.traces["verdicts"].get(verdict, 0) for verdict in _VERDICTS]
            unseen = [_GIVEN.get(f, f"`{f}`") for f in proof.traces.get("given_unseen", ())]
            unread = proof.traces.get("given_unread", ())
            unread = [f"{_GIVEN.get(f, f'`{f}`')} (not read)" for f in unread]
            has_sub_agents = "not_run" not in proof.run["situations"].get("delegate", {"not_run"})
            if has_sub_agents and "sub-agents" not in FORMATS[name].keeps:
                unseen.append("calls of sub-agents")
            shown = ", ".join([*unseen, *unread]) or "\u2013"
            numbers = " | ".join(map(str, counts))
            run = f"{_release(proof)}, {proof.run['date']}"
            yield f"| `{name}` | {run} | {numbers} | {shown} |"
    yield "\nNot run:\n"
    yield from (f"- {', '.join(names)}: {why}." for why, names in not_run.items())
    yield "\nWhat a trace states of the run is compared with what the scripted model charged, at"
    yield "the prices that the harness was given or knows, and with when it was asked; calls of MCP"
    yield "and of sub-agents with what the model called. *Right* in each run, or in how many of"
    yield "them; a dash: the trace does not state it.\n"
    yield f"| format | run | {' | '.join(_FACTS)} |"
    yield f"|---|---|{'---|' * len(_FACTS)}"
    for name, found in proofs().items():
        for proof in found:
            facts = proof.traces.get("facts", {})
            cells = " | ".join(_fact(facts.get(fact, {})) for fact in _FACTS)
            yield f"| `{name}` | {_release(proof)} | {cells} |"
    yield from _by_kind()
    yield "\nNot to be run today:\n"
    for harness, run in lab_results().items():
        if "not_run" in run:
            yield f"- **{harness}**: {run['not_run']}."


def _release(proof: Proof) -> str:
    return " ".join((proof.harness, proof.run["version"], *proof.kind.split()[1:]))


def _fact(counts: Mapping[str, int]) -> str:
    if set(counts) <= {"not stated"}:
        return "\u2013"
    if set(counts) == {"right"}:
        return "right"
    return ", ".join(f"{name} {number}" for name, number in counts.items())


def _by_kind() -> Iterator[str]:
    """Yield for each kind of fault which situations are about it, and how they ended."""
    yield "\nWhat readings can be wrong about, and the situations that show whether they are:\n"
    yield "| about | situations | harnesses | right | possible | wrong |"
    yield "|---|---|---:|---:|---:|---:|"
    for kind, meaning in KINDS.items():
        mine = [one.name for one in SITUATIONS if kind in one.kinds.split()]
        counts: Counter[str] = Counter()
        harnesses = set()
        for harness, run in lab_results().items():
            for name in mine:
                row = run.get("situations", {}).get(name, {"not_run": ""})
                found = [] if "not_run" in row else [part["verdict"] for part in row.values()]
                counts.update(found)
                harnesses |= {harness} if found else set()
        numbers = " | ".join(str(counts[verdict]) for verdict in _VERDICTS[:3])
        yield f"| {meaning} | {_coded(mine)} | {len(harnesses)} | {numbers} |"


def _coded(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def example_bytes(entry: Format) -> bytes:
    """Return the example of a format as a file."""
    if isinstance(entry, FileFormat):
        return entry.example
    if isinstance(entry, StoreFormat):
        with TemporaryDirectory() as folder:
            return database(Path(folder) / "store.db", entry.example).read_bytes()
    values = entry.example if isinstance(entry, LineFormat) else [entry.example]
    return "\n".join(map(json.dumps, values)).encode()


def database(path: Path, script: str) -> Path:
    """Return the path of a database that a script makes."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def all_traps() -> dict[str, tuple[Trap, ...]]:
    """Return the traps of each dialect, by its name."""
    names = (found.name for found in iter_modules(tests.traps.__path__))
    return {
        name.replace("_", "-"): tuple(traps_of(import_module(f"tests.traps.{name}")))
        for name in sorted(names)
        if not name.startswith("test_")
    }


def absent_traps() -> dict[str, Absent]:
    """Return the situations that have no trap with the reason, by dialect."""
    return {
        name: getattr(import_module(f"tests.traps.{name.replace('-', '_')}"), "ABSENT", {})
        for name in all_traps()
    }


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(PROJECT))
