"""Threats of how the trials ran: arms that were not run as designed."""

from __future__ import annotations

import math
from collections.abc import Iterator

from retrieval_eval.model.impact import Threat
from retrieval_eval.study.threats import THREATS, Study, kind
from retrieval_eval.values import counted, signed


@THREATS.register("mcp_role")
@kind(
    title="Use of MCP",
    meaning="name, stated role and use of MCP of an arm disagree, or only some trials used it",
    gravity=30,
)
def _mcp_role(study: Study) -> Iterator[Threat]:
    roles = study.valid.roles
    for arm, why in roles.doubt:
        yield Threat(
            name="mcp_role",
            value=arm.n_callers,
            unit="trials",
            effect="withholds",
            sentence=f"{arm.config}: {why}",
            arm=arm.config,
        )
    for note in roles.notes:
        text = f"{note}; it is taken as an arm that is meant to"
        yield Threat(name="mcp_role", value=None, unit="trials", effect="none", sentence=text)
    yield from _partial_use(study)


def _partial_use(study: Study) -> Iterator[Threat]:
    """Yield a threat for each arm of which only some trials called an MCP server.

    Control trials that did so, and arms whose role is in doubt, are left to the gate.
    """
    roles = study.valid.roles
    known = [roles.control, *(arm for arm, _ in roles.doubt)]
    for side, arm in zip(("baseline", "comparison"), study.arms, strict=True):
        if any(arm is other for other in known) or not 0 < arm.n_callers < arm.n_ran:
            continue
        own = [
            pair.values(study.column)
            for pair in study.pairs
            if all(trial.has_called_mcp for trial in getattr(pair, side))
        ]
        changes = [b - a for a, b in own if a is not None and b is not None]
        text = f"only {arm.use} called an MCP server"
        mean = math.fsum(changes) / len(changes) if changes else None
        if mean is not None:
            text += (
                f"; over {counted(len(changes), 'matched task')} on which all did, the mean "
                f"difference is {signed(mean, 3)}"
            )
        yield Threat(
            name="mcp_role",
            value=arm.n_callers,
            unit="trials",
            effect="none",
            sentence=text,
            arm=arm.config,
            estimate=mean,
        )
