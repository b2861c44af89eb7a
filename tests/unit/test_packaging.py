"""The wheel carries everything that the code reads, and says of itself what is true."""

from __future__ import annotations

import ast
import email
import importlib.metadata
import itertools
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import retrieval_eval

ASSETS = {
    "notebooks": "retrieval_eval/_assets/notebooks",
    "schemas": "retrieval_eval/_assets/schemas",
    "_extensions": "retrieval_eval/_assets/_extensions",
}


def _build(project: Path, target: str, folder: Path) -> Path:
    # The backend itself, so that nothing is looked up or downloaded.
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(project, tmp_path_factory):
    return _build(project, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(project, tmp_path_factory):
    return _build(project, "sdist", tmp_path_factory.mktemp("sdist"))


def _wheel_names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _package_files(project: Path) -> set[str]:
    names = {
        path.relative_to(project).as_posix()
        for path in (project / "retrieval_eval").rglob("*")
        if path.is_file()
    }
    # A kernel that lies there is that of one Python, of which a wheel compiles its own.
    return {name for name in names if not re.search(r"/(__pycache__|\.[^/]+)/|\.so$", name)}


def test_the_wheel_carries_the_whole_package(project, wheel):
    assert _package_files(project) - _wheel_names(wheel) == set()


@pytest.mark.parametrize("folder", sorted(ASSETS))
def test_the_wheel_carries_assets(project, wheel, folder):
    names = (path.relative_to(project / folder) for path in (project / folder).rglob("*"))
    wanted = {
        f"{ASSETS[folder]}/{name.as_posix()}"
        for name in names
        if (project / folder / name).is_file()
        and not {"reports", ".ipynb_checkpoints"} & {*name.parts}
    }
    assert wanted
    assert wanted - _wheel_names(wheel) == set()


def test_the_wheel_carries_nothing_else(wheel):
    strangers = [
        name
        for name in _wheel_names(wheel)
        if not name.startswith(("retrieval_eval/", "retrieval_evidence-"))
        or re.search(r"(^|/)(tests|reports|__pycache__|\.[^/]+)/", name)
    ]
    assert strangers == []


@pytest.mark.extra
def test_the_source_archive_builds_the_same_wheel(sdist, wheel, tmp_path):
    with tarfile.open(sdist) as archive:
        # Python 3.11.2 has no extraction filters; where they exist, one must be named.
        if hasattr(tarfile, "data_filter"):
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(tmp_path / "source")
    (source,) = (tmp_path / "source").iterdir()
    (tmp_path / "made").mkdir()
    again = _build(source, "wheel", tmp_path / "made")
    assert _wheel_names(again) == _wheel_names(wheel)
    assert again.read_bytes() == wheel.read_bytes()


def test_the_installed_package_needs_no_checkout(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "import retrieval_eval, retrieval_eval.cli; "
        "from retrieval_eval.report.notebook_files import notebook; "
        "from retrieval_eval.report.quarto import copy_extension; "
        "print(retrieval_eval.__file__); print(notebook('run_report')); "
        "from pathlib import Path; from retrieval_eval.demo import write_demo, write_search_demo; "
        "write_demo(Path('demo')); write_search_demo(Path('search')); "
        "copy_extension(Path('here'))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, str(tmp_path / "site")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1000:]
    for line in done.stdout.split("\n")[:2]:
        assert Path(line).is_relative_to(tmp_path / "site")
    assert (tmp_path / "demo" / "runs" / "demo").is_dir()
    assert (tmp_path / "search" / "gold-set.jsonl").is_file()
    extension = tmp_path / "here" / "_extensions" / "retrieval-eval"
    assert {"_extension.yml", "page.html", "report.css"} <= {p.name for p in extension.iterdir()}


def test_a_wheel_with_the_kernel_is_of_one_platform(wheel):
    has_kernel = any(re.search(r"/ranking/_kernel\..*\.so$", name) for name in _wheel_names(wheel))
    assert has_kernel != wheel.name.endswith("-py3-none-any.whl")


def test_the_source_archive_can_compile_the_kernel(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"hatch_build.py", "retrieval_eval/ranking/_kernel.c"} <= names


def test_without_a_compiler_the_wheel_is_for_any_machine(project, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "false")
    wheel = _build(project, "wheel", tmp_path / "wheel")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from retrieval_eval.ranking import evaluate_rankings, hits; "
        "found = evaluate_rankings({'q': {'a': 1}}, {'q': {'b': 2.0, 'a': 1.0}}, ['RR']); "
        "print(hits.kernel, found.means['RR'].value, 'numpy' in sys.modules)"
    )
    command = [sys.executable, "-P", "-c", program, str(tmp_path / "site")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("None 0.5 False\n", "")


def test_metadata_matches_the_project(project, wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        metadata = email.message_from_string(archive.read(name).decode())
        entry_points = archive.read(name.replace("METADATA", "entry_points.txt")).decode()
    declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert metadata["Name"] == "retrieval-evidence"
    assert metadata["Version"] == retrieval_eval.__version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_all("Provides-Extra") == sorted(declared["optional-dependencies"])
    assert "retrieval-eval = retrieval_eval.cli:main" in entry_points
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_the_changelog_knows_this_version(project):
    changelog = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    (latest, *_) = re.findall(r"^## \[?(\d+\.\d+\.\d+)", changelog, flags=re.MULTILINE)
    assert latest == retrieval_eval.__version__


def _imported(folder: Path) -> dict[str, str]:
    """Each third-party module that the files of a folder import → one place that does."""
    local = {"retrieval_eval", "tests", "conftest", "benchmarks"}
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.py")):
        if path.parent.name == "programs" and path.parent.parent.name == "lab":
            continue  # run in the environments of the harnesses
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            for module in modules:
                top = module.partition(".")[0]
                if top not in sys.stdlib_module_names and top not in local:
                    found.setdefault(top, f"{path.name}:{node.lineno}")
    return found


def _undeclared(folder: Path, requirements: list[str]) -> dict[str, str]:
    names = {canonicalize_name(Requirement(requirement).name) for requirement in requirements}
    return {
        module: place
        for module, place in _imported(folder).items()
        if not names & {canonicalize_name(name) for name in DISTRIBUTIONS().get(module, [module])}
    }


DISTRIBUTIONS = cache(importlib.metadata.packages_distributions)


def test_every_import_is_a_declared_dependency(project):
    declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    extras = declared["project"]["optional-dependencies"].values()
    runtime = [*declared["project"]["dependencies"], *itertools.chain(*extras)]
    tests = [entry for entry in declared["dependency-groups"]["dev"] if isinstance(entry, str)]
    assert _undeclared(project / "retrieval_eval", runtime) == {}
    assert _undeclared(project / "tests", runtime + tests) == {}
    scripts = {path.stem for path in (project / "benchmarks").glob("*.py")}
    undeclared = _undeclared(project / "benchmarks", runtime + tests)
    # A script may import the script beside it, which is no dependency.
    assert {name: where for name, where in undeclared.items() if name not in scripts} == {}
