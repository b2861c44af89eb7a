"""Where checkouts lie: what a trace proves of a path under each layout."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows
from tests.traps.claude_code import Step, trial

_TEXT = "1\timport os"


def _at(cwd: str | None, *steps: Step | str, task: str = "") -> dict[str, Any]:
    """Return a Claude Code stream that began in ``cwd``; a path is a call that reads it."""
    calls = [("Read", {"file_path": s}, _TEXT) if isinstance(s, str) else s for s in steps]
    return trial(*calls, cwd=cwd, task=task)


def _bash(command: str, answer: str = "import os") -> Step:
    return ("Bash", {"command": command}, answer)


_RUNNER = "/home/runner/work"

_WIDGETS = 'repo = "acme/widgets"\n'


def _package(repository: str, step: Step | str) -> list[dict[str, Any]]:
    """Return trials that read a file of a package, where one that ends alike is expected.

    The package has the name of the repository, which one of the tasks states.
    """
    tasks = (f'repo = "{repository}/{repository}"\n', "")
    return [_at(None, step, task=task) for task in tasks]


TRAPS: Rows = {
    ("search", "+src/a.py"): {
        "No other folder explains the path that the search found.": _at(
            "/home/dev",
            ("Grep", {"pattern": "x", "path": "/home/dev/w"}, "Found 1 file\n/home/dev/w/src/a.py"),
        )
    },
    ("listing", "?src/a.py"): {
        "The listing shows two folders that may be the checkout.": _at(
            None, _bash("find /srv -name a.py", "/srv/one/src/a.py\n/srv/two/src/a.py")
        )
    },
    ("two checkouts", "?src/a.py"): {
        "A clone beside the folder of the session is a copy of what the task expects.": _at(
            "/testbed",
            _bash("git clone https://host.example/acme/widgets /tmp/up", ""),
            "/tmp/up/src/a.py",
            task=_WIDGETS,
        )
    },
    ("two checkouts", "?src/a.py, -src/b.py"): {
        "Either folder may be the checkout, and nothing decides.": _at(
            None, "/srv/one/src/a.py", "/srv/two/src/a.py"
        )
    },
    ("two checkouts", "+src/a.py, ?src/b.py"): {
        "The agent worked in one of the two folders; the other may be a copy.": _at(
            None, _bash("cd /srv/one && cat src/a.py"), "/srv/two/src/b.py"
        ),
        "The workspace is a checkout; the other folder may be a copy of it.": _at(
            "/workspace", "/workspace/src/a.py", "/srv/copy/src/b.py"
        ),
    },
    ("two checkouts", "+api::src/a.py, +web::src/b.py, -api::src/b.py"): {
        "Each folder has the name of a repository that the task expects files of.": _at(
            None, "/srv/api/src/a.py", "/srv/web/src/a.py", "/srv/web/src/b.py"
        )
    },
    ("two checkouts", "?api::src/a.py, ?web::src/a.py"): {
        "Two repositories have a file of this path, and the folder names neither.": _at(
            None, "/srv/project/src/a.py"
        )
    },
    ("two checkouts", "+api::src/a.py, +api::src/b.py"): {
        "Both folders are versions of the repository.": _at(
            None, "/srv/api--v1/src/a.py", "/srv/api-2.0.0/src/b.py"
        )
    },
    ("two checkouts", "+widgets::src/a.py, +web::src/b.py"): {
        "The task's repository is the workspace; the other one that is expected lies below.": _at(
            "/workspace", "/workspace/src/a.py", "/workspace/web/src/b.py", task=_WIDGETS
        )
    },
    ("two checkouts", "-src/a.py, -web::src/b.py"): {
        "A file of the same path in another repository is another file.": _at(
            "/workspace", "/workspace/web/src/a.py", task=_WIDGETS
        )
    },
    ("two checkouts", "+src/a.py, +src/b.py"): {
        "The harness keeps worktrees of the checkout inside it.": _at(
            "/workspace", "/workspace/src/b.py", "/workspace/.claude/worktrees/fix/src/a.py"
        )
    },
    ("two checkouts", "+elasticsearch::server/Node.java, +kibana::src/core.ts"): {
        "Each repository has one folder that explains its paths, whatever its name.": _at(
            "/workspace", "/workspace/es/server/Node.java", "/workspace/kb/src/core.ts"
        )
    },
    ("write", "+src/a.py"): {
        "What the agent wrote itself tells nothing about where the checkout lies.": _at(
            None,
            ("Write", {"file_path": "/srv/copy/src/a.py", "content": "x"}, "File created"),
            "/srv/project/src/a.py",
        )
    },
    ("layout", "+src/a.py, -src/b.py"): {
        "The folder is the one that the harness mounts.": [
            _at(None, "/workspace/src/a.py"),
            _at(None, "/app/src/a.py"),
            _at(None, "/repo/src/a.py"),
        ],
        "The folder is the one that SWE-bench images use.": _at(None, "/testbed/src/a.py"),
        "The session states its folder.": [
            _at("/home/dev/project", "/home/dev/project/src/a.py"),
            _at("/workspaces/project", "/workspaces/project/src/a.py"),
            _at("C:\\dev\\repo", "C:\\dev\\repo\\src\\a.py"),
        ],
        "No other folder explains the path, and nothing lies directly below the session's.": _at(
            "/home/dev/project/tools", "/home/dev/project/src/a.py"
        ),
        "No other folder explains the path.": [
            _at(None, "/srv/project/src/a.py"),
            _at(None, "/Users/dev/code/project/src/a.py"),
            _at(None, "D:\\repo\\src\\a.py"),
            _at(None, "~/project/src/a.py"),
            _at(None, "/workspace/src/project/src/a.py"),
            _at(None, "/workspace/acme__widgets__1.2/src/a.py"),
            _at("/workspace", "/workspace/original/src/a.py"),
        ],
        "A sandbox keeps checkouts in the user's home.": _at(None, "/home/user/project/src/a.py"),
        "The session's folder is the home.": _at("/home/user", "/home/user/project/src/a.py"),
        "A codespace keeps a checkout below this folder.": _at(
            None, "/workspaces/project/src/a.py"
        ),
        "A workflow mounts the checkout there.": _at(None, "/github/workspace/src/a.py"),
        "A workflow's runner works there.": _at(None, f"{_RUNNER}/widgets/widgets/src/a.py"),
        "A pipeline's runner works there.": _at(None, "/builds/group/project/src/a.py"),
        "The folder is named by owner and repository.": _at(None, "/acme__widgets/src/a.py"),
        "A session that begins in the root states nothing.": _at("/", "/acme__widgets/src/a.py"),
        "One folder has both names.": [
            _at("/private/tmp/project", "/tmp/project/src/a.py"),
            _at("/tmp/project", "/private/tmp/project/src/a.py"),
            _at("/var/w", "/private/var/w/src/a.py"),
        ],
        "Windows paths have no case.": _at("C:\\dev\\repo", "c:/Work/repo/src/a.py"),
        "A relative path begins in the session's folder.": _at("C:\\dev\\repo", "src\\a.py"),
        "The drive is mounted in a subsystem.": _at("C:\\dev\\repo", "/mnt/c/dev/repo/src/a.py"),
        "A Unix shell on Windows names drives so.": [
            _at("C:\\dev\\repo", "/c/dev/repo/src/a.py"),
            _at("/c/dev/repo", "C:\\dev\\repo\\src\\a.py"),
        ],
        "The tilde is the home that the trial shows.": _at(
            "/home/dev/project", "~/project/src/a.py"
        ),
        "The folder is the repository.": [
            _at("/workspace", "/workspace/widgets/src/a.py", task=_WIDGETS),
            _at(None, "/srv/src/widgets/src/a.py", task=_WIDGETS),
        ],
        "The folder is a version of it.": [
            _at(None, "/srv/widgets-1.2.3/src/a.py", task=_WIDGETS),
            _at(None, "/srv/widgets--v0.32.0/src/a.py", task=_WIDGETS),
            _at(None, "/workspace/widgets-1.2.3/src/a.py", task=_WIDGETS),
        ],
        "The folder is a revision of it.": _at(
            None, "/srv/widgets@1f3c2d4/src/a.py", task=_WIDGETS
        ),
        "The folder is it.": _at(None, "/go/src/host.example/acme/widgets/src/a.py", task=_WIDGETS),
        "The folder is an instance.": _at(None, "/opt/acme__widgets-1234/src/a.py", task=_WIDGETS),
        "The folder is a version.": _at(
            None, "/workspace/acme__widgets__1.2/src/a.py", task=_WIDGETS
        ),
        "Git names the top of the checkout, so that the session began in a folder of it.": _at(
            "/home/dev/project/tools",
            _bash("git rev-parse --show-toplevel", "/home/dev/project"),
            "/home/dev/project/src/a.py",
            "/home/dev/project/tools/src/b.py",
        ),
        "The agent worked in the one folder that explains the path.": _at(
            None, _bash("cd /srv/project && cat src/a.py")
        ),
        "The task states the folder of its repository, and no folder below is one.": _at(
            None,
            "/home/dev/repo/src/a.py",
            "/home/dev/repo/x/src/b.py",
            task='[[repos]]\nname = "acme/widgets"\npath = "/home/dev/repo"\n',
        ),
    },
    ("layout", "-conftest.py"): {
        "The harness mounts the checkout here, so that the package is a folder in it.": _package(
            "astropy", _bash("cd /testbed && cat astropy/conftest.py")
        )
    },
    ("layout", "-setup_helpers.py"): {
        "The harness mounts the checkout here, so that the package is a folder in it.": _package(
            "astropy", "/testbed/astropy/setup_helpers.py"
        )
    },
    ("layout", "-io/ascii.py"): {
        "The harness mounts the checkout here, so that the package is a folder in it.": _package(
            "astropy", _bash("cd /testbed && cat astropy/io/ascii.py")
        )
    },
    ("layout", "-forms/models.py"): {
        "The harness mounts the checkout here, so that the package is a folder in it.": _package(
            "django", "/testbed/django/forms/models.py"
        )
    },
    ("layout", "?README.md"): {
        "The folder has the name of the repository, and so may a package in its checkout.": _at(
            "/workspace", "/workspace/widgets/README.md", task=_WIDGETS
        )
    },
    ("layout", "+README.md"): {
        "The folder holds the files of git, so that it is a checkout.": _at(
            "/workspace",
            _bash("ls -a /workspace/widgets", ".\n..\n.git\nREADME.md\nsrc"),
            "/workspace/widgets/README.md",
            task=_WIDGETS,
        ),
        "A folder of owner, repository and version is a checkout, whatever the task names.": _at(
            None, "/workspace/acme__widgets__1.2/README.md"
        ),
    },
    ("layout", "?README.md, -setup.py"): {
        "The harness mounts a checkout there, or the folder that holds it.": _at(
            None, "/repo_full/widgets/README.md", task=_WIDGETS
        )
    },
    ("layout", "+src/a.py"): {
        "The harness names a checkout by owner, repository and version, beside other files.": _at(
            None, "/workspace/acme__widgets__1.2/src/a.py", "/workspace/test/out.tex", task=_WIDGETS
        ),
        "The shell printed the folder in which it began.": _at(
            None, _bash("pwd", "/srv/project"), "/srv/project/src/a.py"
        ),
    },
    ("layout", "?README.md, -package.json"): {
        "Nothing tells which folder is the checkout, and it may be this one.": _at(
            None, "/w/p/README.md"
        )
    },
    ("layout", "?utils.py"): {
        "Nothing tells which folder is the checkout, and it may be this one.": _at(
            None, "/srv/project/lib/utils.py"
        )
    },
    ("layout", "+src/a.py, +README.md, -src/b.py"): {
        "The agent cloned the task's repository into this folder.": _at(
            "/home/dev",
            _bash("git clone https://host.example/acme/widgets.git w", "Cloning into 'w'..."),
            "/home/dev/w/src/a.py",
            "/home/dev/w/README.md",
            task=_WIDGETS,
        )
    },
    ("layout", "-src/a.py"): {
        "The folder is a clone of another repository.": _at(
            "/workspace",
            _bash("git clone https://host.example/acme/gears /tmp/gears", ""),
            "/tmp/gears/src/a.py",
            task=_WIDGETS,
        ),
        "Installed packages are no checkout of the task.": _at(
            "/workspace", "/usr/lib/python3/dist-packages/src/a.py"
        ),
    },
    ("layout", "+src/a.py, +src/b.py"): {
        "A worktree is a second checkout of the same repository.": _at(
            "/workspace",
            _bash("git worktree add ../tree main", "Preparing worktree (checking out 'main')"),
            "/tree/src/a.py",
            "/workspace/src/b.py",
        ),
        "Git names both folders as checkouts of one repository.": _at(
            None,
            _bash("git worktree list", "/srv/main   1f3c2d4a [main]\n/srv/fix    2f3c2d4a [fix]"),
            "/srv/fix/src/a.py",
            "/srv/main/src/b.py",
        ),
        "The folder explains several files of the task, which no other one does.": _at(
            None, _bash("cat project/src/a.py"), _bash("cat project/src/b.py")
        ),
        "A shell on Windows names the session's folder in two ways.": _at(
            "C:\\dev\\repo",
            _bash("cd C:/dev/repo/src && cat a.py"),
            _bash("cat /c/dev/repo/src/b.py"),
        ),
        "On a drive, a folder may have the name of a folder of the system.": _at(
            None, _bash("cd C:/dev/repo && cat src/a.py"), "/mnt/c/dev/repo/src/b.py"
        ),
    },
    ("layout", "-src/a.py, +src/b.py"): {
        "The workspace is the checkout, so that a longer path below it is another file.": _at(
            "/workspace", "/workspace/src/b.py", "/workspace/packages/one/src/a.py"
        ),
        "The session began in a folder of the checkout, which the other file shows.": _at(
            "/workspace/packages/one", "/workspace/packages/one/src/a.py", "/workspace/src/b.py"
        ),
    },
    ("layout", "?src/a.py"): {
        "The folder above looks like the checkout, and may be one or hold several.": _at(
            None, "/srv/project/package.json", "/srv/project/packages/one/src/a.py"
        ),
        "The workspace may be the checkout, and the folders below it its packages.": _at(
            "/workspace", "/workspace/packages/two/src/x.py", "/workspace/packages/one/src/a.py"
        ),
        "The folder in which the shell began may be the checkout, or hold it.": _at(
            None, _bash("cat project/src/a.py")
        ),
        "A folder of test data is hardly the checkout, but nothing rules it out.": _at(
            "/workspace", "/workspace/tests/fixtures/src/a.py"
        ),
    },
    ("layout", "-src/a.py, -parse_tree.py"): {
        "An installed dependency is no file of the task, even with an expected name.": _at(
            "/workspace",
            "/workspace/node_modules/gears/src/a.py",
            "/workspace/node_modules/gears/parse_tree.py",
        )
    },
    ("layout", "?parse_tree.py"): {
        "The task gives a name without a folder, and the checkout is not known.": _at(
            None, "/srv/project/lib/parse_tree.py"
        )
    },
    ("layout", "+src/core/a.py, +parse_tree.py"): {
        "The first path tells where the checkout lies.": _at(
            None, "/srv/project/src/core/a.py", "/srv/project/parse_tree.py"
        )
    },
    ("layout", "?src/a.py, ?pkg/src/a.py"): {
        "The path ends like two expected files, and it can be but one of them.": _at(
            None, "/srv/pkg/src/a.py"
        )
    },
    ("layout", "?src/index.ts"): {
        "Many projects have this path; it does not tell where the checkout lies.": _at(
            None, "/srv/project/src/index.ts"
        )
    },
    ("layout", "+widgets::src/a.py"): {
        "The task states the folder of its repository.": _at(
            "/home/dev/repo",
            "/home/dev/repo/src/a.py",
            task='[[repos]]\nname = "acme/widgets"\npath = "/home/dev/repo"\n',
        )
    },
    ("layout", "+src/index.ts"): {
        "The session states a folder of the workspace as its own.": _at(
            "/workspace/repo", "/workspace/repo/src/index.ts", "/workspace/x/y/z.py"
        )
    },
}
