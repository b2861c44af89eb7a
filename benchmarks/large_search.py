"""Carry a gold set of many queries through every search command: seconds and memory by command.

    python benchmarks/large_search.py [--queries 10000] [--depth 100] [--noise-runs 10]

The gold set is made: queries of three corpora with ten judged documents each, one in twenty without
an answer. The rankings are those of two systems, written as ranked files; the second orders the
documents of one query in ten differently. Noise is measured by repeating a system that answers as
the first one, with another answer to one query in a hundred. Each command is timed in a process of
its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

CORPORA = ("handbook", "precedents", "tickets")
AREAS = ("billing", "leave", "security", "travel", "contracts")
N_JUDGED = 10
N_UNANSWERABLE = 20
"""One query in so many has no answer."""

Answers = dict[str, list[str]]


def queries(n: int, dice: random.Random) -> Iterator[dict[str, object]]:
    for number in range(n):
        corpus = CORPORA[number % len(CORPORA)]
        is_answerable = number % N_UNANSWERABLE != 0
        judged = {f"{corpus}-{number}-{i}": dice.randrange(3) for i in range(N_JUDGED)}
        judged[f"{corpus}-{number}-0"] = 2
        yield {
            "id": f"q{number:05d}",
            "query": f"which rule number {number} holds for {dice.choice(AREAS)} of {corpus}",
            "corpus": corpus,
            "area": AREAS[number % len(AREAS)],
            "relevant": judged if is_answerable else {},
            "source": "chair" if number % 3 else "bootstrap",
            "origin": "replayed",
            "answerable": is_answerable,
        }


def answers(rows: Sequence[dict[str, object]], depth: int, dice: random.Random) -> Answers:
    """Rank seven of ten judged documents amid others; half of what has no answer gets none."""
    found = {}
    for row in rows:
        name, judged = str(row["id"]), row["relevant"]
        assert isinstance(judged, dict)
        if not judged and dice.random() < 0.5:
            found[name] = []
            continue
        kept = [doc for doc in judged if dice.random() < 0.7]
        docs = kept + [f"{row['corpus']}-x{dice.randrange(10**7)}" for _ in range(depth)]
        docs = list(dict.fromkeys(docs))[:depth]
        places = {
            doc: place + (20 * dice.random() if place < 20 else 0) for place, doc in enumerate(docs)
        }
        found[name] = sorted(docs, key=places.__getitem__)
    return found


def changed(first: Answers, share: float, dice: random.Random) -> Answers:
    """Swap one of the first ten documents with one of the first forty in a share of the queries."""
    found = {}
    for name, docs in first.items():
        own = list(docs)
        if own and dice.random() < share:
            a, b = dice.randrange(min(10, len(own))), dice.randrange(min(40, len(own)))
            own[a], own[b] = own[b], own[a]
        found[name] = own
    return found


SYSTEM = "made_system"
NOISY = '''\
"""The first system with another answer to one query in a hundred, by chance."""

import json
import random
from pathlib import Path


class Noisy:
    def __init__(self):
        rows = map(json.loads, Path("a.jsonl").read_text(encoding="utf-8").splitlines())
        self.found = [[(d["doc"], d["score"]) for d in row["ranking"]] for row in rows]

    def search(self, query, *, corpus, k):
        found = self.found[int(query.split()[3])][:k]
        if not found or random.random() > 0.01:
            return found
        docs = [doc for doc, _ in found]
        a, b = random.randrange(10), random.randrange(40)
        docs[a], docs[b] = docs[b], docs[a]
        return list(zip(docs, (score for _, score in found), strict=True))
'''


def write_rankings(path: Path, found: Answers) -> None:
    with path.open("w", encoding="utf-8") as file:
        for name, docs in found.items():
            ranking = [{"doc": doc, "score": float(len(docs) - i)} for i, doc in enumerate(docs)]
            file.write(json.dumps({"id": name, "ranking": ranking}) + "\n")


def measured(
    step: str,
    arguments: Sequence[str],
    *,
    allowed: Sequence[int] = (0,),
    folder: Path | None = None,
) -> str:
    """Run a command and return its row: seconds, processor seconds, peak memory, exit code."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "retrieval_eval", "search", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    if code not in allowed:
        raise SystemExit(f"{step}: exit code {code}\n{said.decode()[-2000:]}")
    seconds = time.perf_counter() - start
    processor = used.ru_utime + used.ru_stime
    return f"| {step} | {seconds:.0f} | {processor:.0f} | {used.ru_maxrss / 1e3:.0f} |"


def size(path: Path) -> str:
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return f"{sum(one.stat().st_size for one in files) / 1e6:.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--noise-runs", type=int, default=10)
    parser.add_argument("--root", type=Path, help="Keep the files in this folder.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        carry_through(given.root or Path(folder), given.queries, given.depth, given.noise_runs)


def carry_through(root: Path, n: int, depth: int, n_runs: int) -> None:
    dice = random.Random(7)
    rows = list(queries(n, dice))
    first = answers(rows, depth, dice)
    root.mkdir(parents=True, exist_ok=True)
    gold = root / "gold-set.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    write_rankings(root / "a.jsonl", first)
    write_rankings(root / "b.jsonl", changed(first, 0.1, dice))
    print(f"{n:,} queries, {depth} documents each\n")
    print("| command | seconds | processor seconds | peak MB |")
    print("|---|---:|---:|---:|")

    def run_of(name: str, label: str, out: str) -> list[str]:
        asked = ["--retriever", f"run:{root / name}", "--gold", str(gold), "--depth", str(depth)]
        return ["run", *asked, "--label", label, "--out", str(root / out)]

    def only(folder: str) -> str:
        return str(next((root / folder).glob("eval-report-*.json")))

    print(measured("run", run_of("a.jsonl", "a", "a")), flush=True)
    before = only("a")
    other = run_of("b.jsonl", "b", "b")
    print(measured("run beside a baseline", [*other, "--baseline", before]), flush=True)
    after = only("b")
    print(measured("diff", ["diff", before, after], allowed=(0, 2)), flush=True)
    print(
        measured(
            "diff, page",
            ["report", before, after, "--reports-dir", str(root / "pages")],
            allowed=(0, 2),
        ),
        flush=True,
    )
    guard = ["guard", after, "--baseline", before, "--gold", str(gold)]
    print(measured("guard", guard, allowed=(0, 1, 2)), flush=True)
    (root / f"{SYSTEM}.py").write_text(NOISY, encoding="utf-8")
    noise, asked = str(root / "noise.json"), ["--gold", str(gold)]
    repeated = ["noise", "--retriever", f"{SYSTEM}:Noisy", *asked, "--repeats", str(n_runs)]
    step = f"noise of {n_runs} runs"
    print(measured(step, [*repeated, "--out", noise], folder=root), flush=True)
    page = ["report", after, "--gold", str(gold), "--baseline", before, "--noise", noise]
    print(measured("report", [*page, "--reports-dir", str(root / "pages")]), flush=True)
    print(f"\nThe run is {size(Path(after))}, the page with its tables {size(root / 'pages')}.")


if __name__ == "__main__":
    main()
