"""The entry of a report in the index of all reports."""

from __future__ import annotations

from typing import Annotated

from retrieval_eval.model.meta import (
    NULL,
    BodyDigest,
    Count,
    Moment,
    Record,
    SchemaVersion,
    about,
)


class ReportEntry(Record, frozen=True, kw_only=True):
    """A report in the index of all reports.

    Written as report.json beside the page, from which the index is made.
    """

    schema_version: SchemaVersion
    notebook: Annotated[str, about("The notebook it was made with, such as run_report")]
    title: Annotated[str, about("Title of the page")]
    finding: Annotated[str, about("The headline of its answer; empty where it has none")]
    verdict: Annotated[str, about("The verdict in words; empty where there is none")]
    measured_at: Annotated[
        Moment | None, about("When the newest document that it shows was written")
    ] = NULL
    n_trials: Annotated[Count | None, about("Trials it is about", unit="trials")] = NULL
    n_queries: Annotated[Count | None, about("Queries it is about", unit="queries")] = NULL
    n_queries_moved: Annotated[
        Count | None,
        about("Queries that moved between the two runs it compares", unit="queries"),
    ] = NULL
    is_simulated: Annotated[bool, about("Whether simulated data is in it")]
    body_sha256: BodyDigest = None
