"""The optional module in C, which `hits` and `inputs` use where it is installed."""

from typing import Any

Rows = tuple[Any, int, int] | tuple[Any, Any, Any, Any, Any]

def rank(
    judged: list[dict[str, int]],
    runs: list[dict[str, float]] | Rows,
    places: dict[str, int],
    ranked: dict[str, None],
    lowest: int,
    is_float32: bool,
    /,
) -> tuple[bytes, bytes, bytes] | None: ...
def nested(rows: Rows, is_grade: bool, /) -> dict[str, dict[str, float]] | None: ...
def measured(
    queries: bytes,
    hits: bytes,
    grades: bytes,
    measure: tuple[int, int, bool, int],
    undefined: float,
    log2_of: bytes,
    /,
) -> tuple[bytearray, int, int, int, int, float]: ...
