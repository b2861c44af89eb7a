"""One distribution provides the package; where two do, import and command refuse in a sentence."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import msgspec
import pytest

from retrieval_eval.distribution import NAME, conflict, install_hint, providers

SENTENCE = "2 installed distributions provide the package retrieval_eval"


def installed(site: Path, name: str, *files: str, version: str = "0.1.1", **texts: str) -> Path:
    """Write what an installer leaves of a distribution: its record, and further metadata files."""
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    listed = [*files, f"{folder.name}/RECORD", *(f"{folder.name}/{n}.txt" for n in texts)]
    (folder / "RECORD").write_text("".join(f"{file},sha256=abc,1\n" for file in listed))
    for stem, text in texts.items():
        (folder / f"{stem}.txt").write_text(text)
    return folder


def wheel(site: Path, name: str, **kinds: str) -> None:
    installed(site, name, "retrieval_eval/__init__.py", "retrieval_eval/cli.py", **kinds)
    (site / "retrieval_eval").mkdir(exist_ok=True)


def editable(site: Path, name: str, checkout: Path) -> None:
    (checkout / "retrieval_eval").mkdir(parents=True, exist_ok=True)
    installed(site, name, f"_{name}.pth")
    (site / f"_{name}.pth").write_text(f"{checkout}\n")


def names(*sites: Path) -> list[str]:
    return sorted(providers([str(site) for site in sites]))


def test_one_distribution_is_no_conflict(tmp_path):
    wheel(tmp_path, "retrieval_evidence")
    installed(tmp_path, "numpy", "numpy/__init__.py", "numpy/retrieval_eval/x.py")
    assert names(tmp_path) == ["retrieval-evidence"]
    assert conflict([str(tmp_path)]) is None


def test_two_wheels_are_a_conflict_whatever_they_are_called(tmp_path):
    wheel(tmp_path, "retrieval_evidence")
    wheel(tmp_path, "Some.Fork")
    said = conflict([str(tmp_path)])
    assert said is not None
    assert said.startswith(SENTENCE)
    assert "pip uninstall retrieval-evidence some-fork" in said
    assert "\n" not in said


def test_an_editable_installation_of_an_older_checkout_is_one_of_them(tmp_path):
    editable(tmp_path, "retrieval_eval", tmp_path / "checkout")
    assert conflict([str(tmp_path)]) is None
    editable(tmp_path, "retrieval_evidence", tmp_path / "checkout")
    assert names(tmp_path) == ["retrieval-eval", "retrieval-evidence"]


def test_an_editable_installation_with_a_finder_is_found(tmp_path):
    for name, package in (("thing", "retrieval_eval"), ("other", "retrieval_evaluation")):
        finder = f"__editable___{name}_1_finder"
        (tmp_path / f"__editable__.{name}-1.pth").write_text(f"import {finder}; {finder}.install()")
        (tmp_path / f"{finder}.py").write_text(f"MAPPING = {{'{package}': '/somewhere'}}\n")
        installed(tmp_path, name, "../bin/x", f"__editable__.{name}-1.pth", f"{finder}.py")
    assert names(tmp_path) == ["thing"]


def test_other_packages_leftovers_and_odd_places_are_none(tmp_path):
    wheel(tmp_path, "retrieval_evidence")
    wheel(tmp_path, "~etrieval_eval")
    editable(tmp_path, "neighbour", tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "retrieval_eval").rmdir()
    installed(tmp_path, "retrieval_evaluation", "retrieval_evaluation/__init__.py")
    (tmp_path / "file.zip").write_bytes(b"PK")
    (tmp_path / "empty-1.dist-info").mkdir()
    sites = [tmp_path, tmp_path / "file.zip", tmp_path / "absent"]
    assert names(*sites) == ["retrieval-evidence"]


def run(project: Path, *words: str, sites: tuple[Path, ...]) -> subprocess.CompletedProcess[str]:
    # The interpreter's own packages are those of the developer; only their number is assumed: one.
    paths = os.pathsep.join(map(str, (project, *sites)))
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def both(tmp_path):
    wheel(tmp_path, "retrieval_evidence")
    wheel(tmp_path, "another_product")
    return (tmp_path,)


def test_the_import_is_refused_in_one_sentence(project, both, tmp_path):
    (tmp_path / "retrieval_eval").rmdir()
    (tmp_path / "retrieval_eval").symlink_to(project / "retrieval_eval")
    done = run(tmp_path, "-P", "-c", "import retrieval_eval", sites=both)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert "installed distributions provide the package retrieval_eval" in last


@pytest.mark.parametrize("words", [["-m", "retrieval_eval"], ["retrieval-eval"]])
def test_the_command_is_refused_in_one_sentence(project, both, tmp_path, words):
    if words[0] == "retrieval-eval":
        script = tmp_path / "bin" / "retrieval-eval"
        script.parent.mkdir()
        script.write_text("from retrieval_eval.cli import main\nmain()\n")
        words = [str(script)]
    done = run(project, *words, "demo", sites=both)
    assert done.returncode == 3
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("retrieval-eval: ")
    assert "installed distributions provide the package retrieval_eval" in line


def test_a_checkout_on_the_path_beside_one_installed_wheel_is_fine(project, tmp_path):
    wheel(tmp_path, "retrieval_evidence")
    # Without the environment's own packages, where the checkout is installed; but for this one.
    needed = Path(msgspec.__file__).parent
    (tmp_path / needed.name).symlink_to(needed)
    program = "import retrieval_eval; print(retrieval_eval.__file__)"
    done = run(project, "-S", "-c", program, sites=(tmp_path,))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(project / "retrieval_eval" / "__init__.py")


def test_the_look_at_what_is_installed_is_cheap(tmp_path):
    rows = "".join(f"package/module_{i}.py,sha256={'a' * 43},{i}\n" for i in range(200))
    for number in range(300):
        folder = installed(tmp_path, f"package_{number}")
        (folder / "RECORD").write_text(rows)
    wheel(tmp_path, "retrieval_evidence")
    took = []
    for _ in range(5):
        start = time.process_time()
        assert conflict([str(tmp_path)]) is None
        took.append(time.process_time() - start)
    # Some milliseconds; `importlib.metadata.packages_distributions` takes a second for as many.
    assert min(took) < 0.25


def test_every_hint_names_a_declared_extra(project):
    declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert declared["name"] == NAME
    modules = (project / "retrieval_eval").rglob("*.py")
    text = "".join(module.read_text(encoding="utf-8") for module in modules)
    hinted = set(re.findall(r"""install_hint\(["'](\w+)["']\)""", text))
    assert hinted == set(declared["optional-dependencies"])
    assert "pip install '.[pdf]'" in install_hint("pdf")
