"""Recorded demo data: a simulated run of coding agents and a simulated search collection.

``run.tar.gz`` and ``search.tar.gz`` beside this module were made by simulators with planted
behaviour (``tests/simulators`` in the source tree). Every trial and every row of the gold set in
them is marked as simulated.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe, write_bytes

_PLAN = "demo_plan.json"


def write_demo(root: Path) -> None:
    """Write the recorded run to ``root/runs/demo`` and its tasks to ``root/benchmarks``.

    ``root/demo_plan.json`` lists what every trial does and which values must be measured in it.

    Parameters
    ----------
    root
        An existing or new folder. An earlier demo there is replaced.

    Raises
    ------
    BadInputError
        When ``root`` holds a run of the same name that is not a demo, or cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_demo(Path(folder))
    ...     sorted(path.name for path in (Path(folder) / "runs" / "demo").iterdir())
    ['baseline-local-direct', 'mcp-remote-direct']
    """
    run = root / "runs" / "demo"
    if probe(run.is_dir) and not probe((root / _PLAN).is_file):
        raise BadInputError(
            f"{run} is no demonstration that was written here before, and stays as it is; name "
            "another folder for this one"
        )
    _unpack("run.tar.gz", root)


@dataclass(frozen=True, slots=True)
class SearchDemo:
    """The files of the search demo below ``root``."""

    root: Path

    @property
    def corpus(self) -> Path:
        """The documents, as JSONL."""
        return self.root / "corpus.jsonl"

    @property
    def gold(self) -> Path:
        """The gold set, as JSONL."""
        return self.root / "gold-set.jsonl"

    @property
    def sources(self) -> Path:
        """The folder of the texts that documents are cut from."""
        return self.root / "sources"

    @property
    def feedback(self) -> Path:
        """SQLite: ``search_logs``, ``search_relevance_feedback``, review queue ``review_items``."""
        return self.root / "feedback.sqlite"

    @property
    def drafts(self) -> Path:
        """Drafted answers to most queries of the gold set, as JSONL."""
        return self.root / "drafts.jsonl"


def write_search_demo(root: Path) -> SearchDemo:
    """Write the recorded search collection below ``root``, replacing files of the same names.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_search_demo(Path(folder)).gold.is_file()
    True
    """
    _unpack("search.tar.gz", root)
    return SearchDemo(root)


def _unpack(name: str, root: Path) -> None:
    with (
        files(__name__).joinpath(name).open("rb") as stream,
        tarfile.open(fileobj=stream, mode="r:gz") as archive,
    ):
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                write_bytes(root / member.name, content.read())
