"""Records of a study as tidy frames, and their display in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from msgspec import structs

from retrieval_eval.escape import html_text

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.model import Record

_DTYPES = {str: "object", bool: "boolean", int: "Int64", float: "float64"}
"""Text is of dtype object, because some of it cannot be encoded (lone surrogates)."""


def dtypes_of(*parts: type[Record] | str) -> dict[str, str]:
    """Return the columns of structs, and of text by their names, with the types of their values.

    Examples
    --------
    >>> from retrieval_eval.model.impact import PairValues
    >>> dtypes_of("metric", PairValues)["metric"], dtypes_of(PairValues)["difference"]
    ('object', 'float64')
    """
    columns = {}
    for part in parts:
        if isinstance(part, str):
            columns[part] = "object"
            continue
        hints = get_type_hints(part)
        for entry in structs.fields(part):
            if (dtype := _dtype(hints[entry.name])) is not None:
                columns[entry.name] = dtype
    return columns


def _dtype(hint: Any) -> str | None:
    """Return the type of a column of scalars, or None for what is none."""
    if get_origin(hint) is Literal:
        return "object"
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    if len(kinds) > 1 or get_origin(hint) in {dict, tuple}:
        return None
    return _dtype(kinds[0]) if kinds else _DTYPES.get(hint)


def frame_of(rows: Iterable[Mapping[str, Any]], dtypes: Mapping[str, str]) -> pd.DataFrame:
    """Return a frame with these columns, a row each."""
    import pandas as pd

    rows = list(rows)
    return pd.DataFrame(
        {
            name: pd.Series([row.get(name) for row in rows], dtype=dtype)
            for name, dtype in dtypes.items()
        }
    )


def notebook_html(sentences: Sequence[str], frame: pd.DataFrame | None = None) -> str:
    """Return the HTML of a result in a notebook: its sentences, and a table where there is one."""
    paragraphs = "".join(f"<p>{html_text(sentence)}</p>" for sentence in sentences)
    return paragraphs if frame is None else f"{paragraphs}\n{frame.to_html(na_rep='—')}"
