"""How the numbers of an analysis are resampled."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Settings:
    """Seed, number of resamples and coverage of every interval, and what the user stated.

    ``mcp_configs`` are the configurations meant to use MCP; None where trials are to show it.
    """

    seed: int
    n_resamples: int = 10_000
    confidence: float = 0.95
    mcp_configs: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the ``parameters`` block; what was not stated is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}
