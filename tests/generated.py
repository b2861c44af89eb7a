"""The files of this project that are made from declarations in the package: ``make schemas``."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory
from typing import get_args

import tests.traps
from retrieval_eval.agents.study.threats import THREATS
from retrieval_eval.agents.traces.dialects import DIALECTS, dialect_of
from retrieval_eval.agents.traces.formats import (
    FORMATS,
    DocumentFormat,
    FileFormat,
    Format,
    Kept,
    LineFormat,
    StoreFormat,
    read_file,
)
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.model import PUBLISHED, json_schema
from tests.traps import Absent, Certainty, Situation, Trap, traps_of

PROJECT = Path(__file__).resolve().parents[1]

DEPENDENCIES_HEAD = """# Dependencies and their licences

Generated from `requirements.lock`, `requirements-dev.lock` and the metadata of the installed
packages by `make schemas`. The lock files pin every package with its digests, so that an
installation gets these files or none. The licences are those that the packages state themselves.

Not here: release dates, which are not in the metadata.

Known vulnerabilities: on 23 November 2026 the pins of the three lock files were compared with a
copy of the Python Packaging Advisory Database of 10 October 2024, the newest at hand. It names 22
of the 94 packages of an installation in 130 advisories, 42 of the 215 for development and 26 of the
113 for benchmarks, and none of the pinned versions. It knows nothing of the two years since. So
before a release run `uvx pip-audit --require-hashes -r requirements.lock` where the network may be
reached, and renew the locks with `make lock`.

The quick unit tests (9,600) also pass at the lowest versions that `pyproject.toml` allows, under
Python 3.11, and at the locked ones under 3.13. The suite itself needs pytest 9.
"""

TRAPS_HEAD = """# Traps: what each harness's traces prove

Generated from `tests/traps` by `make schemas`. A trap is a small trial written by hand, the files
that its task expects, and for each of them what the trace allows to say, with the reason. A test
reads every trap as a run would. [Evidence](evidence.md) says what certain and possible mean.

A cell counts expected files: **c** certain, **p** possible, **n** none. `c1 n2` is one file that
the trace proves to have been found and two that it rules out. A dash marks what cannot occur.
`roots` and `shell` are no harnesses: their traps are about where the checkout lies, and about
commands.
"""

THREATS_HEAD = """# Threats: what could overturn a comparison

Generated from the registry of threats by `make schemas`. A threat is a number, a sentence and an
effect. `none` leaves the verdict as it is. `lowers` makes a clear difference `fragile`, and leaves
equivalence not shown. `withholds` leaves no verdict. Every comparison lists its threats
(`comparison.threats`, and `threats` in `run_impact_analysis.json`) and leads with those that matter
most: those that change the verdict, then in the order of this table.

| threat | name | what it is about |
|---|---|---|"""

THREATS_TAIL = """
Another distribution adds its own with an entry point:

```toml
[project.entry-points."retrieval_eval.threats"]
friday = "their_package.threats:friday"
```

```python
from retrieval_eval.model.impact import Threat
from retrieval_eval.agents.study.threats import kind


@kind(title="Friday", meaning="an arm ran on a Friday", gravity=95)
def friday(study):
    for arm in study.arms:
        n = sum(trial.batch_timestamp == "2026-01-02" for trial in arm.trials)
        if n:
            text = f"{n} trials of {arm.config} ran on a Friday"
            yield Threat(name="friday", value=n, unit="trials", effect="none", sentence=text)
```
"""

FORMATS_HEAD = """# Trace formats that are read

Generated from the registries of formats and dialects by `make schemas`. A format is recognised by
what a file holds, never by its name:

```
retrieval-eval trace FILE
```

reads any of them, also packed with gzip or zstd.
A database is read with the write-ahead log beside it. Calls and results are in all; *keeps* lists
what else is there. The version is the harness's. Without times there is no time to first relevant
in seconds. Trajectories (ATIF) of any of these harnesses are read with the dialect of the harness
that they name.
"""

FORMATS_COUNTERS = """
## What the counters count

The tokens and the cost of a trial are a run's own share: copied history counts once, what an
earlier run of a resumed session used does not count, and sub-agents do. What each format states:
"""

FORMATS_ANSWERS = """
## What each harness cuts, stops and delegates

Four questions decide what a trace proves: how much of an answer the agent was shown, whether a call
ran to its end and what it printed before, which calls handed work to a sub-agent, and what the
counters count (above). Where one is not known, nothing is certain about it: no long answer is taken
for a whole one, what a failed call printed is possible, every tool with such a name counts as
delegating, and no count is stated.
"""

FORMATS_MEMORY = """
## Large files

Lines are read one by one, whatever their format, and what is kept of them goes to a temporary file
once it is larger than a few megabytes. A transcript of hundreds of megabytes takes little more
memory than one of ten. What is one value to its decoder is read whole:

- a format of one JSON document: {documents};
- the lines of any format in a JSON array, and a packed file;
- a line that holds a whole session (`inspect-samples`, `openhands-output`), and the samples in an
  archive (`inspect-eval`);
- all spans of a file (`spans-jsonl`), because they are put into the order of time."""

FORMATS_SOURCES = """
## What the readers were written from

Projects are given with commits. Where it does not say that files were seen, the reader was tested
with files written by hand after that source.
"""

FORMATS_TAIL = """
## Not read

- **aider**: its chat history is prose without tool calls; its analytics log has tokens and cost.
- **Cline's `ui_messages.json`**: it keeps what was displayed, not what the agent saw. Take the
  history beside it.

`retrieval-eval trace` names what such a file is. To read another format, add a
[reader](howto/harness.md).
"""


def generated() -> dict[Path, str]:
    """Return every generated file with its text."""
    schemas = {
        PROJECT / "schemas" / document.schema_file: json.dumps(
            json_schema(kind), indent=2, ensure_ascii=False
        )
        + "\n"
        for kind, document in PUBLISHED.items()
    }
    docs = PROJECT / "docs"
    return {
        **schemas,
        docs / "dependencies.md": "\n".join(_dependencies_page(docs / "dependencies.md")),
        docs / "formats.md": "\n".join(_formats_page()),
        docs / "threats.md": "\n".join(_threats_page()),
        docs / "traps.md": "\n".join(_traps_page()),
    }


_PINNED = re.compile(r"^([a-z0-9._-]+)(?:\[[^\]]*\])?==([^ ;\\]+)(?: ; ([^\\]+))?", re.MULTILINE)


def _dependencies_page(page: Path) -> Iterator[str]:
    yield DEPENDENCIES_HEAD
    # What another Python or no extra leaves out keeps the row that it has.
    known = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    before = {row.split(" | ")[0]: row.split(" | ")[-1] for row in known if row.startswith("| ")}
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = {}
    for extra, wanted in project["optional-dependencies"].items():
        for requirement in wanted:
            name = re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower()
            extras.setdefault(name, []).append(extra)
    copyleft: list[str] = []
    for title, lock, chosen in (
        ("What an installation brings", "requirements.lock", None),
        ("What the extras name", "requirements-dev.lock", extras),
    ):
        yield f"## {title}\n\n| package | version | for | licence |\n|---|---|---|---|"
        for name, version, marker in _PINNED.findall((PROJECT / lock).read_text(encoding="utf-8")):
            if chosen is None or name in chosen:
                place = ", ".join(chosen[name]) if chosen else marker.strip() or "all"
                key = f"| {name}"
                licence = licence_of(name) or before.get(key, "not installed here |").rstrip(" |")
                if re.search(r"GPL|MPL|EPL|EUPL|CDDL", licence):
                    copyleft.append(f"{name} ({licence})")
                yield f"{key} | {version} | {place} | {licence} |"
        yield ""
    yield f"Asking for changes of their own code to be published: {', '.join(copyleft)}.\n"


def licence_of(name: str) -> str | None:
    """Return the licence that an installed package states; None where it is not installed."""
    try:
        found = metadata(name)
    except PackageNotFoundError:
        return None
    classifiers = [
        c.split(" :: ")[-1] for c in found.get_all("Classifier", []) if "License ::" in c
    ]
    stated = found.get("License-Expression") or "; ".join(classifiers) or found.get("License") or ""
    return stated.strip().split("\n")[0][:60] or "not stated"


def _formats_page() -> Iterator[str]:
    yield FORMATS_HEAD
    yield "| format | what it is | keeps |\n|---|---|---|"
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, entry in sorted(FORMATS.items()):
        alike.setdefault((entry.read.__module__, entry.keeps), []).append(name)
    sources: dict[str, list[str]] = {}
    for (module, keeps), names in alike.items():
        doc = (sys.modules[module].__doc__ or "").replace("``", "`").split("\n\n")[0]
        shown = ", ".join(f"`{name}`" for name in names)
        what = doc.split(". ")[0].replace("\n", " ").rstrip(".")
        kept = ", ".join(item for item in get_args(Kept) if item in keeps)
        yield f"| {shown} | {what} | {kept} |"
        sources.setdefault(source_of(names[0]), []).append(shown)
    kinds = sorted(name for name, entry in FORMATS.items() if isinstance(entry, DocumentFormat))
    yield FORMATS_MEMORY.format(documents=", ".join(f"`{name}`" for name in kinds))
    yield FORMATS_SOURCES
    for source, shown_names in sources.items():
        yield f"- {', '.join(shown_names)}: {source}."
    yield FORMATS_COUNTERS
    counters: dict[str, list[str]] = {}
    for name, entry in sorted(FORMATS.items()):
        counters.setdefault(entry.counters, []).append(f"`{name}`")
    for counted, names in counters.items():
        yield f"- {', '.join(names)}: {counted or 'not known, so that none is stated.'}"
    yield FORMATS_ANSWERS
    for name, dialect in sorted(DIALECTS.items()):
        if dialect.harnesses:
            unknown = "not known."
            yield f"\n**{name}**\n"
            yield f"- *cut*: {dialect.cut or unknown}"
            yield f"- *finished*: {dialect.finished or unknown}"
            yield f"- *delegated*: {dialect.delegated or unknown}"
    yield FORMATS_TAIL


def source_of(name: str) -> str:
    """Return what the reader of a format was written from."""
    entry = FORMATS[name]
    if entry.source:
        return entry.source
    with TemporaryDirectory() as folder:
        path = Path(folder) / "example"
        path.write_bytes(example_bytes(entry))
        reading = read_file(path, Path(folder))
    dialect = dialect_of(reading.harness) if isinstance(reading, Reading) else None
    return dialect.source if dialect is not None else ""


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


def _threats_page() -> Iterator[str]:
    yield THREATS_HEAD
    for name, entry in sorted(THREATS.items(), key=lambda item: item[1].gravity):
        yield f"| {entry.title} | `{name}` | {entry.meaning} |"
    yield THREATS_TAIL.rstrip("\n") + "\n"


def _traps_page() -> Iterator[str]:
    yield TRAPS_HEAD
    traps, absent = all_traps(), absent_traps()
    yield f"{sum(map(len, traps.values()))} traps."
    every = get_args(Situation)
    for situations in (every[:6], every[6:]):
        yield f"\n| | {' | '.join(situations)} |\n|---|{'---|' * len(situations)}"
        for name, rows in traps.items():
            cells = [
                "\u2013" if s in absent[name] else _cell([t for t in rows if t.situation == s])
                for s in situations
            ]
            yield f"| `{name}` | {' | '.join(cells)} |"
    yield "\n## What cannot occur\n"
    yield "| | situation | reason |\n|---|---|---|"
    for name, reasons in absent.items():
        for situation, reason in reasons.items():
            yield f"| `{name}` | {situation} | {reason} |"
    yield "\n## What is only possible, and why\n"
    yield "| | situation | file | reason |\n|---|---|---|---|"
    for name, rows in traps.items():
        for trap in rows:
            files = [file for file, found in trap.expected.items() if found == "possible"]
            if files:
                shown = ", ".join(f"`{file}`" for file in files)
                reason = trap.reason.replace("|", r"\|")
                yield f"| `{name}` | {trap.situation} | {shown} | {reason} |"
    yield ""


def _cell(traps: list[Trap]) -> str:
    found = Counter(certainty for trap in traps for certainty in trap.expected.values())
    return " ".join(f"{kind[0]}{found[kind]}" for kind in get_args(Certainty) if found[kind]) or " "


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(PROJECT))
