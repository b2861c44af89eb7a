"""The table of programs: which plan a command has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from retrieval_eval.agents.traces.shell.plan import Evidence, Plan, named_paths, opaque
from retrieval_eval.agents.traces.shell.programs.git import plan_git
from retrieval_eval.agents.traces.shell.programs.listing import (
    DESCRIBERS,
    SEARCHERS,
    plan_describer,
    plan_echo,
    plan_eza,
    plan_fd,
    plan_find,
    plan_ls,
    plan_search,
    plan_tree,
)
from retrieval_eval.agents.traces.shell.programs.readers import (
    ALL_OPERANDS,
    AWKS,
    LAST_OPERAND,
    READERS,
    plan_apply_patch,
    plan_awk,
    plan_head,
    plan_patch,
    plan_reader,
    plan_sed,
    plan_writer,
)
from retrieval_eval.agents.traces.shell.programs.remote import (
    CLIENTS,
    plan_client,
    plan_fetch,
    plan_gh,
)
from retrieval_eval.agents.traces.shell.programs.scripts import (
    INTERPRETERS,
    plan_script,
    plan_source,
)
from retrieval_eval.agents.traces.shell.steps import Invocation, words

INERT: Final = words(
    "true false : test [ [[ set unset export local shopt trap wait sleep exit return break "
    "continue read pwd date whoami id uname hostname which type command hash "
    "alias ulimit umask mkdir rmdir chmod chown chgrp kill pkill pgrep ps top free df env "
    "printenv history jobs fg bg make cmake ninja bazel npm npx yarn pnpm pip pip3 uv "
    "poetry cargo rustc rustup go gofmt gcc g++ clang javac java mvn gradle dotnet tsc "
    "eslint prettier ruff mypy black pytest tox docker docker-compose kubectl apt apt-get "
    "brew dpkg ssh scp nc ping dig nproc lscpu seq expr bc tput clear dirname basename "
    "yes redirect source . service systemctl openssl gpg tar zip unzip gzip gunzip xz hg "
    "svn"
)
"""Programs that show an agent no file of the repository it works on."""

REPORTERS: Final = words(
    "make cmake ninja bazel npm npx yarn pnpm uv poetry cargo rustc go gofmt gcc g++ clang javac "
    "java mvn gradle dotnet tsc eslint prettier ruff mypy black pytest tox docker docker-compose"
)
"""Those whose messages name files and lines and may quote them."""

_MAY_SHOW: Final = {
    "docker": "exec|run",
    "docker-compose": "exec|run",
    "gunzip": "-[a-z0-9]*c|--stdout",
    "gzip": "-[a-z0-9]*c|--stdout",
    "hg": "cat",
    "kubectl": "exec",
    "ssh": ".+",
    "svn": "cat",
    "tar": "-?[a-zA-Z]*O[a-zA-Z]*|--to-stdout",
    "unzip": "-p",
    "xz": "-[a-z0-9]*c|--stdout",
}
"""Inert program → the arguments with which it can print the content of a file all the same."""

_PLANNERS: Final[dict[str, Callable[[Invocation], Plan]]] = {
    **dict.fromkeys(READERS, plan_reader),
    **dict.fromkeys(("head", "tail"), plan_head),
    **dict.fromkeys(("sed", "gsed"), plan_sed),
    **dict.fromkeys(AWKS, plan_awk),
    **dict.fromkeys(SEARCHERS, plan_search),
    **dict.fromkeys(DESCRIBERS, plan_describer),
    **dict.fromkeys(("ls", "dir"), plan_ls),
    **dict.fromkeys(("eza", "exa", "lsd"), plan_eza),
    **dict.fromkeys(("echo", "printf"), plan_echo),
    "tree": plan_tree,
    "find": plan_find,
    **dict.fromkeys(("fd", "fdfind"), plan_fd),
    **dict.fromkeys(ALL_OPERANDS | LAST_OPERAND, plan_writer),
    "patch": plan_patch,
    **dict.fromkeys(("apply_patch", "applypatch"), plan_apply_patch),
    "gh": plan_gh,
    "git": plan_git,
    **dict.fromkeys(CLIENTS, plan_client),
    **dict.fromkeys(("curl", "wget"), plan_fetch),
}


def plans_of(stage: Invocation) -> list[Plan]:
    """Return what a command intends to show or write; an unknown program is opaque."""
    if stage.source is not None:
        return [plan_source(stage, stage.source)]
    planner = _PLANNERS.get(stage.program)
    if planner is not None:
        return [Plan(stage.program) if _describes_itself(stage) else planner(stage)]
    if INTERPRETERS.fullmatch(stage.program):
        return plan_script(stage)
    if stage.program in INERT:
        shows = re.compile(_MAY_SHOW.get(stage.program, "(?!)"))
        if any(shows.fullmatch(text) for text in stage.texts()):
            reason = "may show files of another place"
            return [opaque(stage, reason, operands=named_paths(stage.args))]
        evidence: Evidence = "mentions" if stage.program in REPORTERS else "nothing"
        return [Plan(stage.program, evidence=evidence, cwd=stage.cwd)]
    reason = "not a program this package knows"
    return [opaque(stage, reason, operands=named_paths(stage.args))]


_OF_ITSELF: Final = frozenset(["--help", "--version"])
_SHORT_VERSION: Final = words("less bat batcat grep egrep fgrep rg jq gawk column more tree git")
_TAKES_A_TEXT: Final = re.compile(
    r"-[A-Za-z]{0,9}[efgm]|--(?:regexp|expression|file|glob|iglob|format|pretty)"
)


def _describes_itself(stage: Invocation) -> bool:
    """Return whether a program is to print its help or its version, and so reads no file."""
    before = ""
    for arg in stage.args:
        text = arg.raw
        if text == "--":
            break
        is_asked = text in _OF_ITSELF or (text == "-V" and stage.program in _SHORT_VERSION)
        if is_asked and not _TAKES_A_TEXT.fullmatch(before):
            return arg.text is not None
        before = text
    return False
