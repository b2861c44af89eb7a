"""A team adopts the guard: a repository of its own, the wheel, three commands and the workflow.

The steps of the workflow are executed as written, but for three things that need GitHub: its two
``uses`` steps (the checkout and its Python are there already), its variables, which are set here,
and the package index. All packages that the tool needs are in the environment before, linked from
that of the tests, and pip is not allowed to download any.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from retrieval_eval.cli.main import run
from retrieval_eval.search.guard.rendering import MARKER
from retrieval_eval.search.guard.thresholds import read_thresholds, shipped_thresholds
from retrieval_eval.search.run_files import run_bytes
from retrieval_eval.search.settings import Settings
from tests.guards import run_with
from tests.searches import answer, gold_query, gold_set, run_of

RETRIEVER = """
import json
from pathlib import Path

ROWS = [json.loads(line) for line in Path("kb.jsonl").read_text().splitlines()]


def search(query, *, corpus, k):
    words = set(query.lower().split())
    found = [(row["id"], len(words & set(row["text"].split()))) for row in ROWS]
    return sorted(((doc, n) for doc, n in found if n), key=lambda pair: (-pair[1], pair[0]))[:k]
"""
TOPICS = ["levy", "permit", "deposit", "tariff", "grant", "licence", "appeal", "refund"]
ASPECTS = ["amount", "deadline", "form", "office", "proof"]
# What a new user types, word by word.
COMMANDS = (
    "retrieval-eval search guard --init --retriever mypkg.retrieval:search --workflow github",
    "retrieval-eval search run --retriever mypkg.retrieval:search --label again",
    "retrieval-eval search guard again",
)
STEPS = ["Install", "Measure this change", "Compare with the baseline", "Show the verdict"]


@dataclass(frozen=True)
class Team:
    """A repository, the folder of commands of its environment, and what was printed by then."""

    root: Path
    bin: Path
    printed: tuple[str, ...] = ()

    @property
    def environment(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_"))}
        path = os.pathsep.join([str(self.bin), os.environ["PATH"]])
        # Git looks at no settings of the person who runs the tests.
        return {**kept, "PATH": path, "PIP_NO_INDEX": "1", "GIT_CONFIG_GLOBAL": os.devnull}

    def call(self, *command, code=0, **variables):
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout

    def commit(self):
        self.call("git", "add", "-A")
        self.call("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x")


@pytest.fixture(scope="module")
def team(project, tmp_path_factory):
    """A repository with a retriever and 40 gold queries, after it adopted the guard."""
    folder = tmp_path_factory.mktemp("team")
    wheels, place, root = folder / "wheels", folder / "environment", folder / "repository"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run(build, cwd=project, check=True, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    venv.create(place, symlinks=True)
    paths = {"base": str(place), "platbase": str(place)}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=paths))
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "retrieval_ev" not in path.name and not (packages / path.name).exists():
            (packages / path.name).symlink_to(path)
    found = Team(root, place / "bin")
    (root / "mypkg").mkdir(parents=True)
    (root / "mypkg/retrieval.py").write_text(RETRIEVER)
    (root / ".gitignore").write_text("__pycache__/\neval-report-*\nretrieval-guard/\n")
    write_collection(root)
    found.call("git", "init", "-q")
    found.call("python", "-m", "pip", "install", "-q", "--no-deps", str(wheel))
    found.commit()
    printed = tuple(found.call(*command.split()) for command in COMMANDS)
    found.commit()
    return Team(root, place / "bin", printed)


def write_collection(root):
    rows, queries = [], []
    for topic in TOPICS:
        for aspect in ASPECTS:
            name = f"{topic}-{aspect}"
            rows.append({"id": name, "text": f"the {aspect} of the {topic}"})
            queries.append(
                {
                    "id": f"q-{name}",
                    "query": f"what is the {aspect} for a {topic}",
                    "corpus": "kb",
                    "area": topic,
                    "relevant": {name: 2},
                    "source": "chair",
                }
            )
    (root / "data/eval").mkdir(parents=True)
    for path, lines in (("kb.jsonl", rows), ("data/eval/gold-set.jsonl", queries)):
        (root / path).write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def branch(team, tmp_path):
    """A clone of the repository, as a pull request has."""
    root = tmp_path / "clone"
    team.call("git", "clone", "-q", str(team.root), str(root))
    return Team(root, team.bin)


def run_workflow(branch, *, installs=False):
    """Return exit codes by step, and the summary, as GitHub would have them."""
    text = (branch.root / ".github/workflows/retrieval-guard.yml").read_text()
    (job,) = yaml.safe_load(text)["jobs"].values()
    summary = branch.root.parent / "summary.md"
    fields = {"GITHUB_SHA": "0123abc", "GITHUB_STEP_SUMMARY": str(summary), **job["env"]}
    codes, has_failed = {}, False
    for step in job["steps"]:
        is_left_out = has_failed and step.get("if") != "always()"
        if "run" not in step or is_left_out or (step["name"] == "Install" and not installs):
            continue
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=branch.root,
            env={**branch.environment, **fields},
            capture_output=True,
            text=True,
            check=False,
        )
        codes[step["name"]] = done.returncode
        has_failed = has_failed or done.returncode != 0
        assert "Traceback" not in done.stderr, done.stderr
    return codes, summary.read_text(encoding="utf-8")


def test_three_commands_lead_from_a_retriever_to_a_green_guard(team):
    began, _, passed = team.printed
    assert began.splitlines()[:3] == [
        "written: data/eval/baseline.json",
        "written: data/eval/guard.toml",
        "written: .github/workflows/retrieval-guard.yml",
    ]
    assert "checked: P@5 −0.5 points (0.2 queries)" in began
    assert "left out: claim_coverage: the baseline has no claim_coverage: the value was" in began
    assert "the baseline against itself: PASS: 2 thresholds: 2 pass" in began
    assert "20 queries asked twice, all with the same answer: any change beyond a thresh" in began
    assert passed.startswith("PASS: 2 thresholds: 2 pass\n")
    assert "determinism  pass" in passed


def test_the_fixture_passes_in_that_repository_as_the_page_shows_it(branch, project):
    page = (project / "docs/guard.md").read_text(encoding="utf-8")
    (example,) = [
        one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def test" in one
    ]
    (branch.root / "test_search.py").write_text(example)
    run = COMMANDS[1].replace("--label again", "--out results").split()
    (written,) = [line for line in branch.call(*run).splitlines() if line.endswith(".json")]
    (branch.root / written).rename(branch.root / "results/run.json")
    assert "1 passed" in branch.call("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")


def test_the_workflow_passes_the_unchanged_system(branch):
    codes, summary = run_workflow(branch, installs=True)
    assert codes == dict.fromkeys(STEPS, 0)
    assert summary.startswith(MARKER)
    assert "Retrieval guard: PASS: 2 thresholds hold" in summary
    assert "0123abc of " in summary


def test_the_workflow_fails_a_planted_regression(branch):
    path = branch.root / "mypkg/retrieval.py"
    path.write_text(path.read_text().replace('row["text"].split()', 'row["text"].split()[:-1]'))
    codes, summary = run_workflow(branch)
    assert list(codes.values()) == [0, 1, 0]
    lines = summary.splitlines()
    assert lines[1] == (
        "## ❌ Retrieval guard: BREACH: P&#64;5 fell by 7.50 points (15 of 40 queries got worse), "
        "and 0.5 are allowed"
    )
    assert lines[3] == "**`P@5`: the worst 5 of 15 queries that got worse**"
    assert lines[7] == (
        "| <code>what is the amount for a appeal</code> | rank 1 → rank 8 "
        "| <code>appeal-amount</code> | −0.50 | <code>q-appeal-amount</code> |"
    )
    assert any("| determinism | **BREACH** |" in line for line in lines)


def test_the_workflow_asks_the_pinned_queries_and_no_more(branch):
    pinned = ["--queries", "data/eval/pinned.txt"]
    branch.call("retrieval-eval", "search", "pin", pinned[1], "--sample", "30")
    branch.call(*COMMANDS[0].split(), *pinned, "--force")
    codes, summary = run_workflow(branch)
    assert list(codes.values()) == [0, 0, 0]
    assert "Paired over 30 pinned queries" in summary


def test_the_workflow_shows_that_queries_failed(branch):
    (branch.root / "mypkg/retrieval.py").write_text(
        "def search(query, *, corpus, k):\n    raise ConnectionError('the index is away')\n"
    )
    codes, summary = run_workflow(branch)
    assert list(codes.values()) == [0, 2, 0]
    assert "NO VERDICT" in summary
    assert "queries failed" in summary


def test_the_workflow_says_when_nothing_could_be_measured(branch):
    (branch.root / "mypkg/retrieval.py").unlink()
    codes, summary = run_workflow(branch)
    assert list(codes) == ["Measure this change", "Show the verdict"]
    assert codes["Measure this change"] not in (0, 2)
    assert summary == "Retrieval guard: no verdict, an earlier step failed.\n"


def test_the_workflow_uses_nothing_of_others_and_may_write_nothing(team):
    text = (team.root / ".github/workflows/retrieval-guard.yml").read_text()
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert [name.partition("@")[0] for name in used] == ["actions/checkout", "actions/setup-python"]
    assert all(re.fullmatch(r"[0-9a-f]{40}", name.partition("@")[2]) for name in used)
    assert workflow["permissions"] == {"contents": "read"}
    # Text of a pull request never becomes part of a script.
    assert not any("${{" in step.get("run", "") for step in job["steps"])
    assert workflow[True] == "pull_request"  # YAML 1.1 reads "on" as true
    assert "secrets" not in json.dumps(job)
    lines = (team.root / "tools/retrieval-evidence/requirements.txt").read_text().splitlines()
    # A file of the repository, and packages at one version.
    assert lines[1].startswith("./tools/retrieval-evidence/retrieval_evidence-")
    assert any(line.startswith("numpy==") for line in lines)
    assert all(re.fullmatch(r"[\w-]+==\S+( ; .*)?", line) for line in lines[2:])


# The command alone, over runs that were made before.


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A folder with a run, and a function that begins with it."""
    monkeypatch.chdir(tmp_path)
    made = run_with([3] * 10, refused=[True] * 3, label="main")
    Path("run.json").write_bytes(run_bytes(made))
    # All its queries have the same labels, so that those of another query do as well.
    begin = ["search", "guard", "--init", "--accept-weak-baseline"]
    return lambda *arguments: run([*begin, *arguments])


def test_what_the_baseline_supports_is_written_and_the_rest_has_a_reason(begun, capsys):
    assert begun("run.json", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["written"] == ["data/eval/baseline.json", "data/eval/guard.toml"]
    assert list(document["left_out"]) == ["claim_coverage"]
    found = read_thresholds(Path("data/eval/guard.toml"))
    shipped = {row.metric: row for row in shipped_thresholds().rows}
    assert found.rows == tuple(shipped[row.metric] for row in found.rows)
    assert (found.rule, found.alpha) == ("threshold_and_real", 0.05)
    assert [row.metric for row in found.rows] == [m for m in shipped if m != "claim_coverage"]
    assert "# - claim_coverage: the baseline has no" in Path("data/eval/guard.toml").read_text()


def test_slices_are_declared_on_request(begun, capsys):
    corpora = [*"a" * 20, *"b" * 20]
    Path("run.json").write_bytes(run_bytes(run_with([3] * 40, corpora=corpora)))
    assert begun("run.json", "--slices", "corpus", "--slices", "area") == 0
    assert "checked: P@5 [worst corpus or area] −2 points" in capsys.readouterr().out
    rows = read_thresholds(Path("data/eval/guard.toml")).rows
    assert [(row.metric, row.slices, row.max_change) for row in rows if row.slices] == [
        ("P@5", ("corpus", "area"), 2.0),
        ("Recall@20", ("corpus", "area"), 2.0),
    ]
    assert begun("run.json", "--slices", "team") == 64


def test_nothing_is_overwritten_unless_that_is_meant(begun, capsys):
    assert begun("run.json") == 0
    before = Path("data/eval/baseline.json").read_bytes()
    assert "unchanged" not in capsys.readouterr().out
    assert begun("run.json", "--json") == 0
    assert json.loads(capsys.readouterr().out)["written"] == []
    Path("data/eval/guard.toml").write_text("# mine\n")
    Path("worse.json").write_bytes(run_bytes(run_with([1] * 10, label="worse")))
    assert begun("worse.json") == 3
    said = capsys.readouterr().err
    assert "data/eval/baseline.json, data/eval/guard.toml would be overwritten; --force" in said
    assert Path("data/eval/baseline.json").read_bytes() == before
    assert Path("data/eval/guard.toml").read_text() == "# mine\n"
    assert begun("worse.json", "--force") == 0
    assert json.loads(Path("data/eval/baseline.json").read_bytes())["label"] == "worse"
    # A retriever is not even asked.
    assert begun("--retriever", "none:such") == 3
    assert "would be overwritten" in capsys.readouterr().err
    # Without a run the thresholds are those of the baseline that is there.
    assert begun("--force", "--json") == 0


def test_a_workflow_is_written_where_it_is_found(begun, capsys, monkeypatch):
    Path(".git").mkdir()
    below = Path("below").resolve()
    below.mkdir()
    monkeypatch.chdir(below)
    assert begun("../run.json", "--workflow", "github") == 3
    assert "is inside the repository" in capsys.readouterr().err
    assert not list(below.iterdir())


def test_files_are_written_whole_or_not_at_all(begun, capsys):
    Path("data/eval/guard.toml").mkdir(parents=True)
    assert begun("run.json", "--force") == 3
    assert not Path("data/eval/baseline.json").exists()


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda made: made["queries"].pop(), 2, "truncated"),
        (lambda made: made["queries"][0].update(status="failed", error="no"), 2, "failed"),
        (lambda made: made.update(queries=[]), 2, "it holds no query"),
        (
            lambda made: made["run"].update(
                pinned={"name": "p.txt", "n_queries": 10, "fingerprint": "0" * 64}
            ),
            2,
            "it asked the list p.txt; name it with --queries",
        ),
    ],
)
def test_a_run_without_a_verdict_is_no_beginning(begun, capsys, change, code, words):
    made = run_with([3] * 10)
    change(made)
    Path("run.json").write_bytes(run_bytes(made))
    assert begun("run.json") == code
    assert words in capsys.readouterr().err
    assert not Path("data").exists()


def test_the_workflow_repeats_the_run_and_holds_no_secret(begun, capsys):
    made = run_with([3] * 10, label="main", settings=Settings(depth=60, k_values=(2,)))
    use = made["run"]["retriever"]
    use.update(spec="my.search:find", options={"index": "it's; $(id)"}, uses_rerank=False)
    Path("run.json").write_bytes(run_bytes(made))
    Path("pyproject.toml").write_text("[tool.ruff]\n")
    Path("requirements.txt").write_text("numpy\n")
    assert begun("run.json", "--workflow", "github", "--gold", "gold.jsonl") == 0
    workflow = yaml.safe_load(Path(".github/workflows/retrieval-guard.yml").read_text())
    (job,) = workflow["jobs"].values()
    steps = {step.get("name"): step.get("run", "") for step in job["steps"]}
    assert job["env"]["RETRIEVER"] == "my.search:find"
    words = shlex.split(steps["Measure this change"].partition("||")[0])
    options = ["--option", "index=it's; $(id)", "--k", "2", "--depth", "60", "--no-rerank"]
    assert words[5:16] == [*options, "--ask-twice", "0", "--gold", "gold.jsonl"]
    assert "--gold gold.jsonl" in steps["Compare with the baseline"]
    # Settings of tools alone make no project that could be installed.
    assert [line.split()[-2:] for line in steps["Install"].splitlines()] == [
        ["-r", "requirements.txt"],
        ["-r", "tools/retrieval-evidence/requirements.txt"],
    ]
    # These tests run in a checkout, of which no wheel is installed.
    assert "make the wheel: pip wheel --no-deps --wheel-dir tools/retr" in capsys.readouterr().out
    for field, value in (("spec", "http://me:***@host"), ("spec", "a:${{ secrets.X }}")):
        use[field] = value
        Path("run.json").write_bytes(run_bytes(made))
        assert begun("run.json", "--workflow", "github", "--force") == 3
        assert "workflow" in capsys.readouterr().err


def labelled(n, ranking_of):
    """A run of queries with a relevant document each, as a file is written."""
    gold = gold_set(*(gold_query(f"q{i:02d}", {f"d{i}": 1}) for i in range(n)))
    made = run_of(gold, [answer(f"q{i:02d}", ranking_of(i)) for i in range(n)], label="main")
    Path("run.json").write_bytes(run_bytes(made))


WEAK = {
    "none of the ids is one of the gold set": (
        lambda i: [str(i + j) for j in range(8)],
        "every metric is 0, so nothing could get worse; None of the 160 returned documents has",
    ),
    "nothing comes back": (lambda _: [], "every metric is 0, so nothing could get worse"),
    "the same answer to every query": (
        lambda _: [f"d{j}" for j in range(20)],
        "the baseline is not better than the labels of other queries in P@5, Recall@20",
    ),
}


@pytest.mark.parametrize(("ranking_of", "words"), WEAK.values(), ids=WEAK)
def test_a_baseline_that_cannot_get_worse_is_refused(
    tmp_path, monkeypatch, capsys, ranking_of, words
):
    monkeypatch.chdir(tmp_path)
    labelled(20, ranking_of)
    begin = ["search", "guard", "--init", "run.json", "--workflow", "none"]
    assert run(begin) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "--accept-weak-baseline" in said
    # To overwrite is another thing.
    assert run([*begin, "--force"]) == 2
    assert not Path("data").exists()
    assert run([*begin, "--accept-weak-baseline", "--json"]) == 0
    assert any(words.partition(";")[0] in n for n in json.loads(capsys.readouterr().out)["notes"])


def test_a_baseline_with_skill_needs_no_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labelled(20, lambda i: [f"d{i}", f"d{(i + 1) % 20}"])
    assert run(["search", "guard", "--init", "run.json", "--workflow", "none"]) == 0
