"""Which files of a trial are the agent's own product, neither evidence nor wrong evidence."""

from __future__ import annotations

from collections.abc import Iterable

from retrieval_eval.events.match import Identity, Workspace
from retrieval_eval.records import Event, GroundTruth


def own_output(
    events: Iterable[Event], ground_truth: GroundTruth, workspace: Workspace
) -> frozenset[Identity]:
    """Return the files the agent produced for itself.

    These are the files the task tells the agent to write, and files that the agent created (the
    first touch is a write) outside the workspace or directly at its root. A ground-truth file is
    never one.
    """
    relevant = {f.key for f in ground_truth.files}
    named = {
        ref.key
        for raw in (*ground_truth.output_files, *ground_truth.not_retrieval_targets)
        if (ref := workspace.resolve(raw)) is not None
    }
    created: dict[Identity, bool] = {}
    for event in events:
        for target in event.targets:
            created.setdefault(target.file.key, target.access == "written")
    return frozenset(
        key
        for key, is_created in created.items()
        if key not in relevant and (key in named or (is_created and _is_outside(key)))
    )


def _is_outside(key: Identity) -> bool:
    repository, path = key
    return path.startswith("/") or (repository is None and "/" not in path)
