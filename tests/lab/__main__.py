"""``make lab``: run every harness in every situation and write what our reading is worth.

``python -m tests.lab [--harness NAME] [--version VERSION] [--situation NAME] [--recorded]``. Needs
root, for network namespaces, and the registries of npm and PyPI; takes minutes a harness.
Recordings stay in ``build/lab``, the rows go to ``tests/lab/results.json``; with ``--recorded`` the
recordings of the last run are read again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.lab.compare import compare, truth
from tests.lab.drivers import Driver, registry, turns
from tests.lab.install import InstallError, install
from tests.lab.run import NAMESPACES
from tests.lab.situations import SITUATIONS, Situation

_ROOT: Final = Path(__file__).resolve().parents[2]
_BUILD: Final = _ROOT / "build" / "lab"
_SILENT: Final = "it asked the model nothing"
_RESULTS: Final = Path(__file__).with_name("results.json")


def lab(
    driver: Driver, version: str, situations: list[Situation], is_recorded: bool
) -> dict[str, Any]:
    """Install a harness, run it in the situations, and return its rows."""
    begun = time.monotonic()
    try:
        installed, found = install(driver, version, _BUILD)
    except InstallError as error:
        return {"version": version, "not_run": str(error)}
    rows: dict[str, Any] = {}
    for situation in situations:
        rows[situation.name] = _situation(driver, found, situation, installed, is_recorded)
        print(f"{driver.name} {found} {situation.name}: {_short(rows[situation.name])}", flush=True)
        if len(rows) == 1 and _is_hopeless(rows[situation.name]):
            return {"version": found, "first": rows[situation.name]}
    seconds = round(time.monotonic() - begun)
    head = {"version": found, "seconds": seconds}
    return {**head, **_summary(rows), "situations": rows}


def _situation(
    driver: Driver, version: str, situation: Situation, installed: Path, is_recorded: bool
) -> dict[str, Any]:
    reason = turns(driver, situation)
    if isinstance(reason, str):
        return {"not_run": reason}
    folder = _BUILD / "runs" / driver.name / situation.name
    reason = None if is_recorded else _run(driver, situation, installed, folder)
    if reason:
        return {"not_run": reason}
    return _rows(driver, version, situation, folder)


def _run(driver: Driver, situation: Situation, installed: Path, folder: Path) -> str | None:
    """Run a harness once; return why it did not run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    here = [sys.executable, "-m", "tests.lab.run", driver.name, situation.name]
    limit = 2 * driver.seconds + 30
    try:
        done = subprocess.run(
            [*NAMESPACES, *here, str(installed), str(folder)],
            cwd=_ROOT,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {limit} s"
    return " ".join(done.stderr.split())[-300:] or "it failed" if done.returncode else None


def _rows(driver: Driver, version: str, situation: Situation, folder: Path) -> dict[str, Any]:
    """Return the row of each trace that a run left."""
    known = truth(folder)
    if not known.requests:
        texts = [(folder / name).read_text(errors="replace") for name in ("stdout", "stderr")]
        return {"not_run": f"{_SILENT}: {' '.join(' '.join(texts).split())[-300:]}"}
    row = {}
    for kind, pattern in driver.traces.items():
        paths = sorted(folder.glob(pattern))
        if not paths:
            row[kind] = {"verdict": "wrong", "wrong": ["it wrote no such trace"]}
        elif not (situation.then and pattern == "stdout"):
            row[kind] = compare(driver, version, situation, known, paths[0], kind)
    return row


def _is_hopeless(row: dict[str, Any]) -> bool:
    """Whether what happened in the first situation will happen in all."""
    if "not_run" in row:
        return _SILENT in row["not_run"]
    return all(found["verdict"] == "unread" for found in row.values())


def _short(row: dict[str, Any]) -> str:
    if "not_run" in row:
        return f"not run ({row['not_run'][:100]})"
    return "; ".join(
        f"{kind} {found['verdict']} {found.get('wrong') or ''}" for kind, found in row.items()
    )


def _summary(rows: dict[str, Any]) -> dict[str, Any]:
    """Count the verdicts of each format, and list the facts that any of its traces states."""
    counts: dict[str, Counter[str]] = {}
    stated: dict[str, set[str]] = {}
    for row in rows.values():
        for kind, found in row.items():
            if kind != "not_run":
                counts.setdefault(kind, Counter())[found["verdict"]] += 1
                stated.setdefault(kind, set()).update(found.pop("stated", ()))
    return {
        "counts": {kind: dict(sorted(found.items())) for kind, found in sorted(counts.items())},
        "stated": {kind: sorted(found) for kind, found in sorted(stated.items())},
        "not_run": sum("not_run" in row for row in rows.values()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--harness", action="append", choices=sorted(registry()))
    parser.add_argument("--version", default="latest")
    parser.add_argument("--situation", action="append", choices=[one.name for one in SITUATIONS])
    parser.add_argument("--recorded", action="store_true")
    asked = parser.parse_args()
    situations = [
        one for one in SITUATIONS if not asked.situation or one.name in asked.situation
    ]
    for name in asked.harness or registry():
        found = lab(registry()[name], asked.version, situations, asked.recorded)
        if not asked.situation:
            results = json.loads(_RESULTS.read_text(encoding="utf-8")) if _RESULTS.exists() else {}
            results[name] = found
            text = json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False)
            _RESULTS.write_text(text + "\n", encoding="utf-8")
        print(name, found["version"], found.get("counts"), found.get("not_run"))


if __name__ == "__main__":
    main()
