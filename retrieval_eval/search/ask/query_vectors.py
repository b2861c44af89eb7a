"""Vectors of queries, from a file or from the user's own embedder, checked before they are used."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import iter_jsonl, write_bytes
from retrieval_eval.search.ask import RetrieverError
from retrieval_eval.search.ask.options import is_callable_spec, load_callable
from retrieval_eval.search.gold.identity import normalize_query, query_id, sha256_file

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

OPTIONS: Final = ("query_vectors", "embedder", "model", "cache")
"""Options of every retriever that searches by vector."""

_FILE: Final = (
    'JSONL of {"query": …, "vector": […]}, or .npz with the arrays "queries" (text) and "vectors"'
)


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """Gives the vector of a query: one row of float64 that is finite and not empty.

    A file names a query by its text (compared as the gold set does, without case and spacing), by
    the SHA-256 of the text, or by the id that the gold set gives to a query without one. An
    embedder is called once for each text; with a ``cache`` folder its answers are kept there,
    under the name of its ``model``.
    """

    facts: Mapping[str, Any]
    _known: Mapping[str, Any] = field(repr=False)
    _embed: Callable[[str], Any] | None = field(default=None, repr=False)
    _cache: EmbeddingCache | None = field(default=None, repr=False)

    @property
    def is_file(self) -> bool:
        """Whether the vectors come from a file, and so are always the same."""
        return self._embed is None

    def get(self, query: str, corpus: str, dimension: int | None = None) -> NDArray[Any]:
        """Return the vector of a query.

        Raises
        ------
        RetrieverError
            When there is none, the embedder raises, or what there is cannot be used: no single row
            of finite numbers, or not of the ``dimension`` of the documents.
        """
        if self._cache is not None and self._embed is not None:
            return checked_vector(self._cache.get(query, self._embed), "the embedder", dimension)
        names = (
            normalize_query(query),
            sha256(query.encode("utf-8", "surrogatepass")).hexdigest(),
            query_id(corpus, query),
        )
        found = next((self._known[name] for name in names if name in self._known), None)
        if found is None:
            raise RetrieverError(
                f"the file of query vectors has none for this query (by its text, the SHA-256"
                f" {names[1][:12]}… of the text, or the id {names[2]})"
            )
        return checked_vector(found, "the file of query vectors", dimension)


def open_query_vectors(kind: str, given: Mapping[str, str]) -> QueryVectors | None:
    """Return what the options name: ``query_vectors`` (a file) or ``embedder`` (a callable).

    Parameters
    ----------
    kind
        The kind of retriever, for messages.
    given
        All options. ``embedder`` is ``package.module:callable`` from text to a row of numbers;
        ``cache`` a folder for its vectors, which needs ``model``, a name of the model and its
        version. None is returned where neither option is given.

    Raises
    ------
    BadInputError
        When both are given, a file cannot be used, or the embedder cannot be imported.
    """
    path, spec = given.get("query_vectors"), given.get("embedder")
    model, folder = given.get("model", ""), given.get("cache", "")
    if path and spec:
        raise BadInputError(f"{kind}: options query_vectors and embedder exclude each other")
    if not spec and (model or folder):
        raise BadInputError(f"{kind}: options model and cache belong to the option embedder")
    if path:
        return _from_file(Path(path).expanduser())
    if not spec:
        return None
    if folder and not model:
        raise BadInputError(
            f"{kind}: option cache needs the option model: vectors of another model must not be"
            " taken for those of this one"
        )
    if not is_callable_spec(spec):
        raise BadInputError(
            f"{spec!r} is not of the form package.module:name; expected an embedder: a function"
            " from text to a row of numbers"
        )
    embed = load_callable(spec)
    embed = embed() if isinstance(embed, type) else embed
    if not callable(embed):
        raise BadInputError(f"{spec}: is not callable; expected a function from text to numbers")
    cache = EmbeddingCache(model or spec, Path(folder).expanduser() if folder else None)
    return QueryVectors({"embedder": spec, "model": model or None}, {}, embed, cache)


def checked_vector(value: Any, source: str, dimension: int | None) -> NDArray[Any]:
    """Return a vector as float64; raises `RetrieverError` for what is none, or does not fit."""
    import numpy as np

    try:
        vector = np.asarray(value)
    except Exception as error:
        raise RetrieverError(f"{source} gave no vector ({type(error).__name__})") from error
    if vector.ndim != 1 or vector.dtype.kind not in "fiu" or not len(vector):
        raise RetrieverError(
            f"{source} gave an array of shape {vector.shape} and type {vector.dtype}; expected one"
            " row of numbers"
        )
    vector = vector.astype(np.float64)
    if not np.isfinite(vector).all():
        raise RetrieverError(f"{source} gave a vector with a number that is not finite")
    if dimension is not None and len(vector) != dimension:
        raise RetrieverError(
            f"{source} gave a vector of {len(vector)} numbers; the documents have {dimension}"
        )
    return vector


def read_arrays(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    """Return arrays of an .npz file by name, those that are there; never unpickles anything.

    Raises
    ------
    BadInputError
        When the file cannot be read, is no .npz, or an array holds Python objects.
    """
    import numpy as np

    try:
        # Opened here, for numpy leaves a file open that turns out to be damaged.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as found:
            return {name: found[name] for name in names if name in found.files}
    # A damaged archive raises whatever its damage leads to.
    except Exception as error:
        raise BadInputError(
            f"{path}: cannot be read as .npz ({type(error).__name__}: {error})"
        ) from error


def texts_of(array: NDArray[Any], where: str) -> list[str]:
    """Return the names in an array of text or whole numbers; raises BadInputError for others."""
    if array.ndim != 1 or array.dtype.kind not in "Uiu":
        raise BadInputError(
            f"{where}: is of shape {array.shape} and type {array.dtype}; expected one row of text"
        )
    return [str(each) for each in array.tolist()]


def _from_file(path: Path) -> QueryVectors:
    rows: dict[str, Any] = {}
    for number, (name, vector) in enumerate(_rows(path), 1):
        try:
            row = checked_vector(vector, f"row {number}", None)
        except RetrieverError as error:
            raise BadInputError(f"{path}: {error}") from error
        if name in rows:
            raise BadInputError(f"{path}: row {number}: query {name!r} has a vector already")
        rows[name] = row
    if not rows:
        raise BadInputError(f"{path}: holds no vector; expected {_FILE}")
    if len(sizes := {len(row) for row in rows.values()}) > 1:
        raise BadInputError(f"{path}: vectors differ in length: {sorted(sizes)}")
    facts = {"query_vectors_sha256": sha256_file(path), "n_query_vectors": len(rows)}
    return QueryVectors(facts, rows)


def _rows(path: Path) -> list[tuple[str, Any]]:
    if path.suffix == ".npz":
        found = read_arrays(path, "queries", "vectors")
        if found.keys() != {"queries", "vectors"} or found["vectors"].ndim != 2:
            raise BadInputError(f"{path}: expected {_FILE}")
        names = texts_of(found["queries"], f"{path}: queries")
        if len(names) != len(found["vectors"]):
            raise BadInputError(
                f"{path}: {len(names)} queries and {len(found['vectors'])} vectors; expected as"
                " many of one as of the other"
            )
        return [
            (normalize_query(name), row) for name, row in zip(names, found["vectors"], strict=True)
        ]
    rows = []
    real = path.resolve()
    for line in iter_jsonl(real, real.parent):
        if line.problem is not None:
            raise BadInputError(f"{path}: {line.problem.removeprefix(f'{real.name}: ')}")
        row = line.value if isinstance(line.value, dict) else {}
        if not isinstance(row.get("query"), str) or not isinstance(row.get("vector"), list):
            raise BadInputError(f"{path}: line {line.number}: expected {_FILE}")
        rows.append((normalize_query(row["query"]), row["vector"]))
    return rows


# --------------------------------------------------------------------------------------------------
# A memo of query embeddings, so that a repeated run pays for none twice.


class EmbeddingCache:
    """Vectors by the content of their text, in memory and, with a ``folder``, on disk.

    The key is the SHA-256 of ``namespace`` and text. The namespace must say all that decides a
    vector besides the text: the model, its version, its settings. Threads may share a cache; two
    that ask for the same new text at once may both compute it.

    Examples
    --------
    >>> cache = EmbeddingCache("toy-model-1")
    >>> cache.get("tax", lambda text: [float(len(text)), 1.0])
    array([3., 1.])
    >>> cache.get("tax", lambda text: [0.0, 0.0])
    array([3., 1.])
    """

    def __init__(self, namespace: str, folder: Path | None = None) -> None:
        self._namespace = namespace
        self._folder = folder
        self._known: dict[str, NDArray[Any]] = {}

    def get(self, text: str, compute: Callable[[str], ArrayLike]) -> NDArray[Any]:
        """Return the vector of ``text``, read-only, computing it where it is not known.

        A file that is damaged is computed and written again. What ``compute`` raises is raised,
        and nothing is kept.
        """
        import numpy as np

        key = sha256(json.dumps([self._namespace, text]).encode()).hexdigest()
        if key in self._known:
            return self._known[key]
        path = self._folder / key[:2] / f"{key}.npy" if self._folder else None
        vector = _read(path) if path else None
        if vector is None:
            vector = np.array(compute(text))
            if vector.dtype.hasobject:
                raise TypeError("an embedding must be numbers")
            if path:
                buffer = BytesIO()
                np.save(buffer, vector, allow_pickle=False)
                write_bytes(path, buffer.getvalue())
        vector.flags.writeable = False
        return self._known.setdefault(key, vector)


def _read(path: Path) -> NDArray[Any] | None:
    import numpy as np

    try:
        # Not `np.load`, which takes a damaged beginning for that of an archive.
        with path.open("rb") as stream:
            loaded: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError):
        return None
    return loaded
