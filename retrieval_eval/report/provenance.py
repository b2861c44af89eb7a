"""How it was computed, what it cannot tell, and what it was made from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from retrieval_eval import __version__
from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.distribution import NAME
from retrieval_eval.io.files import read_text
from retrieval_eval.report.exhibits import Block, Table, section
from retrieval_eval.report.names import LABELS, METRICS, MISSING, OUTCOMES

if TYPE_CHECKING:
    from retrieval_eval.report.run import Run

LIBRARIES = ("numpy", "pandas", "scipy", "matplotlib", "papermill", "nbconvert")
FOLDERS = ("runs_root", "benchmarks_root", "output_dir")


def definitions(compared: Collection[str]) -> Block:
    """Return the definition and direction of every metric; of outcomes those compared."""
    body = [
        (m.titled, m.definition, BY_NAME[key].direction.partition("_")[0])
        for key, m in METRICS.items()
        if key not in OUTCOMES or key in compared
    ]
    body += [(title, f"count / {denominator}", "lower") for title, denominator in LABELS.values()]
    table = Table(
        "definitions",
        "Definitions, and which direction is better",
        ("Metric", "Definition", "Better"),
        tuple(body),
        ("left", "left", "left"),
        (
            (
                "Intervals of mean differences are bootstrap intervals over matched tasks, or "
                "over groups of them where tasks share a repository or suite, with a recorded "
                "seed; of 2 to 5 groups the means are compared by a t test. Costs, times and "
                "tokens are led by the ratio of geometric means with a t interval of the log "
                "ratios, times to a relevant file by means over all tasks up to a common limit. A "
                "verdict of better or worse needs an interval without 0 (or 1) and p below the "
                "level of the design; it is fragile where a threat could overturn it, and "
                "equivalent where the interval lies within a stated margin. Below 3 "
                "matched tasks no statistic is given, below 6 no p-value. Holm's p is adjusted "
                "over the compared metrics, q values over the pooled associations, and apart from "
                "these over the associations of differences."
            ),
        ),
    )
    return section("How each number is defined", table)


def provenance(run: Run, *, privacy: bool = False) -> Block:
    """Return versions, parameters, seed and the digest of what was read.

    With ``privacy``, or of a private run, folders are left out.
    """
    return made_from(
        "The same input and seed give the same numbers",
        run,
        {s.schema_version for s in run.summaries},
        {s.generated_at for s in run.summaries},
        {"Filter": run.part.full_sentence if run.part else "", "Input digest": input_digest(run)},
        {**run.impact.parameters, **run.parameters},
        is_private=privacy or run.privacy,
    )


def made_from(
    title: str,
    run: Run,
    versions: Iterable[str | None],
    moments: Iterable[str | None],
    inputs: Mapping[str, str],
    parameters: Mapping[str, object],
    *,
    is_private: bool,
) -> Block:
    """Return the section that says what a report was made from, as names and values.

    ``inputs`` are other names with what they are, left out where that is empty.
    """
    body = [
        ("Runs" if len(run.run_ids) > 1 else "Run", ", ".join(run.run_ids)),
        ("Package", package_version()),
        ("Git commit", commit() or "not run from a checkout"),
        ("Schema version", ", ".join(sorted(filter(None, versions))) or MISSING),
        ("Evaluated at", ", ".join(sorted(filter(None, moments))) or MISSING),
        *((name, text) for name, text in inputs.items() if text),
        *(
            (f"Parameter {name}", _parameter(value))
            for name, value in sorted(parameters.items())
            if not (is_private and name in FOLDERS)
        ),
        ("Libraries", library_versions()),
    ]
    what = "What this report was made from"
    table = Table("provenance", what, ("What", "Value"), tuple(body), ("left", "left"))
    return section(title, table)


def package_version() -> str:
    """Return the distribution of this package and its version."""
    return f"{NAME} {__version__}"


def library_versions() -> str:
    """Return the libraries that computed, drew and rendered, with their versions."""
    return ", ".join(f"{name} {library_version(name)}" for name in LIBRARIES)


def input_digest(run: Run) -> str:
    """Return a digest over the input fingerprints of all trials, in a fixed order."""
    digest = hashlib.sha256()
    for trial in sorted(run.trial_files, key=lambda t: sorted(map(str, t.identity.items()))):
        fingerprint = (trial.metrics and trial.metrics.input_fingerprint) or ""
        digest.update(f"{sorted(trial.identity.items())}{fingerprint}\n".encode(errors="replace"))
    return f"sha256 {digest.hexdigest()[:32]} over {len(run.trial_files)} trials"


def _parameter(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value) if value not in (None, "") else "by default"


def library_version(name: str) -> str:
    """Return the installed version of a distribution."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


# Which commit of this project is running, read from files: no program is started.

_COMMIT = re.compile(r"[0-9a-f]{40,64}$")


def commit(root: Path | None = None) -> str | None:
    """Return the commit that a checkout is at, or None outside one.

    Parameters
    ----------
    root
        The checkout; by default the folder around the package.
    """
    git = (root or Path(__file__).resolve().parents[2]) / ".git"
    head = _line(git / "HEAD", git)
    if head is None:
        return None
    name = head.removeprefix("ref: ")
    if name == head:
        return head if _COMMIT.match(head) else None
    loose = _line(git / name, git)
    return loose if loose and _COMMIT.match(loose) else _packed(git, name)


def _packed(git: Path, name: str) -> str | None:
    for line in (read_text(git / "packed-refs", git).value or "").splitlines():
        found, _, ref = line.partition(" ")
        if ref == name and _COMMIT.match(found):
            return found
    return None


def _line(path: Path, root: Path) -> str | None:
    text = read_text(path, root).value
    return text.strip() if text else None
