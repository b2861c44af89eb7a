"""Compares what the formats read from mutated examples with what another commit reads from them.

``make same-as REF=main~3`` reads the same mutations with both versions and prints, for each format,
how many readings differ and the first of them. The mutations start from the example of each format
and from the traps. It is the gate of a change that is meant to change no reading.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

_ROOT: Final = Path(__file__).resolve().parent.parent
_RATES: Final = (0.0, 0.01, 0.03, 0.1)
_JUNK: Final = (
    *(None, True, -1, 0, 1, 1.5, "", "x", "2026-01-01T00:00:05Z", 1770112801000, [], {}),
    *([1], {"a": 1}, "\ud800", 10**30, "assistant", "user", "tool"),
)


def _mutated(value: Any, rate: float, draw: random.Random) -> Any:
    """Return a value with parts replaced, left out and repeated."""
    if draw.random() < rate:
        return copy.deepcopy(draw.choice(_JUNK))
    if isinstance(value, dict):
        kept = [key for key in value if draw.random() > rate / 2]
        return {key: _mutated(value[key], rate, draw) for key in kept}
    if isinstance(value, list | tuple):
        return [
            _mutated(item, rate, draw)
            for item in value
            for _ in range((draw.random() >= rate / 2) + (draw.random() < rate / 2))
        ]
    return value


def _documents(content: Any) -> Any:
    """Return the decoded content of a file of a trap, or None where it is no JSON."""
    if not isinstance(content, str):
        return content
    try:
        is_lines = "\n" in content.strip()
        return [*map(json.loads, content.splitlines())] if is_lines else json.loads(content)
    except ValueError:
        return None


def write_inputs(path: Path, n: int, seed: int) -> None:
    """Write ``n`` mutations for each format, as lines of its name and the content of a file."""
    from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
    from tests.generated import all_traps

    draw = random.Random(seed)
    traps = [trap for group in all_traps().values() for trap in group]
    contents = [_documents(content) for trap in traps for content in trap.files.values()]
    with path.open("w", encoding="utf-8") as file:
        for name, form in FORMATS.items():
            seeds = [json.loads(json.dumps(form.example))] if _is_plain(form.example) else []
            for content in contents:
                is_lines = isinstance(form, LineFormat) and isinstance(content, list)
                if is_lines and any(isinstance(o, dict) and form.recognises(o) for o in content):
                    seeds.append(content)
                is_document = isinstance(form, DocumentFormat) and isinstance(content, dict)
                if is_document and form.recognises(content):
                    seeds.append(content)
            for _ in range(n if seeds else 0):
                mutation = _mutated(draw.choice(seeds), draw.choice(_RATES), draw)
                file.write(json.dumps([name, mutation]) + "\n")


def _is_plain(example: Any) -> bool:
    try:
        json.dumps(example)
    except (TypeError, ValueError):
        return False
    return True


def _ordered(name: str, value: Any) -> Any:
    """Return a field without an order that means nothing: flags are a set."""
    return sorted(set(value)) if isinstance(value, frozenset) or name == "flags" else value


def readings(path: Path) -> Iterator[tuple[str, str]]:
    """Yield, for each line of inputs, the format and what is read, as text."""
    from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
    from retrieval_eval.io.files import Line

    encoder = msgspec.json.Encoder(enc_hook=repr)
    known = dict(FORMATS.items())
    with path.open(encoding="utf-8") as file:
        for line in file:
            name, content = json.loads(line)
            form = known.get(name)
            try:
                if isinstance(form, LineFormat):
                    items = content if isinstance(content, list) else [content]
                    found: Any = form.read([Line(n, v) for n, v in enumerate(items, 1)], name)
                elif isinstance(form, DocumentFormat) and isinstance(content, dict):
                    found = form.read(content, name)
                else:
                    found = None
                text = repr(found)
                if isinstance(found, msgspec.Struct):
                    stated = {f: getattr(found, f) for f in found.__struct_fields__}
                    stated = {k: _ordered(k, v) for k, v in stated.items()}
                    text = encoder.encode(stated | {"items": [*stated.get("items", ())]}).decode()
            except Exception as error:  # noqa: BLE001  # an error is a difference like any other
                text = f"error: {error!r}"
            yield name, text


def _read_by(checkout: Path, inputs: Path, output: Path) -> None:
    """Have the package of a checkout read the inputs, with this script."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import runpy;"
        "sys.argv = ['same_as', '--read', *sys.argv[2:]];"
        f"runpy.run_path({str(Path(__file__).resolve())!r}, run_name='__main__')"
    )
    command = [sys.executable, "-c", code, str(checkout), str(inputs), str(output)]
    subprocess.run(command, check=True, cwd=checkout)


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            name, text = json.loads(line)
            yield name, text


def compare(ref: str, n: int, seed: int) -> int:
    """Print the differences to the commit ``ref`` and return their number."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        other, inputs = folder / "other", folder / "inputs.jsonl"
        git = ["git", "-C", str(_ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(other), ref], check=True)
        try:
            write_inputs(inputs, n, seed)
            before, now = folder / "before.jsonl", folder / "now.jsonl"
            _read_by(other, inputs, before)
            _read_by(_ROOT, inputs, now)
            n_read: dict[str, int] = {}
            differ: dict[str, list[tuple[str, str]]] = {}
            for (form, old), (_, new) in itertools.zip_longest(_lines(before), _lines(now)):
                n_read[form] = n_read.get(form, 0) + 1
                if old != new:
                    differ.setdefault(form, []).append((old, new))
        finally:
            subprocess.run([*git, "remove", "--force", str(other)], check=True)
    for form, count in n_read.items():
        found = differ.get(form, [])
        print(f"{form:30} {count:6} readings, {len(found):5} differ")
        if found:
            old, new = min(found, key=lambda pair: len(pair[0]))
            first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
            start = max(0, first - 120)
            print(
                f"    before …{old[start : first + 120]}…\n    now    …{new[start : first + 120]}…"
            )
    total = sum(map(len, differ.values()))
    print(f"{sum(n_read.values())} readings, {total} differ from {ref}")
    return total


def main() -> None:
    """Compare with another commit, or read inputs for that comparison."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ref", nargs="?", default="HEAD", help="the commit to compare with")
    parser.add_argument("-n", type=int, default=600, help="mutations of each format")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--read", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        inputs, output = options.read
        with output.open("w", encoding="utf-8") as file:
            for pair in readings(inputs):
                file.write(json.dumps(pair) + "\n")
        return
    sys.exit(min(compare(options.ref, options.n, options.seed), 1))


if __name__ == "__main__":
    main()
