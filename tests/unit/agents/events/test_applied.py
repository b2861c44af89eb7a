"""A change that an agent takes over without having it printed, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents.events.exposure import Applied
from retrieval_eval.records import ToolResult
from tests.conftest import COSTLY

FILES = ["src/core/f0.py", "src/limits.py"]


def exposed(*calls: str | tuple[str, str]) -> bool:
    applied = Applied(FILES)
    pairs = [(call, "") if isinstance(call, str) else call for call in calls]
    return [applied.take(command, ToolResult(text)) for command, text in pairs][-1]


FAILED = [
    ("gh pr checkout 7", "bash: gh: command not found"),
    ("gh pr checkout 7", "bash: line 1: gh: command not found"),
    ("gh pr checkout 7", "To get started with GitHub CLI, please run:  gh auth login"),
    ("gh pr checkout 7 2>&1 | tail -5", "sh: 1: gh: not found"),
    ("git checkout 1a2b3c4 -- src/core/f0.py", "bash: git: command not found"),
]


@pytest.mark.parametrize(("command", "text"), FAILED)
def test_a_command_that_failed_takes_nothing_over(command, text):
    assert not Applied(FILES).take(command, ToolResult(text))
    assert not Applied(FILES).take("git merge origin/x", ToolResult("src/limits.py", is_error=True))


def test_a_patch_that_a_tool_wrote_is_the_agents_own():
    applied = Applied(FILES)
    applied.wrote("/workspace/mine.diff")
    assert not applied.take("git apply mine.diff", ToolResult(""))
    assert applied.take("git apply theirs.diff", ToolResult(""))


@pytest.mark.parametrize(
    "calls",
    [
        ["git checkout 1a2b3c4 -- src/core/f0.py"],
        ["git checkout 1a2b3c4 src/core/f0.py"],
        ["cd /srv/app && git checkout origin/fix-limit -- src/core"],
        ["git -C /srv/app checkout fix-limit -- ."],
        ["git checkout v2.0.1 -- /srv/app/src/core/f0.py"],
        ["git diff HEAD v2.0.1 -- src/core/f0.py | git apply"],
        ["git archive v2.0 src/core/f0.py | tar -x"],
        ["git apply <(git show 1a2b3c4)"],
        ["git am < <(curl -sL https://github.com/o/r/pull/1.patch)"],
        ["hub am https://github.com/o/r/pull/42"],
        ["REV=1a2b3c4; git checkout $REV -- src/core/f0.py"],
        ["git checkout $(git log --all --grep limit --format=%h | head -1) -- src/core/f0.py"],
        ["git fetch origin pull/7/head", "git checkout FETCH_HEAD -- src/core/f0.py"],
        ["git restore --source FETCH_HEAD src/core/f0.py"],
        ["git restore --source=origin/main -- src/core/f0.py"],
        ["git restore -s 1a2b3c4 ."],
        [("git log --all --oneline", "1a2b3c4 Limit the size"), "git cherry-pick -n 1a2b3c4"],
        ["git cherry-pick origin/fix-limit"],
        ["curl -sL https://example.org/acme/app/pull/7.diff | git apply"],
        ["curl -sL https://example.org/acme/app/pull/7.patch | patch -p1"],
        ["wget -qO- https://example.org/7.diff | git apply -3 -"],
        ["curl -o /tmp/7.diff https://example.org/7.diff", "git apply /tmp/7.diff"],
        ["wget https://example.org/7.diff", "patch -p1 < 7.diff"],
        ["curl https://example.org/7.patch > /tmp/x.patch && git am /tmp/x.patch"],
        ["curl -s https://example.org/raw/src/core/f0.py -o src/core/f0.py"],
        ["gh pr diff 7 | git apply"],
        ["gh pr checkout 7"],
        ["git show 1a2b3c4 | git apply"],
        ["git show 1a2b3c4:src/core/f0.py > src/core/f0.py"],
        ["git diff HEAD origin/main -- src/core/f0.py > /tmp/d", "git apply /tmp/d"],
        ["git format-patch -1 1a2b3c4 --stdout | git am"],
        ["git worktree add /tmp/fix 1a2b3c4", "cp /tmp/fix/src/core/f0.py src/core/"],
        ["git clone https://example.org/acme/app /tmp/up", "cp /tmp/up/src/core/f0.py src/core"],
        [("git pull", "Updating 1..2\nFast-forward\n src/core/f0.py | 2 +-\n 1 file changed")],
        [("git merge origin/main", "Updating 1..2\n src/limits.py | 2 +-")],
        [("git fetch", "   5d6e7f8..1a2b3c4  main -> origin/main"), "git reset --hard 1a2b3c4"],
        [("git stash pop", "On branch main\n\tmodified:   src/core/f0.py\nDropped stash@{0}")],
        ["git fetch origin main:main", "git checkout main -- src/core/f0.py"],
        ["git apply /task/tests/fix.patch"],
        ["cd /app && bash /solution/solve.sh"],
        ["cd /workspace && git apply --verbose /solution/fix.patch"],
        ["patch -p1 -i /tests/test.patch"],
        ["patch -p1 < /task/tests/test.patch"],
        ["cp /task/tests/test.patch . && git apply test.patch"],
        ["git am fixes/0001-limit.patch"],
        ["cp /solution/src/core/f0.py src/core/f0.py"],
        ["git fetch origin refs/pull/42/head:pr42 && git checkout pr42"],
        ["git fetch origin pull/42/head:pr42", "git checkout -q pr42"],
        ["git fetch upstream +refs/heads/fix:refs/heads/fix", "git switch fix"],
        ["git fetch origin pull/42/head", "git checkout -b pr42 FETCH_HEAD"],
        [("git switch fix", "branch 'fix' set up to track 'origin/fix'.")],
        [("git checkout fix", "Switched to a new branch 'fix'")],
        ["git checkout -b x origin/fix"],
        ["git checkout --track origin/fix"],
        ["git switch -c x origin/fix"],
        ["git branch x origin/fix", "git checkout x"],
        ["git reset --hard origin/main"],
        ["git fetch && git reset -q --hard @{u}"],
        ["git reset --hard 1a2b3c4"],
        ["git switch --detach 1a2b3c4"],
        ["git checkout 1a2b3c4"],
        ["git checkout -b x 1a2b3c4"],
        ["git rev-parse origin/main", "git checkout origin/main"],
        [("git rev-parse origin/main", "1a2b3c4d"), "git reset --hard 1a2b3c4d"],
        [("git pull --rebase upstream main", "Successfully rebased and updated refs/heads/x.")],
        [("git rebase upstream/main", "Successfully rebased and updated refs/heads/x.")],
        ["git archive 1a2b3c4 src/core/f0.py | tar x"],
        ["git archive origin/main | tar -xf - -C ."],
        ["git archive -o /tmp/x.tar 1a2b3c4 src/core", "tar xf /tmp/x.tar"],
        ["git archive 1a2b3c4 src > /tmp/x.tar", "tar xf /tmp/x.tar"],
        ["git read-tree -u --reset 1a2b3c4"],
    ],
)  # fmt: skip
def test_a_change_of_others_that_is_taken_over_is_an_exposed_answer(calls):
    assert exposed(*calls)


@pytest.mark.parametrize(
    "calls",
    [
        ["git checkout -- src/core/f0.py"],
        ["git apply <(git diff HEAD~1)"],
        ["git checkout src/core/f0.py"],
        ["git checkout HEAD -- src/core/f0.py"],
        ["git checkout HEAD~3 -- src/core/f0.py"],
        ["git restore src/core/f0.py && git restore --staged ."],
        ["git restore --source HEAD~1 src/core/f0.py"],
        ["git stash", ("git stash pop", "\tmodified:   src/core/f0.py")],
        ["git stash push -m wip && git checkout stash@{0} -- src/core/f0.py"],
        [("git log --oneline -3", "1a2b3c4 Release"), "git checkout 1a2b3c4 -- src/core/f0.py"],
        [("git commit -am x", "[main 1a2b3c4] x"), "git cherry-pick 1a2b3c4"],
        ["git checkout -b fix", "git checkout main -- src/core/f0.py"],
        ["git checkout -b fix && git commit -am x && git checkout main", "git merge fix"],
        ["git switch -c mine", "git checkout mine -- src/core/f0.py"],
        ["git branch mine", "git checkout mine -- src/core/f0.py"],
        ["git checkout 1a2b3c4 -- docs/other.md"],
        ["git reset --hard HEAD~1"],
        ["git reset --hard", "git reset --hard HEAD", "git reset --hard ORIG_HEAD"],
        ["git reset 1a2b3c4"],
        [("git commit -am x", "[main 1a2b3c4] x"), "git reset --hard 1a2b3c4"],
        [("git log --oneline -3", "1a2b3c4 Release"), "git switch --detach 1a2b3c4"],
        [("git rev-parse HEAD", "1a2b3c4d5e6f"), "git reset --hard 1a2b3c4"],
        ["BASE=$(git rev-parse HEAD)", "git reset --hard $BASE"],
        ["git checkout -b fix", ("git merge fix", "Updating 1..2\n src/core/f0.py | 2 +-")],
        ["git switch -c fix", ("git merge --no-ff fix", " src/core/f0.py | 2 +-")],
        [("git checkout -b fix", "Switched to a new branch 'fix'")],
        [("git switch main", "Switched to branch 'main'")],
        ["git checkout setup.py"],
        [("git pull --rebase", "Already up to date.")],
        [("git rebase main", "Successfully rebased and updated refs/heads/x.")],
        ["git archive HEAD src/core/f0.py | tar x -C /tmp"],
        ["git archive 1a2b3c4 docs | tar x"],
        ["git apply --check /task/tests/fix.patch"],
        ["git diff > my.diff", "git checkout . && git apply my.diff"],
        ["diff -u a b > /tmp/my.patch; patch -p0 < /tmp/my.patch"],
        ["git apply /tmp/made_by_a_script.patch"],
        ["cat > /tmp/my.diff <<'EOF'\n--- a/src/core/f0.py\nEOF", "git apply /tmp/my.diff"],
        ["git diff > /tmp/my.diff && git checkout . && git apply /tmp/my.diff"],
        ["git apply <<'EOF'\n--- a/src/core/f0.py\n+++ b/src/core/f0.py\nEOF"],
        ["curl -s http://localhost:8000/health | tee out.txt"],
        ["curl -sO https://example.org/data.tar.gz"],
        [("git pull", "Already up to date.")],
        [("git pull", " README.md | 2 +-")],
        ["git cherry-pick --abort"],
        [("git checkout 1a2b3c4 -- src/core/f0.py", "error: pathspec did not match")],
        [("git cherry-pick 1a2b3c4", "fatal: bad revision '1a2b3c4'")],
        ["cp /tmp/backup.py src/core/f0.py"],
        ["grep -rn 'git checkout 1a2b3c4 -- src/core/f0.py' docs"],
        ["echo git cherry-pick 1a2b3c4"],
    ],
)  # fmt: skip
def test_ones_own_work_and_history_is_no_exposed_answer(calls):
    assert not exposed(*calls)


def test_a_command_that_did_not_run_takes_nothing_over():
    command = "git checkout 1a2b3c4 -- src/core/f0.py"
    assert not Applied(FILES).take(command, None)
    assert not Applied(FILES).take(command, ToolResult("", is_unfinished=True))
    # Tests that fail afterwards do not undo it.
    assert Applied(FILES).take(f"{command} && pytest", ToolResult("1 failed", is_error=True))


PARTS = [
    "git",
    "checkout",
    "apply",
    "-o",
    "--",
    "|",
    ">",
    "1a2b3c4",
    "https://e.org/x",
    "\\",
    "'",
    "$(",
]


@COSTLY
@given(st.lists(st.sampled_from(PARTS), max_size=12), st.text(max_size=20))
def test_no_command_is_too_odd(parts, text):
    assert Applied(["a.py"]).take(" ".join(parts) + text, ToolResult(text)) in (True, False)
