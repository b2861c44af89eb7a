"""How much memory one huge transcript takes: bytes, lines and calls each made large alone.

Three generated trials, each evaluated alone in a process of its own:

- *long results*: transcript of a Claude Code session whose tools return tens of kilobytes;
- *lines*: one of very many lines that hold no call;
- *small calls*: one of very many calls whose results are a line or two. The event document holds
  each of them, so this alone grows; the script states by how many bytes a call.

Sizes are a part of those of a run with ``--part 1``: 500 MB, 10 million lines, 400,000 calls.

    python benchmarks/trace_memory.py            # a tenth: about two minutes
    python benchmarks/trace_memory.py --part 1
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LONG_MB = 500
LINES = 10_000_000
CALLS = 400_000

MEASURE = """
import json, resource, sys, time
from pathlib import Path
from retrieval_eval.agents.runs import trial
from retrieval_eval.records import FileRef, GroundTruth, TrialRef

files = (FileRef(f"src/pkg{i % 40}/file{i}.py") for i in range(0, 3000, 300))
trial.load_ground_truth = lambda _: GroundTruth(files=tuple(files))
place = Path(sys.argv[1])
job = trial.Job(TrialRef("r", "c", None, "t", place, "t", raw_task_name="t"), None, "c/t", (10,))
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before, started = peak(), time.process_time()
made = trial.evaluate_trial(job)
n_calls = json.loads(made.metrics)["ledger"]["calls_seen"]
spent = time.process_time() - started
print(json.dumps([n_calls, len(made.events), before, peak(), spent, list(made.notes)]))
"""

_FILES = [f"src/pkg{i % 40}/file{i}.py" for i in range(3000)]
_CODE = "\n".join(f"{i:6}\tdef function_{i}(one, other):  # text, {i * 7}" for i in range(1, 800))


def session(lines: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the lines of a session around others."""
    yield {"type": "system", "subtype": "init", "session_id": "s", "tools": [], "cwd": "/workspace"}
    yield from lines
    yield {"type": "result", "subtype": "success", "is_error": False, "session_id": "s"}


def call(n: int, name: str, arguments: dict[str, Any], result: str) -> Iterator[dict[str, Any]]:
    """Yield the two lines of a tool call."""
    use = {"type": "tool_use", "id": f"toolu_{n:016d}", "name": name, "input": arguments}
    usage = {"input_tokens": 100, "output_tokens": 5}
    said = {"id": f"msg_{n:020d}", "model": "m", "content": [use], "usage": usage}
    yield {"type": "assistant", "session_id": "s", "message": said}
    answer = {"type": "tool_result", "tool_use_id": f"toolu_{n:016d}", "content": result}
    yield {"type": "user", "session_id": "s", "message": {"role": "user", "content": [answer]}}


def long_results(part: float) -> Iterator[dict[str, Any]]:
    """Yield reads and searches with long results."""
    draws, n, size = random.Random(3), 0, 0.0
    while size < part * LONG_MB * 1e6:
        n += 1
        file = draws.choice(_FILES)
        text = _CODE[: draws.randint(15_000, 40_000)]
        size += len(text) * 1.1
        if n % 3:
            yield from call(n, "Read", {"file_path": f"/workspace/{file}"}, text)
        else:
            yield from call(n, "Bash", {"command": f"cd /workspace && cat {file}"}, text)


def many_lines(part: float) -> Iterator[dict[str, Any]]:
    """Yield lines without a call."""
    yield from call(1, "Read", {"file_path": f"/workspace/{_FILES[0]}"}, "     1\timport os")
    for _ in range(int(part * LINES)):
        yield {"type": "stream_event"}


def small_calls(part: float) -> Iterator[dict[str, Any]]:
    """Yield calls with results of one or two lines."""
    draws = random.Random(3)
    for n in range(int(part * CALLS)):
        file = draws.choice(_FILES)
        if n % 2:
            yield from call(n, "Read", {"file_path": f"/workspace/{file}"}, "     1\timport os")
        else:
            found = "\n".join(f"{draws.choice(_FILES)}:{i}:x = {i}" for i in (1, 2))
            yield from call(n, "Grep", {"pattern": "x", "output_mode": "content"}, found)


KINDS: dict[str, Callable[[float], Iterator[dict[str, Any]]]] = {
    "long results": long_results,
    "lines": many_lines,
    "small calls": small_calls,
}


def measured(lines: Iterator[dict[str, Any]]) -> dict[str, float]:
    """Return calls, sizes, peaks and processor seconds of the evaluation of one transcript."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "agent" / "claude-code.txt"
        trace.parent.mkdir()
        with trace.open("w") as stream:
            stream.writelines(json.dumps(line) + "\n" for line in session(lines))
        command = [sys.executable, "-c", MEASURE, folder]
        output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        calls, document, before, peak, seconds, notes = json.loads(output)
        if notes:
            raise RuntimeError(notes)
        size = trace.stat().st_size
    return {
        "calls": calls,
        "MB": size / 1e6,
        "document MB": document / 1e6,
        "before MB": before / 1e6,
        "peak MB": peak / 1e6,
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--part", type=float, default=0.1, help="of the full sizes (default: 0.1)")
    parser.add_argument("--only", choices=KINDS)
    options = parser.parse_args()
    names = ("calls", "MB", "document MB", "before MB", "peak MB", "seconds")
    print("| transcript | " + " | ".join(names) + " | peak bytes a call |")
    print("|---|" + "---:|" * (len(names) + 1))
    for kind, make in KINDS.items():
        if options.only not in (None, kind):
            continue
        # Half of it too: what a call takes is the difference, without what every process takes.
        half, whole = (measured(make(options.part * share)) for share in (0.5, 1))
        more = whole["calls"] - half["calls"]
        each = (whole["peak MB"] - half["peak MB"]) * 1e6 / more if more else 0
        cells = [f"{half[n]:,.0f} to {whole[n]:,.0f}" for n in names]
        print(f"| {kind} | " + " | ".join(cells) + f" | {each:,.0f} |")


if __name__ == "__main__":
    main()
