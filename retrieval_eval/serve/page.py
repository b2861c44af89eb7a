"""The index page: the latest run in a table, the backlog in a line, and links to the reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from retrieval_eval.escape import html_text
from retrieval_eval.model import to_builtins
from retrieval_eval.model.dashboard import Backlog, Dashboard, ShownRun, SkippedFile
from retrieval_eval.model.search_run import MetricChange, MetricMean
from retrieval_eval.report.numbers import MISSING, rate, signed
from retrieval_eval.report.simulated import TITLE, notice
from retrieval_eval.search.run.settings import HEADLINE
from retrieval_eval.values import counted

_STYLE: Final = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1a1a1a;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse}caption{text-align:left;padding-bottom:.4rem}
th,td{padding:.25rem .9rem .25rem 0;text-align:right;border-bottom:1px solid #ccc}
th:first-child{text-align:left}th[scope=row]{font-weight:normal}
td{font-variant-numeric:tabular-nums}a{color:#0b5394}
@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#161616}a{color:#8ab4f8}}
"""

_API_LINKS: Final = (
    '<p><a href="/api/metrics">/api/metrics</a> · '
    '<a href="/api/system/diagnostics">/api/system/diagnostics</a></p>'
)


def index_page(shown: Dashboard, pages: Sequence[str]) -> str:
    """Return the HTML of ``/`` for a dashboard and the addresses of the report pages.

    Text from runs, labels and file names is escaped; the page has no script and loads nothing.
    """
    title = f"{TITLE if _simulated(shown.latest_run) else ''}Retrieval evaluation"
    body = [
        f"<h1>{title}</h1>",
        *_latest(shown.latest_run, shown.latest_run_reason),
        "<h2>Review backlog</h2>",
        f"<p>{_backlog(shown.backlog, shown.backlog_reason)}</p>",
        "<h2>Reports</h2>",
        *_links(pages),
        *_skipped(shown.skipped),
        _API_LINKS,
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _latest(run: ShownRun | None, reason: str | None) -> list[str]:
    head = "<h2>Latest search run</h2>"
    if run is None:
        return [head, f"<p>{html_text(reason)}</p>"]
    status = run.status
    caption = (
        f"{html_text(run.label or run.name)}, {html_text(run.generated_at)}: "
        f"{counted(status.n_queries, 'query')}, {status.n_failed} failed"
    )
    lines = [head]
    if simulated := _simulated(run):
        lines.append(f"<p>{html_text(simulated)}</p>")
    if run.run.gold_set.is_provisional:
        lines.append("<p>Provisional: no person has reviewed the gold set (bootstrap only).</p>")
    if not status.has_verdict:
        lines.append(f"<p>No verdict: {html_text('; '.join(status.reasons))}</p>")
    points: Mapping[str, MetricChange] = {}
    if run.delta is None:
        lines.append(f"<p>No difference: {html_text(run.delta_reason)}.</p>")
    elif not run.delta.is_comparable:
        why = html_text("; ".join(run.delta.reasons))
        lines.append(f"<p>Not comparable with the baseline: {why}</p>")
    else:
        points = run.delta.metrics
    metrics = run.metrics
    confidence = f"{rate(100 * run.run.settings.confidence, 0)} % interval"
    named = ("measure", "value", confidence, "queries", "points against the baseline")
    return [
        *lines,
        f"<table><caption>{caption}</caption>",
        "<tr>",
        *(f'<th scope="col">{name}</th>' for name in (*named, confidence, "pairs")),
        "</tr>",
        *(_row(name, metrics[name], points.get(name)) for name in _headline_first(metrics)),
        "</table>",
    ]


def _simulated(run: ShownRun | None) -> str:
    if run is None:
        return ""
    gold = run.run.gold_set
    return notice(gold.n_simulated or 0, gold.n_queries, "query", "search")


def _headline_first(metrics: Mapping[str, MetricMean]) -> list[str]:
    return sorted(metrics, key=lambda name: name not in HEADLINE)


def _row(name: str, metric: MetricMean, change: MetricChange | None) -> str:
    value = rate(metric.value, 3)
    if metric.value is None:
        value = f"{MISSING} ({html_text(metric.reason)})"
    interval = _interval(rate(metric.ci_low, 3), rate(metric.ci_high, 3))
    cells = [value, interval, str(metric.n), MISSING, MISSING, MISSING]
    if change is not None:
        low, high = signed(change.ci_low_points), signed(change.ci_high_points)
        cells[3:] = signed(change.delta_points), _interval(low, high), str(change.n_pairs)
    row = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><th scope="row">{html_text(name)}</th>{row}</tr>'


def _interval(low: str, high: str) -> str:
    return MISSING if MISSING in (low, high) else f"{low} to {high}"


def _backlog(block: Backlog | None, reason: str | None) -> str:
    if block is None:
        return f"Unknown: {html_text(reason)}"
    counts = ", ".join(
        f"{getattr(block, key)} {key.replace('_', ' ')}"
        for key in ("pending_review", "approved", "rejected", "published", "other")
    )
    oldest = to_builtins(block)["oldest_pending_at"]
    since = f"; the oldest pending since {html_text(oldest)}" if oldest else ""
    return f"{counts} ({block.total} in total){since}"


def _links(pages: Sequence[str]) -> list[str]:
    if not pages:
        return ["<p>No report was rendered yet.</p>"]
    links = (
        f'<li><a href="/reports/{html_text(page)}">{html_text(unquote(page))}</a></li>'
        for page in pages
    )
    return ["<ul>", *links, "</ul>"]


def _skipped(skipped: Sequence[SkippedFile]) -> list[str]:
    if not skipped:
        return []
    items = (f"<li>{html_text(each.name)}: {html_text(each.reason)}</li>" for each in skipped)
    return ["<h2>Files that are no valid search run</h2>", "<ul>", *items, "</ul>"]
