"""The tables of evaluated trials: Parquet files of one schema, partitioned by run and config.

A file (shard) holds the trials of a batch: their columns of `retrieval_eval.study.trials`, and
both documents as JSON text. It lies at
``tables/run_id=<run>/config_name=<config>/<fingerprint>.parquet``, so that pandas, DuckDB and Spark
read many runs as one table; the names in the path are not repeated in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import encodable
from retrieval_eval.io.artefacts import decoded, kept_record, record_in
from retrieval_eval.io.files import (
    decode,
    is_inside,
    json_bytes,
    probe,
    read_bytes,
    settle,
    write_bytes,
)
from retrieval_eval.io.parquet import Schema, read_about, read_table, table_bytes
from retrieval_eval.io.remote import Place
from retrieval_eval.metrics.catalog import Metric, read_metric, summarised
from retrieval_eval.metrics.document import TrialMetrics
from retrieval_eval.model import AnyRecord, Record, from_builtins, to_builtins
from retrieval_eval.model.events import EventDocument
from retrieval_eval.model.summary import TrialEntry
from retrieval_eval.pipeline.fingerprint import combined
from retrieval_eval.pipeline.naming import EVENTS_SUFFIX, METRICS_SUFFIX, artefact_stems, safe_name
from retrieval_eval.pipeline.summary import TaskNumbers, Totals, trial_entry
from retrieval_eval.pipeline.trial import TrialResult
from retrieval_eval.records import Exclusion, TrialRef
from retrieval_eval.study.trials import COLUMN_KINDS, Trial, from_columns, to_row

TABLES: Final = "tables"
_SUFFIX: Final = ".parquet"
_SHARD: Final = re.compile(r"config_name=([^/]+)/[0-9a-f]{64}\.parquet")
_IN_PATH: Final = ("run_id", "config_name")
_LONGEST: Final = 200
_SHORTENED: Final = re.compile(r"[\w.@+=-]{1,150}-[0-9a-f]{8}", re.ASCII)
"""What a name may be shortened to, which is then in the file of the shard."""
_N_READING: Final = 8
"""Shards that are read at a time: a storage takes longer to answer than to send."""

SCHEMA: Final[Schema] = {
    **{name: kind for name, kind in COLUMN_KINDS.items() if name not in _IN_PATH},
    **{f"{metric.name}_reason": "text" for metric in summarised()},
    "raw_task_name": "text",
    "trace_source": "text",
    "is_simulated": "boolean",
    "input_fingerprint": "text",
    "body_digest": "text",
    "events": "text",
    "metrics": "text",
}
"""The columns of every shard; those of metrics follow the registry.

What is summarised has a reason where there is no number.
"""

_NUMBERS: Final = [name for name in COLUMN_KINDS if name not in _IN_PATH]


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard: the names in its path, and where it is."""

    run_id: str
    config: str
    place: Place

    @property
    def name(self) -> str:
        """The fingerprint of what it was made from."""
        return self.place.name.removesuffix(_SUFFIX)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run whose trials are in shards: the folder of its two documents, and the shards."""

    folder: Place
    shards: tuple[Shard, ...]

    def __str__(self) -> str:
        return str(self.folder)


def partition_of(name: str) -> str:
    """Return a name as the value of a partition: percent-encoded, as other readers expect.

    Examples
    --------
    >>> partition_of("base line/2"), partition_of("a.b-c")
    ('base%20line%2F2', 'a.b-c')
    """
    quoted = quote(str(encodable(name)), safe="@+")
    return quoted if len(quoted) <= _LONGEST else safe_name(name)


def shard_at(tables: Place, run_id: str, config: str, fingerprint: str) -> Shard:
    """Return where a shard lies below the folder of tables."""
    folder = f"run_id={partition_of(run_id)}/config_name={partition_of(config)}"
    return Shard(run_id, config, tables / f"{folder}/{fingerprint}{_SUFFIX}")


def shards_in(tables: Place, run_id: str) -> list[Shard]:
    """Return the shards of a run that are there, by configuration and name."""
    folder = tables / f"run_id={partition_of(run_id)}"
    # Only what has the name of a shard: former ones are removed, other files are not touched.
    found = [
        Shard(run_id, _config_of(folder / file.path, match[1]), folder / file.path)
        for file in folder.files()
        if (match := _SHARD.fullmatch(file.path))
    ]
    return sorted(found, key=lambda shard: (shard.config, shard.name))


@lru_cache(maxsize=1 << 12)
def _config_of(place: Place, partition: str) -> str:
    """Return the configuration of a shard; what is in it never changes under its name."""
    if not _SHORTENED.fullmatch(partition):
        return unquote(partition)
    return next(iter(kept_in(place).totals.configs), unquote(partition))


class Kept(Record, frozen=True):
    """What a shard keeps beside its rows."""

    totals: Totals
    excluded: tuple[tuple[str, str | None, str, str], ...] = ()
    notes: tuple[str, ...] = ()


def shard_bytes(
    results: Iterable[TrialResult], excluded: Iterable[Exclusion], notes: Sequence[str]
) -> tuple[bytes, Kept]:
    """Return the shard of some trials, and what it keeps beside them."""
    rows = []
    totals = Totals()
    for result in results:
        metrics = decoded(result.metrics, TrialMetrics, result.stem)
        totals.add(metrics)
        events = result.events or b""
        rows.append(
            to_row(metrics)
            | {f"{m.name}_reason": read_metric(metrics, m).reason for m in summarised()}
            | {
                "raw_task_name": metrics.provenance.raw_task_name,
                "trace_source": metrics.coverage.trace_source,
                "is_simulated": metrics.provenance.is_simulated is True,
                "input_fingerprint": result.fingerprint,
                "body_digest": metrics.body_sha256,
                "events": events.decode(),
                "metrics": result.metrics.decode(),
            }
        )
    listed = tuple((e.path.name, e.config_name, e.reason, e.detail) for e in excluded)
    kept = Kept(totals=totals, excluded=listed, notes=tuple(notes))
    return table_bytes(SCHEMA, rows, kept=json_bytes(to_builtins(kept))), kept


def kept_in(place: Place) -> Kept:
    """Return what a shard keeps beside its rows."""
    text = (read_about(place, "kept") or b"").decode("utf-8", "replace")
    return from_builtins(decode(text)[0], Kept, str(place))


def metrics_in(shard: Shard) -> Iterator[TrialMetrics]:
    """Yield the metrics of every trial of a shard."""
    yield from _documents_in(shard, "metrics", TrialMetrics)


@lru_cache(maxsize=2)
def events_in(shard: Shard) -> list[EventDocument]:
    """Return the event document of every trial of a shard; it never changes under its name."""
    return list(_documents_in(shard, "events", EventDocument))


def _documents_in(shard: Shard, column: str, struct: type[AnyRecord]) -> Iterator[AnyRecord]:
    for row, text in enumerate(read_table(shard.place, SCHEMA, [column])[column]):
        yield record_in(str(text or "").encode(), struct, f"{shard.place}: row {row + 1}")


def trials_in(shards: Sequence[Shard]) -> Iterator[Trial]:
    """Return the trials of some shards as comparisons and associations use them.

    Only the columns of numbers and names are read; the documents are not.
    """
    return from_columns(map(_columns_of, shards))


def _columns_of(shard: Shard) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = read_table(shard.place, SCHEMA, _NUMBERS)
    n = len(columns["task_name"])
    columns["run_id"], columns["config_name"] = [shard.run_id] * n, [shard.config] * n
    for name in ("tools", "mcp_servers"):
        columns[name] = [
            [(use["name"], use["calls"], use["answered"]) for use in row or () if use]
            for row in columns[name]
        ]
    return columns


def task_numbers(shards: Iterable[Shard], metrics: Sequence[Metric]) -> TaskNumbers:
    """Return some metrics of the trials of shards, which come in the order of the run.

    No other columns are read, of a few shards at a time.
    """
    numbers = TaskNumbers(metrics)
    names = [m.name for m in metrics]
    wanted = ["benchmark", "task_name", *names, *(f"{name}_reason" for name in names)]
    with ThreadPoolExecutor(_N_READING) as threads:
        following = iter(shards)
        while some := tuple(islice(following, _N_READING)):
            for columns in threads.map(lambda shard: read_table(shard.place, SCHEMA, wanted), some):
                values = [zip(columns[n], columns[f"{n}_reason"], strict=True) for n in names]
                tasks = zip(columns["benchmark"], columns["task_name"], strict=True)
                for task, *own in zip(tasks, *values, strict=True):
                    numbers.add(task, own)
    return numbers


def write_documents(folder: Path, shards: Sequence[Shard]) -> tuple[list[TrialEntry], list[str]]:
    """Write the two documents of every trial of some shards into a local folder.

    What is there already, whole and of the same inputs, is kept.

    Returns
    -------
    list of TrialEntry
        The line of every trial in the summary, in the order of a local evaluation.
    list of str
        A sentence for each document that was damaged.
    """
    names = ("task_name", "trial_name", "batch_timestamp")
    trials = []
    for shard in shards:
        columns = read_table(shard.place, SCHEMA, names)
        if None in columns["task_name"]:
            raise BadInputError(
                f"{shard.place}: has a trial without a task; remove it and evaluate the run again"
            )
        trials += [
            TrialRef(
                shard.run_id, shard.config, batch, trial or "", Path(shard.name, str(row)), task
            )
            for row, (task, trial, batch) in enumerate(zip(*columns.values(), strict=True))
        ]
    stems = artefact_stems(trials)
    following = iter(trials)
    entries = {}
    written: list[Path] = []
    notes: list[str] = []
    for shard in shards:
        columns = read_table(shard.place, SCHEMA, ("events", "metrics", "input_fingerprint"))
        for metrics, events, text, digest in zip(metrics_in(shard), *columns.values(), strict=True):
            trial = next(following)
            stem = stems[trial]
            if not is_inside((folder / stem).parent, folder.parent):
                raise BadInputError(
                    f"{folder / stem} leads out of {folder.parent}: nothing is written through a "
                    "link; remove it, or name another place with --output-dir"
                )
            name = f"{shard.place}: {stem}"
            for made, note in (
                _written(folder, f"{stem}{EVENTS_SUFFIX}", events, digest, EventDocument, name),
                _written(folder, f"{stem}{METRICS_SUFFIX}", text, digest, TrialMetrics, name),
            ):
                written += made
                notes += note
            entries[trial] = trial_entry(stem, metrics)
    settle(written)
    ordered = sorted(trials, key=lambda t: (t.config_name, t.batch_timestamp or "", t.trial_name))
    return [entries[trial] for trial in ordered], notes


def _written(
    folder: Path, file: str, text: str, digest: str, struct: type[AnyRecord], name: str
) -> tuple[list[Path], list[str]]:
    """Write a document unless it is there; return the path that was written, and a note if any."""
    path, data = folder / file, str(text or "").encode()
    if probe(path.is_file) and read_bytes(path, folder)[0] == data:
        return [], []
    kept = kept_record(path, folder, digest, struct)
    notes = [kept.note] if kept.note else []
    if kept.record is not None:
        return [], notes
    record_in(data, struct, name)
    write_bytes(path, data, is_synced=False)
    return [path], notes


def write_tables(
    tables: Place, run_id: str, folder: Path, trials: Iterable[tuple[str, str, str]]
) -> None:
    """Write the tables of a run that lies on disk, from its documents; tables there are kept.

    Parameters
    ----------
    tables
        The folder of the tables of all runs.
    run_id, folder
        The run, and where its documents are.
    trials
        Configuration, stem of the documents and fingerprint of every trial, by configuration.
    """
    wanted = set()
    for config, own in groupby(trials, key=lambda trial: trial[0]):
        group = list(own)
        for start in range(0, len(group), _ROWS):
            part = group[start : start + _ROWS]
            shard = shard_at(tables, run_id, config, combined(f for _, _, f in part))
            wanted.add(shard.name)
            if shard.place.exists():
                continue
            results = [
                TrialResult(
                    stem,
                    fingerprint,
                    (folder / f"{stem}{EVENTS_SUFFIX}").read_bytes(),
                    (folder / f"{stem}{METRICS_SUFFIX}").read_bytes(),
                )
                for _, stem, fingerprint in part
            ]
            shard.place.write(shard_bytes(results, (), ())[0])
    for shard in shards_in(tables, run_id):
        if shard.name not in wanted:
            shard.place.remove()


_ROWS: Final = 256
