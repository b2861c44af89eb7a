"""What the server and the MCP tool answer, and the entry of a report in the index of reports."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from retrieval_eval.model.common import (
    NULL,
    BodyDigest,
    Count,
    Moment,
    Record,
    SchemaVersion,
    about,
)
from retrieval_eval.model.search_run import (
    DeltaBaseline,
    MetricChange,
    MetricMean,
    RunHeader,
    RunStatus,
)


class Backlog(Record, frozen=True, kw_only=True):
    """Items by review status; the five counts sum to the total."""

    pending_review: Annotated[Count, about("Waiting for a review", unit="items")]
    approved: Annotated[Count, about("Approved", unit="items")]
    rejected: Annotated[Count, about("Rejected", unit="items")]
    published: Annotated[Count, about("Published", unit="items")]
    other: Annotated[Count, about("Of any other status", unit="items")]
    total: Annotated[Count, about("All of them", unit="items")]
    oldest_pending_at: Annotated[
        datetime | None,
        about("Time of the oldest pending item (UTC); null when none of them has a time"),
    ]
    oldest_pending_age_days: Annotated[
        float | None,
        about("From then to as_of; negative when it lies in the future", unit="days"),
    ]
    n_pending_undated: Annotated[Count, about("Pending items without a time", unit="items")]
    other_statuses: Annotated[
        dict[str, Count], about("The other items by status; (none) is no status at all")
    ]
    as_of: Annotated[datetime, about("When they were counted (UTC)")]


class SkippedFile(Record, frozen=True, kw_only=True):
    """A file with the name of a search run that is not one."""

    name: Annotated[str, about("File name")]
    reason: Annotated[str, about("Why it is not one, in a sentence")]


class ListedRun(Record, frozen=True, kw_only=True):
    """A search run in the list of all."""

    name: Annotated[str, about("File name")]
    label: Annotated[str, about("Label given by the person who ran it; may be empty")]
    generated_at: Annotated[str, about("When it was measured")]
    n_queries: Annotated[Count, about("Queries asked", unit="queries")]
    n_failed: Annotated[Count, about("Of them failed", unit="queries")]
    has_verdict: Annotated[bool, about("Whether the means may be used to decide")]
    headline: Annotated[dict[str, MetricMean], about("The headline metrics")]


class RunDifference(Record, frozen=True, kw_only=True):
    """Difference to the baseline, without the queries."""

    baseline: Annotated[DeltaBaseline, about("Which baseline")]
    is_comparable: Annotated[bool, about("Whether both runs measured the same thing")]
    reasons: Annotated[tuple[str, ...], about("Why not")]
    changes: Annotated[tuple[str, ...], about("What else differs between the runs")]
    n_queries_top1_changed: Annotated[
        Count | None,
        about("Queries whose first document is another one; null when not comparable"),
    ]
    n_queries_moved: Annotated[
        Count | None,
        about(
            "Queries that moved: at least one metric of the ranking has another value; null when"
            " not comparable"
        ),
    ] = NULL
    metrics: Annotated[
        dict[str, MetricChange], about("The change of each metric; empty when not comparable")
    ]


class ShownRun(Record, frozen=True, kw_only=True):
    """A search run without its queries; of one corpus, where one was requested."""

    name: Annotated[str, about("File name")]
    label: Annotated[str, about("Label given by the person who ran it; may be empty")]
    generated_at: Annotated[str, about("When it was measured")]
    schema_version: Annotated[str, about("Schema version of the run")]
    corpus: Annotated[str | None, about("The corpus that was requested; null: all queries")]
    n_queries: Annotated[Count, about("Queries the metrics are of", unit="queries")]
    run: Annotated[RunHeader, about("Retriever, gold set, corpora and settings")]
    status: Annotated[RunStatus, about("Counts of queries by status, always of the whole run")]
    headline: Annotated[dict[str, MetricMean], about("The headline metrics")]
    metrics: Annotated[dict[str, MetricMean], about("Every metric")]
    delta: Annotated[RunDifference | None, about("Difference to the baseline")]
    delta_reason: Annotated[str | None, about("Why there is no difference")]


class Dashboard(Record, frozen=True, kw_only=True):
    """Dashboard.

    The latest search run, its difference to the baseline, and the review backlog. The block of the
    backlog and its reason carry the name that the server was given.
    """

    latest_run: Annotated[
        ShownRun | None, about("The requested run, or the latest; null when there is none")
    ]
    latest_run_reason: Annotated[str | None, about("Why there is none")]
    n_runs: Annotated[Count, about("Valid search runs in the folder")]
    runs: Annotated[tuple[ListedRun, ...], about("All of them, newest first")]
    skipped: Annotated[
        tuple[SkippedFile, ...], about("Files that are no valid search run, and why")
    ]
    backlog: Annotated[Backlog | None, about("Items by review status; null when unknown")]
    backlog_reason: Annotated[str | None, about("Why they are unknown")]


class PackageVersion(Record, frozen=True, kw_only=True):
    """The package that answers."""

    name: Annotated[str, about("Name of the distribution")]
    version: Annotated[str, about("Its version")]


class LatestRun(Record, frozen=True, kw_only=True):
    """The latest search run in short."""

    name: Annotated[str, about("File name")]
    label: Annotated[str, about("Label given by the person who ran it; may be empty")]
    generated_at: Annotated[str, about("When it was measured")]
    schema_version: Annotated[str, about("Schema version of the run")]
    n_queries: Annotated[Count, about("Queries asked", unit="queries")]
    status: Annotated[RunStatus, about("Counts of queries by status")]
    headline: Annotated[dict[str, MetricMean], about("The headline metrics")]


class Diagnostics(Record, frozen=True, kw_only=True):
    """Health snapshot.

    The block of the backlog and its reason carry the name that the server was given.
    """

    status: Annotated[
        Literal["ok", "degraded"], about("degraded when there is a reason to name, else ok")
    ]
    degraded_reasons: Annotated[tuple[str, ...], about("What is missing or broken, in sentences")]
    package: Annotated[PackageVersion, about("The package that answers")]
    schema_versions: Annotated[dict[str, str], about("Schema version of each kind of document")]
    n_runs: Annotated[Count, about("Valid search runs in the folder")]
    latest_run: Annotated[LatestRun | None, about("The latest; null when there is none")]
    latest_run_reason: Annotated[str | None, about("Why there is none")]
    backlog: Annotated[Backlog | None, about("Items by review status; null when unknown")]
    backlog_reason: Annotated[str | None, about("Why they are unknown")]


# --------------------------------------------------------------------------------------------------
# The entry of a report in the index of all reports.


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
