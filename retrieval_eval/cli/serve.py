"""``retrieval-eval serve``: read-only servers for the measured results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from retrieval_eval.cli.common import FOLDER, echo
from retrieval_eval.cli.search_options import (
    backlog_names,
    backlog_option,
    backlog_source,
    data_option,
)
from retrieval_eval.io.user_files import project

if TYPE_CHECKING:
    from retrieval_eval.search.gold.database import BacklogSource
    from retrieval_eval.serve.dashboard import Sources


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Another name that requests may use for this machine. Repeatable.",
)
@click.option(
    "--reports",
    type=FOLDER,
    default=lambda: project().reports_folder,
    help="Folder of the pages. Default: reports.",
)
@data_option
@backlog_option
@click.option(
    "--mcp",
    "as_mcp",
    is_flag=True,
    help="Offer the MCP tool get_metrics on standard input and output instead.",
)
def serve(
    host: str,
    port: int,
    allowed_hosts: tuple[str, ...],
    reports: Path,
    data: Path,
    backlog: str | None,
    as_mcp: bool,
) -> None:
    """Show runs, backlog and reports over HTTP, read-only, until Ctrl-C.

    /api/metrics (?run=, ?corpus=) is the dashboard, /api/system/diagnostics the health snapshot,
    / an index of the rendered reports, whose details are made when they are first opened. There is
    no authentication: by default only this machine can connect.

    For the configuration of an MCP client: command "retrieval-eval", arguments "serve" and "--mcp".
    """
    sources = _sources(data, reports, backlog_source(backlog, is_needed=True))
    if as_mcp:
        from retrieval_eval.serve.mcp_server import run_stdio

        run_stdio(sources)
        return
    from retrieval_eval.serve.app import create_app, create_server, is_loopback, listen, url_of

    server = create_server(create_app(sources, host=host, allowed_hosts=allowed_hosts))
    with listen(host, port) as listening:
        if not is_loopback(host):
            echo(
                f"warning: everyone who can reach {host} can read runs, reports and backlog; "
                "there is no authentication",
                err=True,
            )
        try:
            echo(f"serving {data} and {reports} at {url_of(listening)} (Ctrl-C stops)")
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            echo("stopped", err=True)


def _sources(data: Path, reports: Path, backlog: BacklogSource | None) -> Sources:
    from retrieval_eval.serve.dashboard import Sources, backlog_reader, check_name

    name = backlog_names(project()).block
    check_name(name)
    if backlog is None:
        return Sources(data, reports, None, name)
    return Sources(data, reports, backlog_reader(backlog), name)
