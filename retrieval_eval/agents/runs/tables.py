"""The tables of evaluated trials: Parquet files of one schema, partitioned by run and config.

A row is a trial: its columns of `retrieval_eval.agents.study.trials`, and both documents as JSON
text. A file lies at ``tables/run_id=<run>/config_name=<config>/<number>.parquet``, so that pandas,
DuckDB and Spark read many runs as one table; the names in the path are not repeated in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from retrieval_eval.agents.metrics.catalog import read_metric, summarised
from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.agents.runs.layout import safe_name
from retrieval_eval.agents.study.trials import COLUMN_KINDS, to_row
from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import encodable
from retrieval_eval.io.files import remove, write_bytes
from retrieval_eval.io.remote import Place
from retrieval_eval.model.summary import RunSummary

TABLES: Final = "tables"
_FILE: Final = re.compile(r"config_name=[^/]+/\d{4,}\.parquet")
_IN_PATH: Final = ("run_id", "config_name")
_LONGEST: Final = 200
_ROWS: Final = 256
_LARGEST_INTEGER: Final = 2**63 - 1

SCHEMA: Final[Mapping[str, str]] = {
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
"""The columns of every table and what they hold; those of metrics follow the registry.

What is summarised has a reason where there is no number.
"""


def write_tables(
    tables: Path | Place,
    documents: Path | Place,
    summary: RunSummary,
    metrics: Sequence[TrialMetrics],
) -> None:
    """Write the tables of a run, and remove those of configurations and trials that are gone.

    Parameters
    ----------
    tables
        The folder of the tables of all runs.
    documents
        The folder of the run's documents.
    summary, metrics
        The summary of the run, and the metrics of its trials in the same order.
    """
    folder = tables / f"run_id={partition_of(summary.run_id)}"
    there = set(_names_in(folder))
    trials = list(zip(summary.trials, metrics, strict=True))
    for config, own in groupby(trials, key=lambda trial: trial[0].config_name):
        group = list(own)
        for start in range(0, len(group), _ROWS):
            part = group[start : start + _ROWS]
            events = _read(documents, [entry.events_file for entry, _ in part])
            texts = _read(documents, [entry.metrics_file for entry, _ in part])
            rows = [
                _row(trial, *both) for (_, trial), *both in zip(part, events, texts, strict=True)
            ]
            name = f"config_name={partition_of(config)}/{start // _ROWS:04d}.parquet"
            _write(folder, name, table_bytes(rows))
            there.discard(name)
    stale = sorted(filter(_FILE.fullmatch, there))
    if isinstance(folder, Place):
        folder.remove(stale)
    else:
        for name in stale:
            remove(folder / name, folder)


def partition_of(name: str) -> str:
    """Return a name as the value of a partition: percent-encoded, as other readers expect.

    Examples
    --------
    >>> partition_of("base line/2"), partition_of("a.b-c")
    ('base%20line%2F2', 'a.b-c')
    """
    quoted = quote(str(encodable(name)), safe="@+")
    return quoted if len(quoted) <= _LONGEST else safe_name(name)


def table_bytes(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as a Parquet file; a value that its column cannot hold is missing."""
    try:
        arrow: Any = import_module("pyarrow")
    except ImportError:
        raise BadInputError(f"tables are written with pyarrow: {install_hint('dask')}") from None
    text, count = arrow.string(), arrow.int64()
    use = arrow.struct([("name", text), ("calls", count), ("answered", count)])
    kinds = {
        "text": text,
        "list": arrow.list_(text),
        "integer": count,
        "boolean": arrow.bool_(),
        "number": arrow.float64(),
        "uses": arrow.list_(use),
    }
    schema = arrow.schema([(name, kinds[kind]) for name, kind in SCHEMA.items()])
    cells = [{name: _cell(row.get(name), kind) for name, kind in SCHEMA.items()} for row in rows]
    target = BytesIO()
    table = arrow.Table.from_pylist(cells, schema=schema)
    import_module("pyarrow.parquet").write_table(table, target, compression="zstd")
    return target.getvalue()


def _row(trial: TrialMetrics, events: bytes, metrics: bytes) -> dict[str, Any]:
    return {
        **to_row(trial),
        **{f"{metric.name}_reason": read_metric(trial, metric).reason for metric in summarised()},
        "raw_task_name": trial.provenance.raw_task_name,
        "trace_source": trial.coverage.trace_source,
        "is_simulated": trial.provenance.is_simulated is True,
        "input_fingerprint": trial.input_fingerprint,
        "body_digest": trial.body_sha256,
        "events": events.decode(),
        "metrics": metrics.decode(),
    }


def _cell(value: Any, kind: str) -> Any:
    match kind:
        case "text":
            return encodable(value) if isinstance(value, str) else None
        case "list":
            return [encodable(each) for each in value or () if isinstance(each, str)]
        case "integer":
            return value if value is None or abs(value) <= _LARGEST_INTEGER else None
        case "uses":
            return [
                {"name": encodable(name), "calls": calls, "answered": answered}
                for name, (calls, answered) in (value or {}).items()
            ]
    return value


def _names_in(folder: Path | Place) -> Iterator[str]:
    if isinstance(folder, Place):
        return (file.path for file in folder.files())
    _refuse_link(folder)
    return (path.relative_to(folder).as_posix() for path in folder.glob("*/*"))


def _read(folder: Path | Place, names: Sequence[str]) -> list[bytes]:
    return (
        folder.read(names)
        if isinstance(folder, Place)
        else [(folder / name).read_bytes() for name in names]
    )


def _write(folder: Path | Place, name: str, data: bytes) -> None:
    if isinstance(folder, Place):
        folder.write([(name, data)])
        return
    _refuse_link((folder / name).parent)
    write_bytes(folder / name, data)


def _refuse_link(folder: Path) -> None:
    """Raise where tables would be written through a link that a run brought with it."""
    for place in (folder, folder.parent):
        if place.is_symlink():
            raise BadInputError(f"{place}: nothing is written through a link; remove it")
