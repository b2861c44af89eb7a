"""Configs of the same name in several runs, told apart as ``config@run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retrieval_eval.pipeline.comparison import run_labels
from retrieval_eval.report.frames import coerce, members, records

Document = Mapping[str, Any]


def labels(summaries: Sequence[Document]) -> list[dict[str, str]]:
    """Return for each run the new name of every config that another run has too.

    Examples
    --------
    >>> runs = [{"run_id": r, "trials": [{"config_name": "base"}]} for r in ("a", "b")]
    >>> labels(runs)
    [{'base': 'base@a'}, {'base': 'base@b'}]
    """
    names = [coerce(s.get("run_id"), "text") or "" for s in summaries]
    return run_labels(names, [_configs(summary) for summary in summaries])


def relabelled_summary(summary: Document, new: Mapping[str, str]) -> dict[str, Any]:
    """Return a run summary with configs renamed wherever they are named."""
    return {
        **summary,
        **{
            part: [_renamed(entry, new) for entry in records(summary.get(part))]
            for part in ("trials", "excluded")
        },
        "configs": {new.get(c, c): v for c, v in members(summary.get("configs")).items()},
    }


def relabelled_metrics(document: Document, new: Mapping[str, str]) -> dict[str, Any]:
    """Return a metrics document with its config renamed."""
    return {**document, "provenance": _renamed(members(document.get("provenance")), new)}


def _renamed(entry: Document, new: Mapping[str, str]) -> dict[str, Any]:
    config = coerce(entry.get("config_name"), "text")
    return {**entry, "config_name": new.get(config, config)} if config else dict(entry)


def _configs(summary: Document) -> set[str]:
    entries = records(summary.get("trials"))
    return {config for e in entries if (config := coerce(e.get("config_name"), "text"))}
