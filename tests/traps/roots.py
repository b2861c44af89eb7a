"""Where checkouts lie: what a trace proves of a path under each layout."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap

_TEXT = "1\timport os"
_CODE = "import os"


def _session(cwd: str | None, *steps: tuple[str, dict[str, Any], str]) -> dict[str, Any]:
    """Return a Claude Code stream of calls with their answers, begun in ``cwd``."""
    start: dict[str, Any] = {"type": "system", "subtype": "init", "session_id": "s", "tools": []}
    lines: list[dict[str, Any]] = [start if cwd is None else {**start, "cwd": cwd}]
    for number, (name, arguments, answer) in enumerate(steps):
        call = {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}
        message = {"id": f"m{number}", "content": [call]}
        lines.append({"type": "assistant", "parent_tool_use_id": None, "message": message})
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": answer}
        lines.append({"type": "user", "parent_tool_use_id": None, "message": {"content": [result]}})
    return {"agent/claude-code.txt": [*lines, {"type": "result", "subtype": "success"}]}


def _read(path: str) -> tuple[str, dict[str, Any], str]:
    return ("Read", {"file_path": path}, _TEXT)


def _bash(command: str, answer: str = _CODE) -> tuple[str, dict[str, Any], str]:
    return ("Bash", {"command": command}, answer)


def _found(path: str, cwd: str | None, reason: str, task: str = "") -> Trap:
    """Return a trial that reads one path, which is the file ``src/a.py`` of the task."""
    return Trap(
        situation="layout",
        files=_session(cwd, _read(path)),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason=reason,
        task=task,
    )


_RUNNER = "/home/runner/work"

_WIDGETS = 'repo = "acme/widgets"\n'

_ONE_READ = (
    _found("/workspace/src/a.py", None, "The folder is the one that the harness mounts."),
    _found("/testbed/src/a.py", None, "The folder is the one that SWE-bench images use."),
    _found("/app/src/a.py", None, "The folder is the one that the harness mounts."),
    _found("/repo/src/a.py", None, "The folder is the one that the harness mounts."),
    _found("/home/dev/project/src/a.py", "/home/dev/project", "The session states its folder."),
    _found(
        "/home/dev/project/src/a.py",
        "/home/dev/project/tools",
        "No other folder explains the path, and nothing lies directly below the session's.",
    ),
    _found("/srv/project/src/a.py", None, "No other folder explains the path."),
    _found("/home/user/project/src/a.py", None, "A sandbox keeps checkouts in the user's home."),
    _found("/home/user/project/src/a.py", "/home/user", "The session's folder is the home."),
    _found("/Users/dev/code/project/src/a.py", None, "No other folder explains the path."),
    _found("/workspaces/project/src/a.py", None, "A codespace keeps a checkout below this folder."),
    _found("/workspaces/project/src/a.py", "/workspaces/project", "The session states its folder."),
    _found("/github/workspace/src/a.py", None, "A workflow mounts the checkout there."),
    _found(f"{_RUNNER}/widgets/widgets/src/a.py", None, "A workflow's runner works there."),
    _found("/builds/group/project/src/a.py", None, "A pipeline's runner works there."),
    _found("/acme__widgets/src/a.py", None, "The folder is named by owner and repository."),
    _found("/acme__widgets/src/a.py", "/", "A session that begins in the root states nothing."),
    _found("/tmp/project/src/a.py", "/private/tmp/project", "One folder has both names."),
    _found("/private/tmp/project/src/a.py", "/tmp/project", "One folder has both names."),
    _found("/private/var/w/src/a.py", "/var/w", "One folder has both names."),
    _found("C:\\dev\\repo\\src\\a.py", "C:\\dev\\repo", "The session states its folder."),
    _found("c:/Work/repo/src/a.py", "C:\\dev\\repo", "Windows paths have no case."),
    _found("src\\a.py", "C:\\dev\\repo", "A relative path begins in the session's folder."),
    _found("/mnt/c/dev/repo/src/a.py", "C:\\dev\\repo", "The drive is mounted in a subsystem."),
    _found("/c/dev/repo/src/a.py", "C:\\dev\\repo", "A Unix shell on Windows names drives so."),
    _found("C:\\dev\\repo\\src\\a.py", "/c/dev/repo", "A Unix shell on Windows names drives so."),
    _found("D:\\repo\\src\\a.py", None, "No other folder explains the path."),
    _found(
        "~/project/src/a.py", "/home/dev/project", "The tilde is the home that the trial shows."
    ),
    _found("~/project/src/a.py", None, "No other folder explains the path."),
    _found("/workspace/original/src/a.py", "/workspace", "No other folder explains the path."),
    _found("/workspace/src/project/src/a.py", None, "No other folder explains the path."),
    _found("/workspace/widgets/src/a.py", "/workspace", "The folder is the repository.", _WIDGETS),
    _found("/srv/widgets-1.2.3/src/a.py", None, "The folder is a version of it.", _WIDGETS),
    _found("/srv/widgets--v0.32.0/src/a.py", None, "The folder is a version of it.", _WIDGETS),
    _found("/srv/widgets@1f3c2d4/src/a.py", None, "The folder is a revision of it.", _WIDGETS),
    _found("/workspace/widgets-1.2.3/src/a.py", None, "The folder is a version of it.", _WIDGETS),
    _found("/srv/src/widgets/src/a.py", None, "The folder is the repository.", _WIDGETS),
    _found("/go/src/host.example/acme/widgets/src/a.py", None, "The folder is it.", _WIDGETS),
    _found("/opt/acme__widgets-1234/src/a.py", None, "The folder is an instance.", _WIDGETS),
    _found("/workspace/acme__widgets__1.2/src/a.py", None, "The folder is a version.", _WIDGETS),
    _found("/workspace/acme__widgets__1.2/src/a.py", None, "No other folder explains the path."),
)


def _package(name: str, repository: str, steps: tuple[Any, ...]) -> tuple[Trap, ...]:
    """Return trials that read a file of a package, where the task expects one that ends alike.

    The package has the name of the repository, which one of the tasks states.
    """
    reason = "The harness mounts the checkout here, so that the package is a folder in it."
    files = _session(None, *steps)
    task = f'repo = "{repository}/{repository}"\n'
    return tuple(
        Trap(
            situation="layout", files=files, expected={name: "none"}, reason=reason, task=task_text
        )
        for task_text in (task, "")
    )


_PACKAGES = (
    *_package("conftest.py", "astropy", (_bash("cd /testbed && cat astropy/conftest.py"),)),
    *_package("setup_helpers.py", "astropy", (_read("/testbed/astropy/setup_helpers.py"),)),
    *_package("io/ascii.py", "astropy", (_bash("cd /testbed && cat astropy/io/ascii.py"),)),
    *_package("forms/models.py", "django", (_read("/testbed/django/forms/models.py"),)),
)

TRAPS = (
    *_ONE_READ,
    *_PACKAGES,
    Trap(
        situation="layout",
        files=_session("/workspace", _read("/workspace/widgets/README.md")),
        expected={"README.md": "possible"},
        reason="The folder has the name of the repository, and so may a package in its checkout.",
        task=_WIDGETS,
    ),
    Trap(
        situation="layout",
        files=_session(
            "/workspace",
            _bash("ls -a /workspace/widgets", ".\n..\n.git\nREADME.md\nsrc"),
            _read("/workspace/widgets/README.md"),
        ),
        expected={"README.md": "certain"},
        reason="The folder holds the files of git, so that it is a checkout.",
        task=_WIDGETS,
    ),
    Trap(
        situation="layout",
        files=_session(None, _read("/repo_full/widgets/README.md")),
        expected={"README.md": "possible", "setup.py": "none"},
        reason="The harness mounts a checkout there, or the folder that holds it.",
        task=_WIDGETS,
    ),
    Trap(
        situation="layout",
        files=_session(None, _read("/workspace/acme__widgets__1.2/README.md")),
        expected={"README.md": "certain"},
        reason="A folder of owner, repository and version is a checkout, whatever the task names.",
    ),
    Trap(
        situation="two checkouts",
        files=_session(
            "/testbed",
            _bash("git clone https://host.example/acme/widgets /tmp/up", ""),
            _read("/tmp/up/src/a.py"),
        ),
        task=_WIDGETS,
        expected={"src/a.py": "possible"},
        reason="A clone beside the folder of the session is a copy of what the task expects.",
    ),
    Trap(
        situation="layout",
        files=_session(
            None,
            _read("/workspace/acme__widgets__1.2/src/a.py"),
            _read("/workspace/test/out.tex"),
        ),
        expected={"src/a.py": "certain"},
        reason="The harness names a checkout by owner, repository and version, beside other files.",
        task=_WIDGETS,
    ),
    Trap(
        situation="layout",
        files=_session(None, _read("/w/p/README.md")),
        expected={"README.md": "possible", "package.json": "none"},
        reason="Nothing tells which folder is the checkout, and it may be this one.",
    ),
    Trap(
        situation="layout",
        files=_session(None, _bash("pwd", "/srv/project"), _read("/srv/project/src/a.py")),
        expected={"src/a.py": "certain"},
        reason="The shell printed the folder in which it began.",
    ),
    Trap(
        situation="layout",
        files=_session(
            "/home/dev/project/tools",
            _bash("git rev-parse --show-toplevel", "/home/dev/project"),
            _read("/home/dev/project/src/a.py"),
            _read("/home/dev/project/tools/src/b.py"),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="Git names the top of the checkout, so that the session began in a folder of it.",
    ),
    Trap(
        situation="layout",
        files=_session(None, _bash("cd /srv/project && cat src/a.py")),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The agent worked in the one folder that explains the path.",
    ),
    Trap(
        situation="layout",
        files=_session(
            "/home/dev",
            _bash("git clone https://host.example/acme/widgets.git w", "Cloning into 'w'..."),
            _read("/home/dev/w/src/a.py"),
            _read("/home/dev/w/README.md"),
        ),
        task=_WIDGETS,
        expected={"src/a.py": "certain", "README.md": "certain", "src/b.py": "none"},
        reason="The agent cloned the task's repository into this folder.",
    ),
    Trap(
        situation="layout",
        files=_session(
            "/workspace",
            _bash("git clone https://host.example/acme/gears /tmp/gears", ""),
            _read("/tmp/gears/src/a.py"),
        ),
        task=_WIDGETS,
        expected={"src/a.py": "none"},
        reason="The folder is a clone of another repository.",
    ),
    Trap(
        situation="layout",
        files=_session(
            "/workspace",
            _bash("git worktree add ../tree main", "Preparing worktree (checking out 'main')"),
            _read("/tree/src/a.py"),
            _read("/workspace/src/b.py"),
        ),
        expected={"src/a.py": "certain", "src/b.py": "certain"},
        reason="A worktree is a second checkout of the same repository.",
    ),
    Trap(
        situation="layout",
        files=_session(
            None,
            _bash(
                "git worktree list",
                "/srv/main   1f3c2d4a [main]\n/srv/fix    2f3c2d4a [fix]",
            ),
            _read("/srv/fix/src/a.py"),
            _read("/srv/main/src/b.py"),
        ),
        expected={"src/a.py": "certain", "src/b.py": "certain"},
        reason="Git names both folders as checkouts of one repository.",
    ),
    Trap(
        situation="two checkouts",
        files=_session(None, _read("/srv/one/src/a.py"), _read("/srv/two/src/a.py")),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="Either folder may be the checkout, and nothing decides.",
    ),
    Trap(
        situation="two checkouts",
        files=_session(
            None,
            _bash("cd /srv/one && cat src/a.py"),
            _read("/srv/two/src/b.py"),
        ),
        expected={"src/a.py": "certain", "src/b.py": "possible"},
        reason="The agent worked in one of the two folders; the other may be a copy.",
    ),
    Trap(
        situation="two checkouts",
        files=_session("/workspace", _read("/workspace/src/a.py"), _read("/srv/copy/src/b.py")),
        expected={"src/a.py": "certain", "src/b.py": "possible"},
        reason="The workspace is a checkout; the other folder may be a copy of it.",
    ),
    Trap(
        situation="two checkouts",
        files=_session(
            None,
            _read("/srv/api/src/a.py"),
            _read("/srv/web/src/a.py"),
            _read("/srv/web/src/b.py"),
        ),
        expected={"api::src/a.py": "certain", "web::src/b.py": "certain", "api::src/b.py": "none"},
        reason="Each folder has the name of a repository that the task expects files of.",
    ),
    Trap(
        situation="two checkouts",
        files=_session(None, _read("/srv/project/src/a.py")),
        expected={"api::src/a.py": "possible", "web::src/a.py": "possible"},
        reason="Two repositories have a file of this path, and the folder names neither.",
    ),
    Trap(
        situation="two checkouts",
        files=_session(None, _read("/srv/api--v1/src/a.py"), _read("/srv/api-2.0.0/src/b.py")),
        expected={"api::src/a.py": "certain", "api::src/b.py": "certain"},
        reason="Both folders are versions of the repository.",
    ),
    Trap(
        situation="two checkouts",
        files=_session(
            "/workspace", _read("/workspace/src/a.py"), _read("/workspace/web/src/b.py")
        ),
        task=_WIDGETS,
        expected={"widgets::src/a.py": "certain", "web::src/b.py": "certain"},
        reason="The task's repository is the workspace; the other one that is expected lies below.",
    ),
    Trap(
        situation="two checkouts",
        files=_session("/workspace", _read("/workspace/web/src/a.py")),
        task=_WIDGETS,
        expected={"src/a.py": "none", "web::src/b.py": "none"},
        reason="A file of the same path in another repository is another file.",
    ),
    Trap(
        situation="layout",
        files=_session(
            "/workspace",
            _read("/workspace/src/b.py"),
            _read("/workspace/packages/one/src/a.py"),
        ),
        expected={"src/a.py": "none", "src/b.py": "certain"},
        reason="The workspace is the checkout, so that a longer path below it is another file.",
    ),
    Trap(
        situation="layout",
        files=_session(
            None,
            _read("/srv/project/package.json"),
            _read("/srv/project/packages/one/src/a.py"),
        ),
        expected={"src/a.py": "possible"},
        reason="The folder above looks like the checkout, and may be one or hold several.",
    ),
    Trap(
        situation="layout",
        files=_session(
            "/workspace",
            _read("/workspace/packages/two/src/x.py"),
            _read("/workspace/packages/one/src/a.py"),
        ),
        expected={"src/a.py": "possible"},
        reason="The workspace may be the checkout, and the folders below it its packages.",
    ),
    Trap(
        situation="layout",
        files=_session("/workspace", _read("/usr/lib/python3/dist-packages/src/a.py")),
        expected={"src/a.py": "none"},
        reason="Installed packages are no checkout of the task.",
    ),
    Trap(
        situation="layout",
        files=_session(
            "/workspace",
            _read("/workspace/node_modules/gears/src/a.py"),
            _read("/workspace/node_modules/gears/parse_tree.py"),
        ),
        expected={"src/a.py": "none", "parse_tree.py": "none"},
        reason="An installed dependency is no file of the task, even with an expected name.",
    ),
    Trap(
        situation="layout",
        files=_session(None, _read("/srv/project/lib/parse_tree.py")),
        expected={"parse_tree.py": "possible"},
        reason="The task gives a name without a folder, and the checkout is not known.",
    ),
    Trap(
        situation="layout",
        files=_session(None, _read("/srv/project/lib/utils.py")),
        expected={"utils.py": "possible"},
        reason="Nothing tells which folder is the checkout, and it may be this one.",
    ),
    Trap(
        situation="layout",
        files=_session(
            None, _read("/srv/project/src/core/a.py"), _read("/srv/project/parse_tree.py")
        ),
        expected={"src/core/a.py": "certain", "parse_tree.py": "certain"},
        reason="The first path tells where the checkout lies.",
    ),
    Trap(
        situation="layout",
        files=_session(None, _read("/srv/pkg/src/a.py")),
        expected={"src/a.py": "possible", "pkg/src/a.py": "possible"},
        reason="The path ends like two expected files, and it can be but one of them.",
    ),
    Trap(
        situation="layout",
        files=_session(None, _read("/srv/project/src/index.ts")),
        expected={"src/index.ts": "possible"},
        reason="Many projects have this path; it does not tell where the checkout lies.",
    ),
    Trap(
        situation="layout",
        files=_session(None, _bash("cat project/src/a.py")),
        expected={"src/a.py": "possible"},
        reason="The folder in which the shell began may be the checkout, or hold it.",
    ),
    Trap(
        situation="layout",
        files=_session(None, _bash("cat project/src/a.py"), _bash("cat project/src/b.py")),
        expected={"src/a.py": "certain", "src/b.py": "certain"},
        reason="The folder explains several files of the task, which no other one does.",
    ),
    Trap(
        situation="write",
        files=_session(
            None,
            ("Write", {"file_path": "/srv/copy/src/a.py", "content": "x"}, "File created"),
            _read("/srv/project/src/a.py"),
        ),
        expected={"src/a.py": "certain"},
        reason="What the agent wrote itself tells nothing about where the checkout lies.",
    ),
    Trap(
        situation="listing",
        files=_session(
            None,
            _bash("find /srv -name a.py", "/srv/one/src/a.py\n/srv/two/src/a.py"),
        ),
        expected={"src/a.py": "possible"},
        reason="The listing shows two folders that may be the checkout.",
    ),
    Trap(
        situation="search",
        files=_session(
            "/home/dev",
            ("Grep", {"pattern": "x", "path": "/home/dev/w"}, "Found 1 file\n/home/dev/w/src/a.py"),
        ),
        expected={"src/a.py": "certain"},
        reason="No other folder explains the path that the search found.",
    ),
    Trap(
        situation="layout",
        files=_session(
            "C:\\dev\\repo",
            _bash("cd C:/dev/repo/src && cat a.py"),
            _bash("cat /c/dev/repo/src/b.py"),
        ),
        expected={"src/a.py": "certain", "src/b.py": "certain"},
        reason="A shell on Windows names the session's folder in two ways.",
    ),
    Trap(
        situation="layout",
        files=_session("/home/dev/repo", _read("/home/dev/repo/src/a.py")),
        task='[[repos]]\nname = "acme/widgets"\npath = "/home/dev/repo"\n',
        expected={"widgets::src/a.py": "certain"},
        reason="The task states the folder of its repository.",
    ),
    Trap(
        situation="layout",
        files=_session(None, _read("/home/dev/repo/src/a.py"), _read("/home/dev/repo/x/src/b.py")),
        task='[[repos]]\nname = "acme/widgets"\npath = "/home/dev/repo"\n',
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The task states the folder of its repository, and no folder below is one.",
    ),
    Trap(
        situation="layout",
        files=_session(
            "/workspace/repo", _read("/workspace/repo/src/index.ts"), _read("/workspace/x/y/z.py")
        ),
        expected={"src/index.ts": "certain"},
        reason="The session states a folder of the workspace as its own.",
    ),
    Trap(
        situation="layout",
        files=_session(
            "/workspace/packages/one",
            _read("/workspace/packages/one/src/a.py"),
            _read("/workspace/src/b.py"),
        ),
        expected={"src/a.py": "none", "src/b.py": "certain"},
        reason="The session began in a folder of the checkout, which the other file shows.",
    ),
    Trap(
        situation="layout",
        files=_session("/workspace", _read("/workspace/tests/fixtures/src/a.py")),
        expected={"src/a.py": "possible"},
        reason="A folder of test data is hardly the checkout, but nothing rules it out.",
    ),
    Trap(
        situation="two checkouts",
        files=_session(
            "/workspace",
            _read("/workspace/src/b.py"),
            _read("/workspace/.claude/worktrees/fix/src/a.py"),
        ),
        expected={"src/a.py": "certain", "src/b.py": "certain"},
        reason="The harness keeps worktrees of the checkout inside it.",
    ),
    Trap(
        situation="two checkouts",
        files=_session(
            "/workspace",
            _read("/workspace/es/server/Node.java"),
            _read("/workspace/kb/src/core.ts"),
        ),
        expected={"elasticsearch::server/Node.java": "certain", "kibana::src/core.ts": "certain"},
        reason="Each repository has one folder that explains its paths, whatever its name.",
    ),
    Trap(
        situation="layout",
        files=_session(
            None,
            _bash("cd C:/dev/repo && cat src/a.py"),
            _read("/mnt/c/dev/repo/src/b.py"),
        ),
        expected={"src/a.py": "certain", "src/b.py": "certain"},
        reason="On a drive, a folder may have the name of a folder of the system.",
    ),
)
