"""Vectors of documents in a file, searched exactly: dense retrieval without a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.identity import sha256_file
from retrieval_eval.io.files import decode
from retrieval_eval.io.user_files import read_user_text
from retrieval_eval.search.options import Options
from retrieval_eval.search.protocol import ScoredDoc
from retrieval_eval.search.query_vectors import OPTIONS as VECTOR_OPTIONS
from retrieval_eval.search.query_vectors import (
    QueryVectors,
    read_arrays,
    require_query_vectors,
    texts_of,
)
from retrieval_eval.search.results import RetrieverError
from retrieval_eval.search.retrievers import RETRIEVERS, RetrieverKind, file_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Similarity = Literal["cosine", "dot", "l2"]
SIMILARITIES: Final = ("cosine", "dot", "l2")
OPTIONS: Final = ("similarity", "ids", "corpus", *VECTOR_OPTIONS)

_BLOCK_BYTES: Final = 1 << 25


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors of documents: a row each, with their ids, corpora and lengths (Euclidean norms).

    ``matrix`` may lie in a file that is mapped into memory. ``sha256`` covers rows, ids, corpora.
    """

    matrix: NDArray[Any]
    ids: tuple[str, ...]
    corpora: tuple[str, ...]
    lengths: NDArray[Any]
    sha256: str

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""
        return int(self.matrix.shape[1])


class DenseRetriever:
    """Every document is compared with the query; nothing is approximated.

    The best candidates are found block by block in the precision of the file, and all whose score
    could be among the first ``k`` in spite of rounding are scored anew in double precision, so
    that neither blocks nor the machine's arithmetic decide the order. Equal scores are ordered by
    document id, descending.

    ``cosine`` and ``dot`` are the scores themselves; the score of ``l2`` is minus the Euclidean
    distance.
    """

    is_thread_safe = True

    def __init__(
        self, vectors: Vectors, queries: QueryVectors, similarity: Similarity = "cosine"
    ) -> None:
        import numpy as np

        self._vectors, self._queries, self._similarity = vectors, queries, similarity
        if similarity == "cosine" and not vectors.lengths.all():
            row = int(np.argmin(vectors.lengths))
            raise BadInputError(
                f"dense: the vector of document {vectors.ids[row]!r} (row {row + 1}) is zero and"
                " has no cosine; leave it out, or give similarity=dot"
            )
        corpora = np.array(vectors.corpora, dtype=object)
        self._rows = {
            name: np.flatnonzero(corpora == name) for name in sorted(set(vectors.corpora))
        }

    @property
    def is_deterministic(self) -> bool:
        """Whether equal queries get equal answers: where their vectors come from a file."""
        return self._queries.is_file

    @property
    def known_documents(self) -> dict[str, list[str]]:
        """The ids of all documents of each corpus."""
        return {name: [self._vectors.ids[row] for row in rows] for name, rows in self._rows.items()}

    def search(self, query: str, *, corpus: str, k: int) -> list[ScoredDoc]:
        """Return the ``k`` best documents of ``corpus``, best first.

        Raises
        ------
        RetrieverError
            When there is no such corpus, or no vector of the query that can be compared.
        """
        import numpy as np

        rows = self._rows.get(corpus)
        if rows is None:
            there = ", ".join(map(repr, self._rows))
            raise RetrieverError(
                f"there is no vector of corpus {corpus!r} (there is {there}); name the corpus of"
                " all with the option corpus"
            )
        vector = self._queries.get(query, corpus, self._vectors.dimension)
        length = float(_lengths(vector[None, :])[0])
        if self._similarity == "cosine" and not length:
            raise RetrieverError("the vector of the query is zero and has no cosine")
        if not np.isfinite(length):
            raise RetrieverError("the vector of the query is too long to be compared")
        near = self._candidates(vector, length, rows, k)
        scores = self._exact(vector, length, near)
        ids = (self._vectors.ids[row] for row in near)
        found = sorted(zip(scores.tolist(), ids, strict=True), reverse=True)
        return [ScoredDoc(doc, score) for score, doc in found[:k]]

    def describe(self) -> dict[str, Any]:
        """Return similarity, dimension and precision, a digest of all vectors and ids, corpora.

        ``index`` is that digest. It is none of the documents, whose texts are not known here, so
        that two models can be compared over the same corpus.
        """
        vectors = self._vectors
        return {
            "name": "dense",
            "reranker": None,
            "search": "exact",
            "similarity": self._similarity,
            "dimension": vectors.dimension,
            "precision": str(vectors.matrix.dtype),
            "index": vectors.sha256,
            **self._queries.facts,
            "corpora": [
                {"corpus": name, "n_documents": len(rows), "fingerprint": None}
                for name, rows in self._rows.items()
            ],
        }

    def _candidates(
        self, vector: NDArray[Any], length: float, rows: NDArray[Any], k: int
    ) -> NDArray[Any]:
        """Return the rows that can be among the first ``k``, whatever was lost by rounding."""
        import numpy as np

        if len(rows) <= k:
            return rows
        lengths, n = self._vectors.lengths[rows], self._vectors.dimension
        dtype = np.result_type(self._vectors.matrix.dtype, np.float32)
        close = np.empty(len(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = vector.astype(dtype)
            for start, block in self._blocks(rows):
                close[start : start + len(block)] = block.astype(dtype, copy=False) @ rounded
        # The bound of Higham (Accuracy and Stability of Numerical Algorithms, section 3.1) for an
        # inner product of n terms, with room for the rounding of the vectors and for underflow.
        limits = np.finfo(dtype)
        error = (n + 4) * float(limits.eps) * lengths * length + n * float(limits.tiny)
        if self._similarity == "cosine":
            close, error = close / (lengths * length), error / (lengths * length)
        elif self._similarity == "l2":
            # Of the squared distance; the order is that of the distance.
            close, error = 2 * close - lengths * lengths, 2 * error
        error += (
            (n + 8) * float(np.finfo(np.float64).eps) * _scale(self._similarity, lengths, length)
        )
        if not np.isfinite(close).all():
            return rows
        low = close - error
        least = np.partition(low, len(low) - k)[len(low) - k]
        found: NDArray[Any] = rows[close + error >= least]
        return found

    def _exact(self, vector: NDArray[Any], length: float, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the scores of some rows, each summed by itself: equal rows have equal scores."""
        import numpy as np

        scores = np.empty(len(rows))
        for start, block in self._blocks(rows):
            part = block.astype(np.float64)
            if self._similarity == "l2":
                apart = part - vector
                found = -np.sqrt((apart * apart).sum(axis=1))
            else:
                found = (part * vector).sum(axis=1)
            scores[start : start + len(block)] = found
        if self._similarity == "cosine":
            scores /= self._vectors.lengths[rows] * length
        return scores

    def _blocks(self, rows: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
        matrix = self._vectors.matrix
        n = _block_rows(matrix)
        is_whole = len(rows) == len(matrix)
        for start in range(0, len(rows), n):
            part = rows[start : start + n]
            yield start, matrix[start : start + n] if is_whole else matrix[part]


def _scale(similarity: Similarity, lengths: NDArray[Any], length: float) -> Any:
    """Return the size of the numbers whose rounding in double precision is to be allowed for."""
    if similarity == "cosine":
        return 1.0
    return (lengths + length) ** 2


def open_dense(path: Path, options: Mapping[str, str]) -> DenseRetriever:
    """Return a retriever over a file of vectors.

    ``.npz`` has the arrays ``vectors`` (a row for each document), ``ids`` and, for more than one
    corpus, ``corpora``. ``.npy`` has the rows alone and is mapped into memory; the option ``ids``
    names a file with one id per line, or JSONL with ``id`` and perhaps ``corpus``, such as the
    corpus file.

    Raises
    ------
    BadInputError
        When an option is of no use, a file cannot be read, there are not as many ids as rows, an
        id comes twice, or a number is not finite. Nothing is ever unpickled.
    """
    given = Options("dense", options)
    given.only(OPTIONS)
    similarity = cast("Similarity", given.choice("similarity", "cosine", SIMILARITIES))
    queries = require_query_vectors("dense", options)
    corpus = options.get("corpus", "default")
    if path.suffix == ".npz":
        if "ids" in options:
            raise BadInputError(f"{path}: an .npz has its own ids; the option ids belongs to .npy")
        matrix, ids, corpora = _from_archive(path, corpus)
    else:
        matrix = _mapped(path)
        ids, corpora = _ids(options.get("ids"), path, corpus)
    return DenseRetriever(_checked(path, matrix, ids, corpora), queries, similarity)


def _from_archive(path: Path, corpus: str) -> tuple[NDArray[Any], list[str], list[str]]:
    found = read_arrays(path, "vectors", "ids", "corpora")
    if missing := sorted({"vectors", "ids"} - found.keys()):
        raise BadInputError(f"{path}: has no array {missing[0]!r}; expected vectors and ids")
    ids = texts_of(found["ids"], f"{path}: ids")
    if "corpora" not in found:
        return found["vectors"], ids, [corpus] * len(ids)
    return found["vectors"], ids, texts_of(found["corpora"], f"{path}: corpora")


def _mapped(path: Path) -> NDArray[Any]:
    import numpy as np

    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:
        raise BadInputError(
            f"{path}: cannot be read as .npy ({type(error).__name__}: {error})"
        ) from error
    if not isinstance(loaded, np.ndarray):
        raise BadInputError(f"{path}: is an archive; name it .npz")
    return loaded


def _ids(name: str | None, path: Path, corpus: str) -> tuple[list[str], list[str]]:
    if name is None:
        raise BadInputError(f"{path}: needs the option ids=FILE: an id per row, one a line")
    file = Path(name).expanduser()
    ids, corpora = [], []
    for number, line in enumerate(read_user_text(file).splitlines(), 1):
        row, _ = decode(line) if line.startswith("{") else ({"id": line}, None)
        found = row.get("id", row.get("_id")) if isinstance(row, dict) else None
        where = row.get("corpus", corpus) if isinstance(row, dict) else None
        if not isinstance(found, str) or not found or not isinstance(where, str):
            raise BadInputError(
                f'{file}: line {number}: expected an id, or {{"id": "…", "corpus": "…"}}'
            )
        ids.append(found)
        corpora.append(where)
    return ids, corpora


def _checked(
    path: Path, matrix: NDArray[Any], ids: Sequence[str], corpora: Sequence[str]
) -> Vectors:
    """Return the vectors after one pass over all of them."""
    import numpy as np

    if matrix.ndim != 2 or not matrix.size or matrix.dtype.kind not in "fiu":
        raise BadInputError(
            f"{path}: vectors are of shape {matrix.shape} and type {matrix.dtype}; expected rows"
            " of numbers"
        )
    if matrix.dtype.kind == "f" and matrix.dtype.itemsize > 8:
        raise BadInputError(f"{path}: vectors of type {matrix.dtype} cannot be compared exactly")
    if not len(matrix) == len(ids) == len(corpora):
        raise BadInputError(
            f"{path}: {len(matrix)} vectors, {len(ids)} ids and {len(corpora)} corpora; expected"
            " as many of each"
        )
    places: dict[tuple[str, str], int] = {}
    for row, key in enumerate(zip(corpora, ids, strict=True), 1):
        if not key[1]:
            raise BadInputError(f"{path}: row {row} has an empty id")
        if (first := places.setdefault(key, row)) != row:
            raise BadInputError(f"{path}: rows {first} and {row} have the same id, {key[1]!r}")
    lengths, n = np.empty(len(matrix)), _block_rows(matrix)
    for start in range(0, len(matrix), n):
        part = matrix[start : start + n].astype(np.float64)
        lengths[start : start + len(part)] = _lengths(part)
    if not (fine := np.isfinite(lengths)).all():
        row = int(np.argmin(fine))
        raise BadInputError(
            f"{path}: the vector of document {ids[row]!r} (row {row + 1}) has a number that is not"
            " finite, or is too long to be compared"
        )
    named = "\n".join(f"{corpus}\0{doc}" for corpus, doc in zip(corpora, ids, strict=True))
    digest = sha256(f"{sha256_file(path)}\n{named}".encode("utf-8", "surrogatepass")).hexdigest()
    return Vectors(matrix, tuple(ids), tuple(corpora), lengths, digest)


def _lengths(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the Euclidean norm of each row of doubles, infinite where it is too large."""
    import numpy as np

    with np.errstate(over="ignore"):
        found: NDArray[Any] = np.sqrt((rows * rows).sum(axis=1))
    return found


def _block_rows(matrix: NDArray[Any]) -> int:
    return max(1, _BLOCK_BYTES // (8 * int(matrix.shape[1])))


RETRIEVERS.add(
    "dense",
    RetrieverKind(
        "dense:VECTORS.npy (or .npz)",
        lambda spec, options: open_dense(file_of(spec), options),
        options=OPTIONS,
    ),
)
