"""Utilization probes: relevant files read, written, and read before they were written."""

from __future__ import annotations

from typing import Any

from retrieval_eval.events.match import Identity
from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.events.retrieved import files_with
from retrieval_eval.values import Value, ratio

PROBES = (
    "util_read_overlap_with_relevant_files",
    "util_write_overlap_with_relevant_files_proxy",
    "util_write_overlap_with_expected_edit_files",
    "util_read_before_write_ratio",
)


def utilization_probes(trial: TrialEvents, *, reason: str | None = None) -> dict[str, Any]:
    """Return the ``utilization_probes`` block of the seed.

    A file is read when its content was shown, by a tool or a shell command. Write probes are not
    computable for a trial that wrote nothing but its own output. Read-before-write needs no ground
    truth.

    Parameters
    ----------
    reason
        Why nothing of the trial is computable (such as ``no_trace``), or None.
    """
    relevant = {f.key for f in trial.ground_truth.files}
    expected = trial.ground_truth.expected_edit_files
    read = files_with(trial, "opened")
    written = files_with(trial, "written")
    probes = (
        dict.fromkeys(PROBES, Value.missing(reason))
        if reason
        else _probes(trial, relevant, read.keys(), written.keys())
    )
    return {
        "probe_available": bool(relevant) and reason is None,
        "expected_edit_probe_available": bool(expected) and reason is None,
        **{name: value.value for name, value in probes.items()},
        "files_read": len(read),
        "files_written": len(written),
        "relevant_files_read": len(relevant & read.keys()),
        "relevant_files_written": len(relevant & written.keys()),
        "own_output_files": sorted(_text(key) for key in trial.own_output),
        "reasons": {name: v.reason for name, v in probes.items() if v.reason},
    }


def _probes(
    trial: TrialEvents,
    relevant: set[Identity],
    read: set[Identity] | Any,
    written: set[Identity] | Any,
) -> dict[str, Value]:
    no_truth = trial.ground_truth.reason or "no_ground_truth"
    expected = {f.key for f in trial.ground_truth.expected_edit_files or ()}
    no_writes = Value.missing("no_writes")
    return dict(
        zip(
            PROBES,
            (
                ratio(len(relevant & read), len(relevant), no_truth),
                ratio(len(relevant & written), len(relevant), no_truth) if written else no_writes,
                _expected_edits(expected, written),
                _read_before_write(trial),
            ),
            strict=True,
        )
    )


def _expected_edits(expected: set[Identity], written: set[Identity] | Any) -> Value:
    if not expected:
        return Value.missing("no_expected_edit_files")
    if not written:
        return Value.missing("no_writes")
    return ratio(len(expected & written), len(expected), "no_expected_edit_files")


def _read_before_write(trial: TrialEvents) -> Value:
    """Share of the written files whose content was shown at an earlier event."""
    read: set[Identity] = set()
    written: dict[Identity, bool] = {}
    for event in trial.events:
        for target in event.targets:
            key = target.file.key
            if target.access == "written" and key not in trial.own_output:
                written.setdefault(key, key in read)
        read |= {t.file.key for t in event.targets if t.access == "opened"}
    return ratio(sum(written.values()), len(written), "no_writes")


def _text(key: Identity) -> str:
    repository, path = key
    return f"{repository}::{path}" if repository else path
