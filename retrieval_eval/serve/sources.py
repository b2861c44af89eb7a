"""What the faces show: a folder of search runs, a folder of reports, and the backlog."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval_eval.serve.backlog import DEFAULT_NAME, BacklogReader
from retrieval_eval.serve.dashboard import dashboard
from retrieval_eval.serve.diagnostics import diagnostics


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a face reads; nothing is read before somebody asks."""

    data: Path
    reports: Path
    backlog: BacklogReader | None = None
    backlog_name: str = DEFAULT_NAME

    def dashboard(self, run: str | None = None, corpus: str | None = None) -> dict[str, Any]:
        """Return :func:`~.dashboard.dashboard` of these sources."""
        return dashboard(
            self.data,
            backlog=self.backlog,
            backlog_name=self.backlog_name,
            run=run,
            corpus=corpus,
        )

    def diagnostics(self) -> dict[str, Any]:
        """Return :func:`~.diagnostics.diagnostics` of these sources."""
        return diagnostics(
            self.data, self.reports, backlog=self.backlog, backlog_name=self.backlog_name
        )
