"""``make lab``: run every harness in every situation and write what our reading is worth.

``python -m tests.lab [--harness NAME] [--version VERSION] [--situation NAME] [--recorded]``. Needs
root, for network namespaces, and the registries of npm and PyPI; takes minutes a harness.
Recordings stay in ``build/lab``, the rows go to ``tests/lab/results.json``; with ``--recorded`` the
recordings of earlier runs are read again, and only what has none is run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.lab.compare import (
    NOT_STATED,
    RIGHT,
    compare,
    facts,
    given,
    part,
    read,
    roles,
    truth,
    verdict,
)
from tests.lab.drivers import ABSENT, Driver, registry, together, turns
from tests.lab.install import InstallError, install
from tests.lab.run import NAMESPACES
from tests.lab.situations import SITUATIONS, TOGETHER, Situation

_ROOT: Final = Path(__file__).resolve().parents[2]
_BUILD: Final = _ROOT / "build" / "lab"
_SILENT: Final = "it asked the model nothing"
_RESULTS: Final = Path(__file__).with_name("results.json")
_OF_RUN: Final = ("date", "seconds")


def lab(
    driver: Driver, version: str, situations: list[Situation], is_recorded: bool
) -> dict[str, Any]:
    """Install a harness, run it in the situations, and return its rows."""
    begun = time.monotonic()
    try:
        installed, found = install(driver, version, _BUILD)
    except InstallError as error:
        return {"version": version, "not_run": str(error)}
    runs: list[tuple[Situation, list[Situation]]] = []
    shared = together(driver, situations)
    if len(shared) > 1:
        runs.append((TOGETHER, shared))
    else:
        shared = []
    runs += [(one, [one]) for one in situations if one not in shared]
    rows: dict[str, Any] = {}
    traces: dict[str, Any] = {}
    for run, members in runs:
        reason = turns(driver, run)
        folder = _BUILD / "runs" / driver.name / run.name
        if not isinstance(reason, str):
            has_run = is_recorded and (folder / "status").exists()
            reason = None if has_run else _run(driver, run, installed, folder)
        if reason is None:
            reason = _read(driver, found, run, members, folder, rows, traces)
        rows |= {} if reason is None else {one.name: {"not_run": reason} for one in members}
        for one in members:
            print(f"{driver.name} {found} {one.name}: {_short(rows[one.name])}", flush=True)
        if _is_hopeless(rows):
            break
    today = datetime.now(UTC).date().isoformat()
    head = {"version": found, "date": today, "seconds": round(time.monotonic() - begun)}
    return {**head, "traces": _counted(traces, rows), "situations": rows}


def _run(driver: Driver, situation: Situation, installed: Path, folder: Path) -> str | None:
    """Run a harness once; return why it did not run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    here = [sys.executable, "-m", "tests.lab.run", driver.name, situation.name]
    limit = 5 * driver.seconds
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


def _read(
    driver: Driver,
    version: str,
    run: Situation,
    members: list[Situation],
    folder: Path,
    rows: dict[str, Any],
    traces: dict[str, Any],
) -> str | None:
    """Add the rows of a run's traces, and what holds of each kind of them in all runs.

    Returns why there is nothing to compare, if so.
    """
    known = truth(driver, folder)
    if not known.requests:
        texts = [(folder / name).read_text(errors="replace") for name in ("stdout", "stderr")]
        return f"{_SILENT}: {' '.join(' '.join(texts).split())[-300:]}"
    for kind, pattern in driver.traces.items():
        # A forked run has a file of its own beside the other.
        paths = sorted(folder.glob(pattern))
        if run.mode == "fork":
            paths.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        if run.then and pattern == "stdout":
            continue
        found = read(paths[0], kind.split()[0]) if paths else "it wrote no such trace"
        if isinstance(found, str):
            row: dict[str, Any] = {"verdict": "unread", "wrong": [found]}
            for one in members:
                rows.setdefault(one.name, {})[kind] = row
            continue
        stated = facts(driver, version, known, found)
        wrong = _wrong(stated)
        empty: dict[str, Any] = {"facts": {}, "given_unseen": set(), "given_unread": set()}
        whole = traces.setdefault(kind, {**empty, "wrong": []})
        _count(whole["facts"], stated)
        is_shared = run is TOGETHER
        whole["wrong"] += wrong if is_shared else []
        for one in members:
            trial = part(found.trial, one) if is_shared else found.trial
            row = compare(one, given(known, one, is_shared=is_shared), trial, paths[0])
            mine = roles(one, trial)
            _count(whole["facts"], mine)
            row["wrong"] += _wrong(mine)
            for known_as in ("given_unseen", "given_unread"):
                whole[known_as].update(row.pop(known_as))
            if not is_shared:
                row["wrong"] += wrong
            kept = {key: value for key, value in row.items() if value}
            rows.setdefault(one.name, {})[kind] = {"verdict": verdict(row), **kept}
    for one in members:
        rows.setdefault(one.name, {"not_run": "each of its runs prints a stream of its own"})
    return None


def _wrong(stated: dict[str, str]) -> list[str]:
    return [text for text in stated.values() if text not in {RIGHT, NOT_STATED}]


def _count(facts: dict[str, dict[str, int]], stated: dict[str, str]) -> None:
    """Add to the count of runs, or of situations, in which a fact is right, not stated or wrong."""
    for name, text in stated.items():
        verdict = text if text in {RIGHT, NOT_STATED} else "wrong"
        counts = facts.setdefault(name, {})
        counts[verdict] = counts.get(verdict, 0) + 1


def _is_hopeless(rows: dict[str, Any]) -> bool:
    """Whether what happened so far will happen in every situation."""
    return all(
        _SILENT in row["not_run"]
        if "not_run" in row
        else all(found["verdict"] == "unread" for found in row.values())
        for row in rows.values()
    )


def _short(row: dict[str, Any]) -> str:
    if "not_run" in row:
        return f"not run ({row['not_run'][:100]})"
    return "; ".join(
        f"{kind} {found['verdict']} {found.get('wrong') or ''}" for kind, found in row.items()
    )


def _counted(traces: dict[str, Any], rows: dict[str, Any]) -> dict[str, Any]:
    """Add to each kind of trace how often which verdict was reached."""
    counts: dict[str, Counter[str]] = {}
    for row in rows.values():
        for kind, found in row.items():
            counts.setdefault("" if kind == "not_run" else kind, Counter())[
                "not_run" if kind == "not_run" else found["verdict"]
            ] += 1
    counted = {}
    for kind, verdicts in sorted(counts.items()):
        whole = {
            key: value if key == "facts" else sorted(value)
            for key, value in traces.get(kind, {}).items()
            if value
        }
        counted[kind or "none"] = {"verdicts": dict(sorted(verdicts.items())), **whole}
    return counted


def _text(results: dict[str, Any]) -> str:
    """Return the results as JSON, with a line a situation, so that changes can be read."""
    harnesses = []
    for name, found in sorted(results.items()):
        rows = found.get("situations", {})
        lines = [f"{_line(key)}: {_line(row)}" for key, row in rows.items()]
        head = {key: value for key, value in found.items() if key != "situations"}
        body = [f"{_line(key)}: {_line(value)}" for key, value in head.items()]
        body += ['"situations": {\n   ' + ",\n   ".join(lines) + "\n  }"] if lines else []
        harnesses.append(f" {_line(name)}: {{\n  " + ",\n  ".join(body) + "\n }")
    return "{\n" + ",\n".join(harnesses) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--harness", action="append", choices=sorted({*registry(), *ABSENT}))
    parser.add_argument("--version", default="latest")
    parser.add_argument("--situation", action="append", choices=[one.name for one in SITUATIONS])
    parser.add_argument("--recorded", action="store_true")
    asked = parser.parse_args()
    situations = [one for one in SITUATIONS if not asked.situation or one.name in asked.situation]
    for name in asked.harness or sorted({*registry(), *ABSENT}):
        if name in ABSENT:
            found: dict[str, Any] = {"not_run": ABSENT[name]}
        else:
            found = lab(registry()[name], asked.version, situations, asked.recorded)
        if not asked.situation:
            results = json.loads(_RESULTS.read_text(encoding="utf-8")) if _RESULTS.exists() else {}
            if asked.recorded:
                found |= {
                    key: results[name][key] for key in _OF_RUN if key in results.get(name, {})
                }
            results[name] = found
            _RESULTS.write_text(_text(results), encoding="utf-8")
        verdicts = {kind: whole["verdicts"] for kind, whole in found.get("traces", {}).items()}
        print(name, found.get("version"), verdicts, found.get("not_run", ""))


if __name__ == "__main__":
    main()
