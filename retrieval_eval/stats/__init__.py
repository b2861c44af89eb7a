"""Statistics independent of the domain: they take plain numbers and return values with reasons.

`paired`, `power`, `equivalence` and `sequential`, `correlation`, `multiplicity`, `intervals`,
`proportions`, `reached`, `time_to_event` and `calibration`.
Order of the input matters to resampled numbers (the seed picks positions), so sort by a stable key
before calling. How often the intervals cover the truth, and where they do not, is simulated in
``docs/simulation.md``.
"""

from __future__ import annotations

from typing import Final

# Here to be read without loading numpy.
MIN_POINTS: Final = 3
"""With fewer points there is no association."""
MIN_VALUES: Final = 3
"""Below this many units no interval is given."""
BOOTSTRAP_T: Final = "bootstrap_t"
"""The method of an interval of a mean."""
