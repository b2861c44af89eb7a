"""README and tutorials run as written, in order, in a fresh copy of the project.

Every block marked ``sh`` or ``python`` of a page runs in one shell that starts in the copy. One
thing is not as in a fresh clone: the tests run offline, so the environment is there before, and
``make`` finds its installation up to date. That it installs from the lock files is what
``make test`` itself does first on a new machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

COMMANDS = {
    "retrieval-eval": "retrieval_eval.cli:main",
    "papermill": "papermill.cli:papermill",
}


@pytest.fixture
def clone(project, tmp_path) -> Path:
    """A copy of what git would have in a fresh clone, with an environment in ``.venv``."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    copy = tmp_path / "clone"
    for name in filter(None, listed.stdout.split("\0")):
        if (project / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project / name, copy / name)
    # Compiled code saves seconds for each command; it is used only where it is that of the source.
    for compiled in (project / "retrieval_eval").rglob("__pycache__"):
        place = copy / compiled.relative_to(project)
        shutil.copytree(compiled, place, ignore=shutil.ignore_patterns("*.pyc.*"))
    venv.create(copy / ".venv", symlinks=True, with_pip=False)
    paths = sysconfig.get_paths(vars={"base": str(copy / ".venv"), "platbase": str(copy / ".venv")})
    places = [
        str(copy),
        *(p for p in sys.path if Path(p).name in ("site-packages", "dist-packages")),
    ]
    (Path(paths["purelib"]) / "copy.pth").write_text("\n".join(places) + "\n")
    for name, place in COMMANDS.items():
        module, _, function = place.partition(":")
        script = copy / ".venv" / "bin" / name
        script.write_text(
            f"#!{copy}/.venv/bin/python\nimport sys\nfrom {module} import {function}\n"
            f"sys.exit({function}())\n"
        )
        script.chmod(0o755)
    # Templates and kernels of Jupyter are files of the environment.
    (copy / ".venv" / "share").symlink_to(Path(sys.prefix) / "share")
    # `make` finds the installation newer than the lock file.
    (copy / ".venv" / ".stamps").mkdir()
    (copy / ".venv" / ".stamps" / "package").touch()
    return copy


def script_of(text: str) -> str:
    """Return the blocks of a page as one script; a line may say which code it exits with."""
    lines = ["set -eux"]
    for language, block in re.findall(
        r"^```(sh|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    ):
        if language == "python":
            lines += ["python - <<'END_OF_PYTHON'", block.rstrip("\n"), "END_OF_PYTHON"]
            continue
        for line in block.splitlines():
            code = re.search(r"# exits with (\d+)$", line)
            lines.append(f"set +e; {line}\ntest $? = {code[1]} || exit 1; set -e" if code else line)
    return "\n".join(lines) + "\n"


def test_a_line_may_say_which_code_it_exits_with(tmp_path):
    page = "```sh\ntrue\nfalse   # exits with 1\n```\n\n```text\nfalse\n```\n"
    for text, code in ((page, 0), (page.replace("with 1", "with 2"), 1)):
        assert subprocess.run(["bash", "-c", script_of(text)], check=False).returncode == code


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *(
            pytest.param(f"docs/tutorials/{name}.md", marks=pytest.mark.extra)
            for name in ("agent-traces", "regression-harness", "evaluation-practice")
        ),
    ],
)
def test_every_command_runs_in_order(page, clone, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    script = script_of((clone / page).read_text(encoding="utf-8"))
    assert script.count("\n") > 4
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=clone,
        env={
            "HOME": str(home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "TMPDIR": str(tmp_path),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    # A page of the text is what it says: paths that it names were made.
    for named in re.findall(r"`(reports/[\w/-]+/index\.html)`", (clone / page).read_text("utf-8")):
        assert any((folder / named).is_file() for folder in (clone, clone / "kb")), named
