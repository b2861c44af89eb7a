"""Retrievers by name: what ``--retriever`` understands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.protocol import Retriever

_CALLABLE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_NO_OPTIONS: Final[Mapping[str, str]] = MappingProxyType({})
_KINDS: Final = (
    "bm25:CORPUS.jsonl, run:FILE (a TREC run or JSONL), http://… or https://…, postgresql://…,"
    " package.module:callable"
)


def open_retriever(spec: str, options: Mapping[str, str] = _NO_OPTIONS) -> Retriever:
    """Return the retriever that ``spec`` names, ready to be asked.

    Parameters
    ----------
    spec
        ``bm25:PATH`` (a corpus in JSONL), ``run:PATH`` (a TREC run or JSONL), ``http://…`` or
        ``https://…``, ``postgresql://…``, or ``package.module:callable``.
    options
        Settings of that kind of retriever, as text.

    Raises
    ------
    BadInputError
        When the spec is none of these, an option is unknown or out of range, or what the spec
        names does not exist or cannot be used.
    """
    kind = retriever_kind(spec)
    if kind == "http":
        from retrieval_eval.search.retrievers.http import open_http

        return open_http(spec, options)
    if kind == "postgresql":
        from retrieval_eval.search.retrievers.postgres import open_postgres

        return open_postgres(spec, options)
    if kind in ("bm25", "run"):
        return _open_file(kind, spec.partition(":")[2], options)
    if _CALLABLE.fullmatch(spec):
        from retrieval_eval.search.retrievers.module import open_module

        return open_module(spec, options)
    raise BadInputError(f"{spec!r} names no retriever; expected {_KINDS}")


def retriever_kind(spec: str) -> str:
    """Return what kind of retriever a spec names: those of `open_retriever`.

    Examples
    --------
    >>> retriever_kind("https://host/search"), retriever_kind("package.module:name")
    ('http', 'module')
    """
    kind = spec.partition(":")[0].partition("+")[0]
    if kind in ("http", "https"):
        return "http"
    return kind if kind in ("bm25", "run", "postgresql") else "module"


def _open_file(kind: str, name: str, options: Mapping[str, str]) -> Retriever:
    if not name:
        raise BadInputError(f"{kind}: needs a file; expected {_KINDS}")
    path = Path(name).expanduser()
    if kind == "run":
        from retrieval_eval.search.retrievers.ranked_file import open_ranked_file

        return open_ranked_file(path, options)
    from retrieval_eval.search.retrievers.bm25 import open_bm25

    return open_bm25(path, options)
