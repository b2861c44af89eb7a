"""The metric document of a trial: its facts, and a field for every registered metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import defstruct

from retrieval_eval.agents.metrics.catalog import FILES, METRICS, Block
from retrieval_eval.model.common import (
    ABSENT_MAP,
    EMPTY_MAP,
    NULL,
    BodyDigest,
    CallLedger,
    Coverage,
    EventSummary,
    GeneratedAt,
    InputFingerprint,
    Provenance,
    Record,
    SchemaVersion,
    Share,
    about,
)
from retrieval_eval.model.metrics import (
    ChunkLevelFacts,
    ErrorTaxonomy,
    FileLevelFacts,
    FileViewFacts,
    UtilizationFacts,
)

_UNITS: Final = {"share": "0–1"}


def _struct(name: str, block: Block, facts: type[Record], **more: Any) -> type[Any]:
    """Return a struct with the facts of a block and a field for each metric of it."""
    fields: list[tuple[str, Any, Any]] = []
    for metric in METRICS.values():
        if metric.path != (block, metric.name) or metric.compute is None:
            continue
        number: Any = Share | None if metric.unit == "share" else float | None
        described = about(
            metric.meaning.replace("{k}", "k"),
            unit=_UNITS.get(metric.unit, metric.unit),
            label=metric.label,
            better=metric.better,
        )
        if metric.has_cutoff:
            fields.append((metric.name, Annotated[dict[str, number], described], ABSENT_MAP))
        else:
            fields.append((metric.name, Annotated[number, described], NULL))
    fields += [(field, type_, ABSENT_MAP) for field, type_ in more.items()]
    made = defstruct(
        name, fields, bases=(facts,), module=__name__, frozen=True, kw_only=True, omit_defaults=True
    )
    made.__doc__ = facts.__doc__
    return made


if TYPE_CHECKING:

    class _WithMetrics(Record, frozen=True, kw_only=True):
        """The fields of metrics are known at run time only; each may be null."""

        def __getattr__(self, name: str) -> Any: ...

    class FileView(FileViewFacts, _WithMetrics, frozen=True, kw_only=True):
        """The metrics under one definition of "retrieved"."""

    class FileLevel(FileLevelFacts, _WithMetrics, frozen=True, kw_only=True):
        """File-level metrics under the default view, and in ``views`` under each."""

        views: dict[str, FileView] = ABSENT_MAP

    class ChunkLevel(ChunkLevelFacts, _WithMetrics, frozen=True, kw_only=True):
        """Chunk-level metrics."""

    class Utilization(UtilizationFacts, _WithMetrics, frozen=True, kw_only=True):
        """Whether retrieved evidence was used."""
else:
    FileView = _struct("FileView", FILES, FileViewFacts)
    FileLevel = _struct(
        "FileLevel",
        FILES,
        FileLevelFacts,
        views=Annotated[
            dict[str, FileView], about("The metrics under each definition of retrieved")
        ],
    )
    ChunkLevel = _struct("ChunkLevel", "chunk_level_metrics", ChunkLevelFacts)
    Utilization = _struct("Utilization", "utilization_probes", UtilizationFacts)


def _in_document(record: Measurement | TrialMetrics, plain: dict[str, Any]) -> dict[str, Any]:
    for name in ("file_level_metrics", "chunk_level_metrics"):
        plain[name] = getattr(record, name).in_document(plain[name])
    return plain


class Measurement(Record, frozen=True, kw_only=True):
    """What `retrieval_eval.measure` returns: the blocks of a trial's document, without its head."""

    file_level_metrics: FileLevel
    chunk_level_metrics: ChunkLevel
    utilization_probes: Utilization
    error_taxonomy: ErrorTaxonomy

    def in_document(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Return the blocks; one that is not computable has no numbers."""
        return _in_document(self, plain)


class TrialMetrics(Record, frozen=True, kw_only=True):
    """Retrieval metrics of a trial.

    The metric stages of one trial with its provenance, coverage and outcome.
    """

    schema_version: SchemaVersion
    generated_at: GeneratedAt
    provenance: Annotated[Provenance, about("Which run, task, config and trial this is")]
    coverage: Annotated[Coverage, about("What was available")]
    event_summary: Annotated[EventSummary | None, about("Pre-computed counts")] = None
    ledger: Annotated[
        CallLedger | None,
        about(
            "Counts of tool calls by status: seen = not retrieval + no result + error + "
            "opaque + resolved"
        ),
    ] = None
    file_level_metrics: Annotated[FileLevel, about("File-level ranking metrics")]
    chunk_level_metrics: Annotated[ChunkLevel, about("Chunk-level metrics")]
    utilization_probes: Annotated[Utilization, about("Whether retrieved evidence was used")]
    error_taxonomy: Annotated[ErrorTaxonomy, about("Error modes")]
    outcome: Annotated[
        dict[str, Any], about("Reward, cost, tokens and time of the trial, each with its source")
    ] = EMPTY_MAP
    input_fingerprint: InputFingerprint = None
    body_sha256: BodyDigest = None

    def in_document(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Return the document; a block that is not computable has no numbers."""
        return _in_document(self, plain)
