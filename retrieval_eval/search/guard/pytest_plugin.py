"""A pytest fixture that compares a search run with its baseline, inside a team's own tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from os import PathLike
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from retrieval_eval.model.guard import GuardRuling

Name = str | PathLike[str]


@pytest.fixture
def retrieval_guard(pytestconfig: pytest.Config) -> Callable[..., GuardRuling]:
    """Give a function that fails the test unless a search run passes the guard.

    ``retrieval_guard(run=..., baseline=..., thresholds=..., queries=..., gold=...,
    justification=..., approvals=..., noise=..., policy=..., look=..., today=...)``: as `Request`
    has them, paths relative to pytest's root folder; only ``run`` must be given. ``run``,
    ``baseline`` and ``approvals`` may be lists of paths, the first two of several runs of a system.
    No verdict fails as a breach does. Returns the verdict.
    """

    def check_run(
        *,
        run: Name | Sequence[Name],
        baseline: Name | Sequence[Name] | None = None,
        approvals: Name | Sequence[Name] = (),
        policy: str | None = None,
        look: int = 1,
        today: date | None = None,
        **paths: Name,
    ) -> GuardRuling:
        from retrieval_eval.errors import RetrievalEvalError
        from retrieval_eval.search.guard.files import DEFAULT_THRESHOLDS, Request, guard
        from retrieval_eval.search.guard.rendering import to_text
        from retrieval_eval.search.noise import DEFAULT_NOISE

        root = pytestconfig.rootpath
        found = {name: root / path for name, path in paths.items()}
        for name, path in (("thresholds", DEFAULT_THRESHOLDS), ("noise", DEFAULT_NOISE)):
            if name not in found and (root / path).is_file():
                found[name] = root / path
        defaults = Request(())
        baselines = defaults.baselines if baseline is None else _listed(baseline)
        request = Request(
            [root / path for path in _listed(run)],
            [root / path for path in baselines],
            approvals=[root / path for path in _listed(approvals)],
            policy=policy,
            look=look,
            **{"gold": root / defaults.gold, **found},
        )
        try:
            verdict = guard(request, today=today or datetime.now(UTC).date())
        except RetrievalEvalError as error:
            pytest.fail(f"retrieval guard: {error}", pytrace=False)
        if verdict.exit_code:
            pytest.fail(f"retrieval guard: {to_text(verdict)}", pytrace=False)
        return verdict

    return check_run


def _listed(names: Name | Sequence[Name]) -> Sequence[Name]:
    return [names] if isinstance(names, str | PathLike) else names
