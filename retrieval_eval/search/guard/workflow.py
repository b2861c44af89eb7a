"""The guard in GitHub Actions: the workflow that repeats a run, and the tool it installs."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from io import BytesIO
from pathlib import Path
from typing import Final

from retrieval_eval import __version__
from retrieval_eval.distribution import NAME, PACKAGE
from retrieval_eval.errors import BadInputError
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.search.measure import DEFAULT_GOLD
from retrieval_eval.search.settings import DEFAULT_DEPTH, DEFAULT_K, Settings
from retrieval_eval.search.trust import ASK_TWICE, trust_of

WORKFLOW: Final = Path(".github/workflows/retrieval-guard.yml")
PYTHON: Final = "3.12"
TOOL: Final = Path("tools/retrieval-evidence")
_TEMPLATE: Final = Path(__file__).with_name("workflow.yml")
_PIP: Final = "python -m pip install --disable-pip-version-check"
# Optional packages of this tool that a retriever may need. What tests need is the project's own.
_EXTRAS: Final = ("search", "postgres")
_REQUIREMENT: Final = re.compile(r"\s*([A-Za-z0-9][\w.-]*)[^;]*(?:;\s*(.*))?")
_EXTRA: Final = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_HIDDEN: Final = "***"
# Every file of an archive needs a time, and the same files are to give the same archive.
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def workflow_text(
    run: SearchRun,
    *,
    gold: Path = DEFAULT_GOLD,
    root: Path = Path(),
    queries: Path | None = None,
) -> str:
    """Return the workflow that asks what a run asked and compares it with the baseline.

    Parameters
    ----------
    run
        The run; its retriever, options and settings are those of the command in the workflow.
    gold
        The gold set, relative to the repository.
    root
        Top folder of the repository. Its ``requirements.txt`` is installed, and the project
        itself where it can be.
    queries
        The pinned list that was asked, relative to the repository.

    Raises
    ------
    BadInputError
        When a setting is not known from the run, or a workflow cannot hold it.
    """
    python = ".".join(run.run.versions.get("python", "").split(".")[:2])
    files = {"--gold": None if gold == DEFAULT_GOLD else gold, "--queries": queries}
    named = [
        word
        for name, path in files.items()
        if path is not None
        for word in (name, _written(f"the file of {name}", path.as_posix()))
    ]
    return filled(
        _written("the retriever", run.run.retriever.spec),
        python=python if re.fullmatch(r"\d+\.\d+", python) else PYTHON,
        projects=_projects(root),
        asked=[*_asked(run), *named],
        compared=named,
    )


def filled(
    retriever: str,
    *,
    python: str = PYTHON,
    projects: Sequence[str] = (),
    asked: Sequence[str] = (),
    compared: Sequence[str] = (),
) -> str:
    """Return the workflow for a retriever.

    ``projects`` are what pip installs before the tool, ``asked`` and ``compared`` further words of
    the commands that measure and compare.
    """
    installs = [f"{_PIP} {what}" for what in (*projects, f"-r {TOOL}/requirements.txt")]
    found = _TEMPLATE.read_text(encoding="utf-8")
    for name, text in (
        # A JSON string is a YAML string, whatever it holds.
        ("RETRIEVER", json.dumps(retriever)),
        ("PYTHON", python),
        ("INSTALL", "\n          ".join(installs)),
        ("ASK", _shell(asked)),
        ("GUARD", _shell(compared)),
    ):
        found = found.replace(f"<{name}>", text)
    return found


def tool_files(root: Path = Path()) -> dict[Path, bytes]:
    """Return the wheel of this tool as installed, and the versions of all that it needs here.

    The wheel is missing where the tool was not installed from one (`missing_wheel`).
    """
    found = _tool()
    lines = [
        "# The tool, and the versions of what it needs that measured the baseline.",
        f"./{(TOOL / _wheel_name()).as_posix()}",
        *(sorted(_pinned(found)) if found is not None else ()),
    ]
    files = {root / TOOL / "requirements.txt": ("\n".join(lines) + "\n").encode()}
    if found is None or f"{PACKAGE}/__init__.py" not in (packed := _installed(found)):
        return files
    return {root / TOOL / _wheel_name(): _wheel(packed), **files}


def missing_wheel(files: Mapping[Path, bytes]) -> str | None:
    """Return how to make the wheel where `tool_files` has none; None where it has one."""
    if any(path.suffix == ".whl" for path in files):
        return None
    checkout = Path(__file__).resolve().parents[3]
    where = shlex.quote(str(checkout)) if (checkout / "pyproject.toml").is_file() else "CHECKOUT"
    return f"make the wheel: pip wheel --no-deps --wheel-dir {TOOL} {where}"


def _tool() -> Distribution | None:
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        return None


def _wheel_name() -> str:
    return f"{NAME.replace('-', '_')}-{__version__}-py3-none-any.whl"


def _projects(root: Path) -> list[str]:
    found = ["-r requirements.txt"] if (root / "requirements.txt").is_file() else []
    is_package = any((root / name).is_file() for name in ("pyproject.toml", "setup.py"))
    return [*found, *(["."] if is_package and _is_buildable(root) else [])]


def _is_buildable(root: Path) -> bool:
    """Return whether a project can be installed; some files hold the settings of tools only."""
    path = root / "pyproject.toml"
    if not path.is_file():
        return True
    text = path.read_text(encoding="utf-8", errors="replace")
    return bool(re.search(r"^\[(project|build-system)\]", text, re.MULTILINE))


def _asked(run: SearchRun) -> Iterator[str]:
    """Yield the options of `search run` under which a run was made, but for the usual ones."""
    use, settings = run.run.retriever, run.run.settings
    for name, value in sorted(use.options.items()):
        yield from ("--option", _written(f"the option {name}", f"{name}={value}"))
    if tuple(settings.k_values) != DEFAULT_K:
        yield from ("--k", ",".join(map(str, settings.k_values)))
    if settings.depth != DEFAULT_DEPTH:
        yield from ("--depth", str(settings.depth))
    if use.floor is not None:
        yield from ("--floor", repr(use.floor))
    if not use.uses_rerank:
        yield "--no-rerank"
    if run.abstention is not None and run.abstention.threshold is not None:
        yield from ("--abstain-at", repr(run.abstention.threshold))
    if settings.seed != Settings().seed:
        yield from ("--seed", str(settings.seed))
    trust = trust_of(run)
    if trust.max_failed_share:
        yield from ("--max-failed", repr(trust.max_failed_share))
    n_twice = trust.sample.n_wanted if trust.sample is not None else 0
    if run.trust is not None and n_twice != ASK_TWICE:
        yield from ("--ask-twice", str(n_twice))


def _written(what: str, value: str) -> str:
    """Return a value that may stand in a workflow."""
    if _HIDDEN in value:
        raise BadInputError(
            f"{what} holds a secret, which no workflow may: name a variable of the environment "
            "(such as --option bearer_env=NAME), run again, and begin with that run"
        )
    if "${{" in value or not value.isprintable():
        raise BadInputError(f"{what} cannot be written into a workflow: {json.dumps(value)}")
    return value


def _shell(words: Sequence[str]) -> str:
    return "".join(f"{shlex.quote(word)} " for word in words)


def _installed(found: Distribution) -> dict[str, bytes]:
    """Return the files of an installed distribution as its wheel had them, but for the list."""
    kept = {}
    for path in found.files or ():
        name = path.as_posix()
        made_by_pip = name.endswith(("/INSTALLER", "/REQUESTED", "/direct_url.json", "/RECORD"))
        # Scripts lie outside, and are made anew of the entry points.
        if name.startswith("..") or "__pycache__" in name or made_by_pip:
            continue
        kept[name] = path.read_binary()
    return kept


def _wheel(files: Mapping[str, bytes]) -> bytes:
    info = next(name.partition("/")[0] for name in files if ".dist-info/" in name)
    rows = [f"{name},{_digest(files[name])},{len(files[name])}\n" for name in sorted(files)]
    record = f"{info}/RECORD"
    everything = {**files, record: "".join([*rows, f"{record},,\n"]).encode()}
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in [*sorted(files), record]:
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, everything[name])
    return out.getvalue()


def _digest(data: bytes) -> str:
    return f"sha256={urlsafe_b64encode(sha256(data).digest()).rstrip(b'=').decode()}"


def _pinned(found: Distribution) -> set[str]:
    """Return the packages that a distribution needs, directly or not, at their versions here."""
    pins, seen = set(), {NAME}
    waiting = list(_needed(found, _EXTRAS))
    while waiting:
        name, marker = waiting.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in seen:
            continue
        seen.add(key)
        try:
            other = distribution(name)
        except PackageNotFoundError:
            continue
        pins.add(f"{key}=={version(name)}" + (f" ; {marker}" if marker else ""))
        waiting += _needed(other, ())
    return pins


def _needed(found: Distribution, extras: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield name and marker of what a distribution requires, with some of its extras."""
    for text in found.requires or ():
        hit = _REQUIREMENT.match(text)
        if hit is None:
            continue
        marker = hit[2] or ""
        extra = _EXTRA.search(marker)
        if extra is None:
            yield hit[1], marker
        elif extra[1] in extras:
            yield hit[1], ""
