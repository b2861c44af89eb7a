"""The page about how large a study must be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from retrieval_eval.escape import slug, visible
from retrieval_eval.pipeline.planning import Planned, plan_from
from retrieval_eval.pipeline.roots import DEMO, is_demo
from retrieval_eval.records import Progress, Renderer
from retrieval_eval.report.exhibits import Block, strip
from retrieval_eval.report.index import Listed
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.publishing import Files, Keep, digest_of, publish, write_frame
from retrieval_eval.report.simulated import notice

NOTEBOOK: Final = "plan"

_FRAMES: Final[Mapping[str, str]] = {
    "curve": "power by number of tasks and of repeats",
    "needs": "tasks and trials needed, by number of repeats",
    "assumptions": "what the plan rests on",
}
_PATHS: Final = ("runs_root", "benchmarks_root", "output_dir")


def load_plan(pilot: str = "", **options: Any) -> Planned:
    """Return the plan that a pilot, or stated numbers, lead to.

    Parameters
    ----------
    pilot
        ``RUN``, or ``RUN:BASELINE:COMPARISON``; the run ``demo`` is built in. Empty without one.
    options
        As for :func:`retrieval_eval.plan`, and the roots of :func:`retrieval_eval.evaluate`; empty
        text counts as None, and a text of ``mcp_configs`` may hold several, separated by commas.

    Raises
    ------
    BadInputError
        As :func:`retrieval_eval.plan` does, or when there is no such run.
    NothingToEvaluateError
        When the run holds no trial.
    """
    places: dict[str, Any] = {name: value for name in _PATHS if (value := options.pop(name, None))}
    mcp = options.pop("mcp_configs", None) or ()
    named = [name.strip() for name in mcp.split(",")] if isinstance(mcp, str) else list(mcp)
    return plan_from(pilot, mcp_configs=[n for n in named if n] or None, **places, **options)


def plan_header(planned: Planned) -> Block:
    """Return what a plan is for, and whether its pilot is simulated."""
    record = planned.plan.record
    metric = metric_name(record.metric)
    what = "ratio" if record.scale == "ratio" else "difference"
    facts = {
        "Pilot": visible(planned.run, 80),
        "Metric": metric.label,
        f"{what.capitalize()} to see": f"{record.target:g}",
        "Power": f"{record.power:.0%}".replace("%", " %"),
        "Level": f"{record.alpha:g}, two-sided",
        "Repeats": str(record.repeats),
    }
    return strip(notice(planned.n_simulated, planned.n_trials, "trial", "agent"), facts)


def build_plan(
    pilot: str = "",
    *,
    reports_dir: Path,
    renderer: Renderer = "auto",
    pdf: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
    keep: Keep | None = None,
    **values: Any,
) -> Path:
    """Write the page about how large a study must be, and return its path.

    Parameters
    ----------
    pilot, values
        As for :func:`load_plan`.
    reports_dir
        The page goes to ``<reports_dir>/plan/index.html``, of a pilot to
        ``<reports_dir>/plan/<pilot>/index.html``.
    renderer, pdf, jobs, progress, keep
        As for :func:`retrieval_eval.report.build`.

    Raises
    ------
    BadInputError
        As :func:`load_plan` does.
    RenderError
        When a cell fails or the page cannot be rendered.
    """
    if pilot and is_demo([pilot.partition(":")[0]], values.get("runs_root") or None):
        values["output_dir"] = values.get("output_dir") or str(reports_dir / DEMO / "data")
    values = {name: str(v) if isinstance(v, Path) else v for name, v in values.items()}
    values = {name: value for name, value in values.items() if value is not None}
    made = load_plan(pilot, jobs=jobs, progress=progress, **values)

    def tables(place: Path) -> Files:
        return [
            write_frame(
                name, meaning, getattr(made.plan, name), place, is_simulated=made.n_simulated > 0
            )
            for name, meaning in _FRAMES.items()
        ]

    name = slug(Path(made.run).name) if made.run else ""
    return publish(
        NOTEBOOK,
        {"pilot": pilot, **values},
        reports_dir / NOTEBOOK / name if name else reports_dir / NOTEBOOK,
        title=visible(f"Plan: {Path(made.run).name}" if made.run else "Plan of a study", 120),
        is_simulated=made.n_simulated > 0,
        tables=tables,
        renderer=renderer,
        pdf=pdf,
        progress=progress,
        inputs=digest_of(made.plan.to_json()),
        keep=keep,
        listed=Listed(reports_dir, n_trials=made.n_trials or None),
    )
