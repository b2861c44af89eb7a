"""How the numbers of an analysis are resampled."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Settings:
    """Seed, number of resamples and coverage of every interval."""

    seed: int
    n_resamples: int = 10_000
    confidence: float = 0.95

    def to_json(self) -> dict[str, Any]:
        """Return the ``parameters`` block."""
        return asdict(self)
