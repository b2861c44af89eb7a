"""No text of the project leads to the unrelated product that has the name of the command."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import retrieval_eval

OTHER = r"retrieval[-_.]eval(?![-_.]?\w)"

# A requirement with an extra or a version; the argument of a command that installs; the page of a
# package on an index. The command itself, `retrieval-eval report`, is none of them.
LEADS = re.compile(
    rf"""
      {OTHER} \s* (?: \[[a-z] | [=~!<>]=  | @\s )
    | \b(?: install | download | wheel | add | inject | upgrade | sync ) \b [^\n|&;#]*?
      (?<![\w./-]) {OTHER} (?! \s* / | \.\w | \( | `?\s*(?:command|package) )
    | \b(?: uvx | pipx\s+run | tool\s+run ) \s [^\n|&;]*? (?<![\w./-]) {OTHER}
    | / (?: project | simple | p | v | version | dm ) / {OTHER}
    """,
    re.VERBOSE | re.IGNORECASE,
)


def leads(text: str) -> list[str]:
    """Return the places of a text that lead to the other product; continued lines are joined."""
    joined = re.sub(r"\\\n\s*", " ", text.replace('",\n    "', " "))
    return [found[0] for found in LEADS.finditer(joined)]


def tracked(project: Path) -> list[Path]:
    """Return the files of the project; of an unpacked source archive, all that lie there."""
    listing = subprocess.run(
        ["git", "-C", str(project), "ls-files", "-z"], capture_output=True, text=True, check=False
    )
    named = [project / name for name in listing.stdout.split("\0") if name]
    found = named or [p for p in project.rglob("*") if not {".venv", ".git", "build"} & {*p.parts}]
    return [path for path in found if path.is_file() and path != Path(__file__).resolve()]


def test_no_file_of_the_project_leads_there(project):
    files = tracked(project)
    assert {project / "README.md", project / "pyproject.toml", project / "Makefile"} <= {*files}
    assert any(path.suffix == ".yml" and "workflow" in path.parent.name for path in files)
    assert any(path.suffix == ".ipynb" for path in files)
    found = {
        str(path.relative_to(project)): places
        for path in files
        if (places := leads(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert found == {}


def test_no_dependency_is_the_other_product(project):
    declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert declared["name"] == "retrieval-evidence"
    for lock in ("requirements.lock", "requirements-dev.lock"):
        text = (project / lock).read_text(encoding="utf-8")
        assert re.findall(rf"^{OTHER}", text, flags=re.MULTILINE) == []
        assert f"{declared['name']} (pyproject.toml)" in text


def test_the_wheel_that_is_named_is_the_one_that_is_built(project):
    page = (project / "docs" / "install.md").read_text(encoding="utf-8")
    named = set(re.findall(r"retrieval_evidence-([\d.]+)-\*\.whl", page))
    assert named == {retrieval_eval.__version__}
