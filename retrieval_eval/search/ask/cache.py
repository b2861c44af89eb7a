"""A memo of query embeddings, so that a repeated run pays for none twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retrieval_eval.io.files import write_bytes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
