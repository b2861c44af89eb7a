"""The files of the project: links have targets, pins have hashes, words are plain."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from retrieval_eval.agents.events.evidence import VIEWS
from retrieval_eval.agents.metrics import LABELS
from retrieval_eval.agents.study.gate import RULES
from retrieval_eval.search.gold.database import STATUSES

LOCKS = tuple(f"requirements{part}.lock" for part in ("", "-dev", "-bench", "-engines"))

MERGE_MARKER = re.compile(r"^(<{7} |>{7} |\|{7} )", re.MULTILINE)


@pytest.fixture(scope="module")
def texts(project: Path) -> dict[str, str]:
    """Every text file that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    found = {}
    for name in sorted(set(listed.stdout.split("\0")) - {""}):
        path = project / name
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if b"\0" not in content:
                found[name] = content.decode("utf-8", errors="replace")
    return found


def _lines_with(texts: dict[str, str], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in texts.items()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_merge_marker_is_left(texts):
    assert _lines_with(texts, MERGE_MARKER) == []


def test_links_between_documents_lead_somewhere(texts, project):
    broken = []
    for name, text in texts.items():
        if not name.endswith(".md"):
            continue
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        pictures = re.findall(r'<img src="([^"]+)"', prose)
        for target in (*pictures, *re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose)):
            if "://" in target or target.startswith("mailto:"):
                continue
            if not (project / name).parent.joinpath(target).exists():
                broken.append(f"{name}: {target}")
    assert broken == []


def _pins(project: Path, lock: str) -> dict[str, str]:
    """Name of each package of a lock file → its entry there."""
    entries = re.split(r"\n(?=\S)", (project / lock).read_text(encoding="utf-8").strip())
    names = [canonicalize_name(re.split(r"[=\s;]", entry, maxsplit=1)[0]) for entry in entries]
    assert len(set(names)) == len(names), "two versions of a package: numbers depend on the Python"
    return dict(zip(names, entries, strict=True))


def _version(entry: str) -> str:
    return re.match(r"[^=]+==([^\s;\\]+)", entry)[1]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_of_a_lock_has_hashes_and_no_address(project, lock):
    text = (project / lock).read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-(?!-hash=)", text, flags=re.MULTILINE), "an option of an installer"
    for name, entry in _pins(project, lock).items():
        assert re.match(r"[a-z0-9.-]+==[^\s;]+", entry), f"{name} is not pinned"
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), f"{name} has no hash"


def test_the_locks_cover_what_the_project_declares(project):
    declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    runtime = declared["project"]["dependencies"] + declared["dependency-groups"]["build"]
    extras = declared["project"]["optional-dependencies"]
    groups = declared["dependency-groups"]
    tests = [entry for entry in groups["dev"] if isinstance(entry, str)] + groups["docs"]
    wanted = {
        "requirements.lock": runtime,
        "requirements-dev.lock": runtime + extras["dask"] + extras["pdf"] + tests,
        "requirements-bench.lock": runtime + groups["bench"],
        "requirements-engines.lock": groups["engines"],
    }
    for lock, requirements in wanted.items():
        pins = _pins(project, lock)
        for requirement in map(Requirement, requirements):
            entry = pins.get(canonicalize_name(requirement.name))
            assert entry, f"{lock} lacks {requirement.name}: run `make lock`"
            assert requirement.specifier.contains(_version(entry)), f"{lock}: {requirement}"


def test_the_locks_agree_where_both_pin(project):
    tests = _pins(project, "requirements-dev.lock")
    for name, entry in _pins(project, "requirements.lock").items():
        assert _version(entry) == _version(tests[name]), name
    for name, entry in _pins(project, "requirements-bench.lock").items():
        assert name not in tests or _version(entry) == _version(tests[name]), name


def test_scripts_of_ci_are_executable_and_parse(project):
    for script in sorted((project / ".ci").iterdir()):
        assert os.access(script, os.X_OK), script.name
        subprocess.run(["bash", "-n", script], check=True)


RETIRED = re.compile(
    r"""\b(?:
      nobody | somebody | foreign | fates? | mend(?:s|ed|ing)? | blunt\w* | weave | woven | told
    | (?<!\bin\ )asked\ for | h[eo]ld\ against | stands?\ for | is\ said | says\ so
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words that puzzle newcomers: a status, a default or an untrusted file has a plainer name."""

USED_AS_DATA = {
    "retrieval_eval/search/claims/veto.py": {"nobody"},
    # Reasons that are keys of `opaque_reasons` in documents of every version.
    "retrieval_eval/agents/traces/shell/judge.py": {"told"},
    "retrieval_eval/agents/traces/shell/session.py": {"nobody"},
}
"""Negations that the rules recognise in drafts."""


def test_the_package_uses_plain_words(project):
    found = {
        f"{name}:{number}: {word[0]}"
        for path in sorted((project / "retrieval_eval").rglob("*.py"))
        for name in (path.relative_to(project).as_posix(),)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for word in RETIRED.finditer(line)
        if word[0].lower() not in USED_AS_DATA.get(name, ())
    }
    assert sorted(found) == []


def test_the_documentation_uses_plain_words(texts):
    # Records of decisions and the changelog keep the words of their day.
    pages = {
        name: text
        for name, text in texts.items()
        if name.endswith(".md") and not re.search(r"^docs/decisions/|^CHANGELOG", name)
    }
    assert len(pages) > 30
    assert _lines_with(pages, RETIRED) == []


STATES = ("access", "decided_by", "effect", "status", "tier", "verdict")
"""Fields of documents that hold one of a few words, which readers look up."""


def _states(schema: Any) -> Iterator[tuple[str, str]]:
    """Yield each such field of a JSON Schema with each of its words."""
    if isinstance(schema, list):
        for part in schema:
            yield from _states(part)
    elif isinstance(schema, dict):
        for name, declared in schema.get("properties", {}).items():
            if name in STATES:
                for option in declared.get("anyOf", [declared]):
                    yield from ((name, word) for word in option.get("enum", ()) if word)
        for part in schema.values():
            yield from _states(part)


def test_the_glossary_has_the_words_of_documents_and_registries(project):
    glossary = (project / "docs" / "glossary.md").read_text(encoding="utf-8")
    schemas = sorted((project / "schemas").glob("*.json"))
    found = {state for path in schemas for state in _states(json.loads(path.read_text("utf-8")))}
    assert {name for name, _ in found} == set(STATES)
    words = {word for _, word in found}.union(VIEWS, LABELS, RULES, STATUSES)
    assert sorted(word for word in words if f"`{word}`" not in glossary) == []
