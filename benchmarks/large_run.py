"""Evaluate a generated run of many trials in two arms: seconds by step, and peak memory.

    python benchmarks/large_run.py [--tasks 6000] [--repositories 1500] [--jobs 1]
    python benchmarks/large_run.py --compare-jobs [--copies 6]
    python benchmarks/large_run.py --shapes

Every task is run once under either configuration; a trial is a transcript of a few reads (some
2 kB) with a cost, a time and a reward. What is measured is the work around the trials, so the
traces are small. Each step is timed in a child process of its own, which also tells its memory.

With ``--compare-jobs`` the trials of the demonstration, copied some times, are evaluated by one
process and by two, three times in turns. Each part of the work is timed, in the process that
evaluates and in those that it starts.

With ``--shapes`` the analysis alone is measured over generated documents of very few trials, and of
very many configurations: the first in a new process, which imports what it computes with, and again
in the same process.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

CONFIGS = ("baseline-local", "mcp-remote")
SUITES = ("made_fix", "made_feature", "made_review")
START = "2026-01-05T10:00:00Z"
N_TRUTH = 4
N_READS = 6


def write_run(root: Path, n_tasks: int, n_repositories: int, seed: int = 7) -> None:
    """Write the tasks with their ground truth, and a trial of each under both configurations."""
    dice = random.Random(seed)
    for number in range(n_tasks):
        task, suite = f"task-{number:05d}", SUITES[number % len(SUITES)]
        # Few repositories have many tasks and many have few.
        repository = f"repo-{int(n_repositories * dice.random() ** 2)}"
        files = [{"path": f"src/m{i}.py", "repo": repository} for i in range(N_TRUTH)]
        write(root / "benchmarks" / suite / task / "tests/ground_truth.json", {"files": files})
        ease = dice.random()
        for c, config in enumerate(CONFIGS):
            folder = root / "runs/large" / config / "2026-01-05__10-00-00" / f"{task}__{c:07d}"
            share = min(1.0, max(0.0, ease + 0.05 * c + dice.gauss(0, 0.2)))
            reads = [
                f"src/m{i % N_TRUTH}.py" if dice.random() < share else f"src/other{i}.py"
                for i in range(N_READS)
            ]
            write_trial(folder, task, reads, share, dice)


def write_trial(
    folder: Path, task: str, reads: list[str], share: float, dice: random.Random
) -> None:
    cost = round(0.1 + dice.expovariate(2.0), 4)
    result = {
        "task_name": task,
        "trial_name": folder.name,
        "started_at": START,
        "finished_at": f"2026-01-05T10:{dice.randrange(1, 60):02d}:{dice.randrange(60):02d}Z",
        "agent_info": {"name": "claude-code", "version": "2.0.0", "model_info": {"name": "m-1"}},
        "agent_execution": {"started_at": START, "finished_at": "2026-01-05T10:00:50Z"},
        "agent_result": {"n_input_tokens": dice.randrange(9999), "cost_usd": cost},
        "verifier_result": {"rewards": {"reward": float(dice.random() < share)}},
    }
    write(folder / "result.json", result)
    begin = {"type": "system", "subtype": "init", "cwd": "/workspace", "model": "m-1"}
    lines: list[dict[str, Any]] = [begin | {"session_id": "s"}]
    for number, path in enumerate(reads):
        stamp = f"2026-01-05T10:00:{number + 5:02d}Z"
        use = {"type": "tool_use", "id": f"t{number}", "name": "Read"}
        call = use | {"input": {"file_path": f"/workspace/{path}"}}
        usage = {"input_tokens": dice.randrange(50, 500), "output_tokens": 10}
        said = {"id": f"m{number}", "role": "assistant", "content": [call], "usage": usage}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "     1\tx"}
        lines.append({"type": "assistant", "message": said, "timestamp": stamp})
        back = {"role": "user", "content": [answer]}
        lines.append({"type": "user", "message": back, "timestamp": stamp})
    end = {"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": cost}
    lines.append(end | {"usage": {"input_tokens": 600, "output_tokens": 60}})
    target = folder / "agent/claude-code.txt"
    target.parent.mkdir(parents=True)
    target.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def write(path: Path, document: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")


def evaluate_all(root: Path, jobs: int) -> None:
    from retrieval_eval.agents.runs.evaluate import evaluate

    folders = {"runs_root": root / "runs", "benchmarks_root": root / "benchmarks"}
    evaluate(["large"], **folders, output_dir=root, jobs=jobs)


def analyse(root: Path, part: str) -> None:
    """Run one part of the analysis over the metric documents in a folder."""
    from retrieval_eval.agents import study

    folder = root / "large/retrieval_events"
    paths = sorted(folder.rglob("*.retrieval_metrics.json"))
    read = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    start = time.process_time()
    if part == "associations":
        study.associate(read, seed=1)
    elif part == "comparison":
        study.compare(read, *CONFIGS, seed=1)
    elif part == "analysis":
        study.impact_analysis(read, seed=1)
    print(f"{time.process_time() - start:.1f}", end="")


def write_copies(root: Path, n_copies: int) -> int:
    """Write the demonstration with each trial some times, as repeats; return the trials."""
    from retrieval_eval.demo import write_demo

    write_demo(root)
    trials = sorted(path.parent for path in (root / "runs/demo").rglob("agent"))
    for trial in trials:
        for number in range(1, n_copies):
            shutil.copytree(trial, trial.with_name(f"{trial.name[:-7]}{number:07d}"))
    return len(trials) * n_copies


def time_parts(root: Path, jobs: int) -> None:
    """Evaluate a run, and print for each part the seconds, and processor seconds by process."""
    import retrieval_eval.agents.runs  # noqa: F401  not a part of the work

    module = sys.modules["retrieval_eval.agents.runs.evaluate"]
    found: dict[str, list[float]] = {}

    def now() -> list[float]:
        started = resource.getrusage(resource.RUSAGE_CHILDREN)
        return [time.perf_counter(), time.process_time(), started.ru_utime + started.ru_stime]

    def timed(part: str, function: Any) -> Any:
        def run(*args: Any, **options: Any) -> Any:
            before = now()
            result = function(*args, **options)
            spent = [after - was for after, was in zip(now(), before, strict=True)]
            found[part] = [a + b for a, b in zip(found.get(part, [0.0] * 3), spent, strict=True)]
            return result

        return run

    for name in ("_discover", "_run_jobs", "_finish"):
        setattr(module, name, timed(name, getattr(module, name)))
    options = {"runs_root": root / "runs", "benchmarks_root": root / "benchmarks"}
    output = root / "out"
    timed("all", module.evaluate)(["demo"], **options, output_dir=output, jobs=jobs)
    shutil.rmtree(output)
    print(json.dumps(found))


PARTS = {
    "_discover": "find trials and tasks",
    "_run_jobs": "trials",
    "_finish": "summary and impact",
    "all": "all",
}


def compare_jobs(root: Path, n_copies: int, rounds: int = 3) -> None:
    """Print the parts of an evaluation by one process and by two, and what two would take."""
    print(f"{write_copies(root, n_copies):,} trials\n")
    kept: dict[int, dict[str, list[list[float]]]] = {1: {}, 2: {}}
    for _ in range(rounds):
        for jobs, parts in kept.items():
            command = [sys.executable, __file__, "--root", str(root), "--step", "parts"]
            command += ["--jobs", str(jobs)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            for part, numbers in json.loads(done.stdout.splitlines()[0]).items():
                parts.setdefault(part, []).append(numbers)
    print("| part | processes | seconds | processor seconds | of the processes it starts |")
    print("|---|---:|---:|---:|---:|")
    best = {}
    for part, label in PARTS.items():
        for jobs, parts in kept.items():
            wall, own, started = (min(column) for column in zip(*parts[part], strict=True))
            best[part, jobs] = wall, own, started
            print(f"| {label} | {jobs} | {wall:.2f} | {own:.2f} | {started:.2f} |")
    for part in ("_run_jobs", "all"):
        wall = best[part, 1][0] / best[part, 2][0]
        # Two processors: one for each process that is started, while the first one waits or writes.
        one, (_, own, started) = best[part, 1][1], best[part, 2]
        trials_own = best["_run_jobs", 2][1]
        serial = own - trials_own
        two = serial + max((started + trials_own) / 2, trials_own)
        print(f"\n{PARTS[part]}: {wall:.2f} times as fast, {one / two:.2f} by processor seconds")


SHAPES = {
    "1 trial": (1, 1),
    "5 trials of one configuration": (5, 1),
    "2 trials of one task": (1, 2),
    "6 trials of 3 tasks": (3, 2),
    "20 trials of 10 tasks": (10, 2),
    "11,811 trials of 381 configurations": (31, 381),
}
"""How many tasks and configurations there are."""


def analyse_shape() -> None:
    """Print the milliseconds of the analysis of documents that are read, and of another one."""
    from retrieval_eval.agents import study

    documents = json.load(sys.stdin)
    times = []
    for _ in range(1 if len(documents) > 1000 else 4):
        start = time.process_time()
        study.impact_analysis(documents, seed=1)
        times.append(1e3 * (time.process_time() - start))
    loaded = [name for name in ("numpy", "scipy") if name in sys.modules]
    again = f"{min(times[1:]):.1f}" if times[1:] else ""
    print(f"{times[0]:.0f} | {again} | {', '.join(loaded) or 'none'}", end="")


def peak(process: int | str = "self") -> float:
    """Return the peak memory of a process in MB.

    That of its resource usage begins with the peak of the process which started it.
    """
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM"))


def measured(root: Path, step: str, jobs: int) -> str:
    start = time.perf_counter()
    command = [sys.executable, __file__, "--root", str(root), "--step", step, "--jobs", str(jobs)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    own, memory, processor = done.stdout.split("|")
    return (
        f"| {step} | {time.perf_counter() - start:.0f} | {float(processor):.0f} "
        f"| {own or '—'} | {float(memory):.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=6000)
    parser.add_argument("--repositories", type=int, default=1500)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--compare-jobs", action="store_true", help="one process and two")
    parser.add_argument("--copies", type=int, default=6, help="of each trial of the demonstration")
    parser.add_argument("--shapes", action="store_true")
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.shapes and not given.step:
        from associations import trials

        print("| trials | first, ms | again, ms | loaded |")
        print("|---|---:|---:|---|")
        for name, (n_tasks, n_configs) in SHAPES.items():
            command = [sys.executable, __file__, "--shapes", "--step", name]
            given_to = json.dumps(trials(n_tasks, n_configs, 1))
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, input=given_to
            )
            print(f"| {name} | {done.stdout.rsplit('|', 2)[0]} |", flush=True)
        return
    if given.step:
        if given.shapes:
            analyse_shape()
        elif given.step == "evaluate":
            evaluate_all(given.root, given.jobs)
        elif given.step == "parts":
            time_parts(given.root, given.jobs)
        else:
            analyse(given.root, given.step)
        print(f"|{peak()}|{time.process_time()}", end="")
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if given.compare_jobs:
            compare_jobs(root, given.copies)
            return
        steps = ("evaluate", "analysis", "comparison", "associations")
        write_run(root, given.tasks, given.repositories)
        print(f"{2 * given.tasks:,} trials of {given.tasks:,} tasks\n")
        print("| step | seconds | processor seconds | of these in the step alone | peak MB |")
        print("|---|---|---|---|---|")
        for step in steps:
            print(measured(root, step, given.jobs), flush=True)


if __name__ == "__main__":
    main()
