"""Other processes, as the system tells of them."""

from __future__ import annotations

import time
from pathlib import Path


def ends(process: int, seconds: float = 30.0) -> bool:
    """Return whether a process has ended, or does so in time."""
    end = time.monotonic() + seconds
    while _is_running(process):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
