"""Command-line clients of a remote code search, and files fetched by URL.

Another client is another row of :data:`CLIENTS`.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.results.mentions import looks_like_file
from retrieval_eval.agents.traces.shell.plan import (
    Operand,
    Plan,
    named_paths,
    opaque,
    operands_of,
    reader,
)
from retrieval_eval.agents.traces.shell.programs.readers import written
from retrieval_eval.agents.traces.shell.steps import Invocation, scan


class Client(Struct, frozen=True, gc=False):
    """The verbs of a client: reading a file, searching, listing a directory."""

    read: frozenset[str]
    search: frozenset[str]
    listing: frozenset[str]


CLIENTS: Final[dict[str, Client]] = {
    "sgx": Client(
        frozenset({"read", "cat"}),
        frozenset({"search", "nls", "keyword-search"}),
        frozenset({"ls", "list", "files"}),
    ),
    "src": Client(frozenset(), frozenset({"search"}), frozenset()),
}
"""Client program → its verbs."""


def plan_client(stage: Invocation) -> Plan:
    """Return the plan of a client; what it prints names repository, file and line numbers."""
    client = CLIENTS[stage.program]
    verb = stage.args[0].raw if stage.args else ""
    options = scan(stage.args[1:], "qn", "start end query limit rev repo count")
    repository = options.operands[0].text if options.operands else None
    path = options.operands[1].text if len(options.operands) > 1 else None
    plan = Plan(stage.program, cwd=None, evidence="names", style="remote", has_numbers=True)
    if verb in client.search:
        return replace(plan, category="code_search", access="matched", repository="")
    operands = (Operand(path),) if path is not None else ()
    plan = replace(plan, repository=repository or "", operands=operands)
    if verb in client.read:
        return plan
    if verb in client.listing:
        return replace(plan, category="file_search", access="listed")
    return Plan(stage.program)


_CONTENTS = re.compile(r"/?repos/([^/\s]+/[^/\s]+)/contents/([^?\s]{1,1000})(?:\?\S*)?")


def plan_gh(stage: Invocation) -> Plan:
    """Return the plan of ``gh``: a file of the host, the changes of a pull request, a search."""
    texts = stage.texts()
    command = " ".join(texts[:2])
    if command == "pr diff":
        plan = Plan("gh", "commit_search", "matched", "names", (Operand("."),), stage.cwd)
        repository = scan(stage.args, "R", "repo").text("R", "repo")
        plan = replace(plan, style="diff", is_loose=True, repository=repository)
        return replace(plan, has_numbers="--name-only" in texts)
    if command == "search code":
        return opaque(stage, "searches the files of a host", "code_search", is_open=True)
    if texts[:1] != ["api"]:
        return Plan("gh")
    options = scan(stage.args[1:], "XfFHqtp", "method field raw-field header jq template input")
    match = _CONTENTS.fullmatch(options.operands[0].raw) if options.operands else None
    if match is None or "*" in match[0]:
        return opaque(stage, "may show files of another place", operands=named_paths(stage.args))
    path = unquote(match[2]).strip("/")
    if not looks_like_file(path):
        plan = opaque(stage, "may list a folder of another place", "file_search")
        return replace(plan, repository=match[1])
    return replace(reader(stage, (Operand(path),)), repository=match[1], is_selective=True)


def download(stage: Invocation) -> tuple[str, Invocation] | None:
    """Return the file that ``curl`` or ``wget`` writes, and the command that would print it."""
    if stage.program not in ("curl", "wget"):
        return None
    name = "o" if stage.program == "curl" else "O"
    options = scan(stage.args, _FETCHES[stage.program], "output header data request")
    path = options.text(name, "output", "output-document")
    if path is None or path in ("-", "") or not options.operands:
        return None
    return path, replace(stage, program="curl", args=tuple(options.operands))


_FETCHES: Final = {"curl": "oHXdAuebmwT", "wget": "OPUot"}
_RAW = re.compile(
    r"https?://raw\.githubusercontent\.com/([^/\s]+/[^/\s]+)/(?:refs/(?:heads|tags)/)?[^/\s]+/([^\s?#]+)"
)
_HOSTED = re.compile(
    r"https?://(?:www\.)?(?:github|gitlab)\.com/([^/\s]+/[^/\s]+)/(?:-/)?(?:blob|raw)/[^/\s]+/([^\s?#]+)"
)


def plan_fetch(stage: Invocation) -> Plan:
    """Return the plan of ``curl`` or ``wget``: a read when the URL is a file of a repository."""
    is_curl = stage.program == "curl"
    options = scan(stage.args, _FETCHES[stage.program], "output header data request")
    target = options.values.get("o" if is_curl else "O") or options.values.get("output")
    if target:
        operands = operands_of(target, stage)
        if operands:
            return written(stage, operands)
    elif not is_curl or options.has("O", "remote-name"):
        return Plan(stage.program)
    for arg in options.operands:
        if arg.text is not None and arg.text.startswith("file:///"):
            return reader(stage, (Operand(unquote(arg.text.removeprefix("file://"))),))
        match = _RAW.match(arg.raw) or _HOSTED.match(arg.raw)
        if match and arg.text is not None:
            plan = reader(stage, (Operand(unquote(match[2])),))
            return replace(plan, repository=match[1], is_selective=True)
    return Plan(stage.program)
