"""Whether an agent saw the answer, the reference change itself, before it wrote any of it.

Agents find the fix in the history of the repository, in an upstream pull request or in the folders
of the task, and look at it or take it over unseen. A recall reached that way is not retrieval.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from retrieval_eval.agents.traces.shell.expansion import Environment
from retrieval_eval.agents.traces.shell.interpreter import Context, Interpreter
from retrieval_eval.agents.traces.shell.output import read_output
from retrieval_eval.agents.traces.shell.steps import Arg, Invocation, scan, split, words
from retrieval_eval.agents.traces.shell.syntax import parse
from retrieval_eval.paths import TEMPORARY
from retrieval_eval.records import ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Whether an agent took over a change that others made, without looking at it first.

_MAY_MATTER: Final = re.compile(
    r"\b(?:git|curl|wget|gh|hub|patch|cp|mv|tee|install|rsync|tar)\b|/(?:solution|oracle)/"
)
_LONGEST: Final = 50_000
_LONGEST_REVISION: Final = 300
_MOST_KNOWN: Final = 10_000
_FAILED: Final = re.compile(r"^(?:fatal|error): ", re.MULTILINE)
_NOT_THERE: Final = re.compile(r"\b(git|curl|wget|gh|hub|patch): (?:command )?not found\b")
_GH_FAILED: Final = re.compile(
    r"gh auth login|HTTP [45]\d\d|GraphQL: |no pull requests found|error connecting to"
)
_CONFLICT: Final = re.compile(r"^CONFLICT |\.rej$|^Hunk #\d", re.MULTILINE)
_FOLLOWED: Final = re.compile(r"set up to track|Switched to a new branch")
_UP_TO_DATE: Final = re.compile(r"\bup[ -]to[ -]date\b")
_TASK: Final = re.compile(r"/(?:task|tests|solution|oracle)/")
"""Folders in which harnesses keep what belongs to a task and not to its repository."""
_SOLUTION: Final = re.compile(r"/(?:task/)?(?:solution|oracle)/")
_RUNNERS: Final = words("bash sh zsh source . python python3")
_HASH: Final = re.compile(r"\b[0-9a-f]{7,40}\b")
_FETCHED: Final = re.compile(
    r"FETCH_HEAD\b|(?:refs/)?(?:remotes/\S{1,100}/)?(?:pull|merge-requests)/"
)
_REMOTE: Final = re.compile(r"(?:refs/remotes/|remotes/|origin/|upstream/)|.{0,100}@\{u")
_OWN: Final = re.compile(r"(?:HEAD|@|ORIG_HEAD|MERGE_HEAD|AUTO_MERGE|-)?(?:[~^@{:].{0,200})?")
_MAIN: Final = frozenset({"main", "master", "trunk", "develop"})
_ADDRESS: Final = re.compile(r"(?:https?|ftp|ssh|git)://(?!localhost|127\.|\[::1\])|git@")
_ELSEWHERE: Final = words("fetch ls-remote for-each-ref show-ref branch tag remote fsck pull")
"""Verbs whose answers name commits that need not be of the agent's own history."""
_EVERYWHERE: Final = re.compile(r"--(?:all|remotes|branches|tags|glob)\b")
_COPIERS: Final = words("cp mv install rsync ln")


def _runs_solution(stage: Invocation) -> bool:
    """Return whether a script of the reference solution is run, which applies it."""
    return stage.program in _RUNNERS and any(_SOLUTION.match(arg.raw) for arg in stage.args)


class Applied:
    """Follows the commands of a trial, and tells when one takes over a change.

    Parameters
    ----------
    files
        The paths of the files that are to be changed.

    Examples
    --------
    >>> applied = Applied(["src/a.py"])
    >>> done = ToolResult("")
    >>> applied.take("git checkout HEAD -- src/a.py", done)
    False
    >>> applied.take("git checkout 1a2b3c4 -- src/a.py", done)
    True
    >>> applied.take("curl -s https://example.org/pull/7.diff | git apply", done)
    True
    """

    def __init__(self, files: Iterable[str]) -> None:
        self._files = [path.lower() for path in files]
        self._own: set[str] = set(_MAIN)
        self._others: set[str] = set()
        self._fetched: set[str] = set()
        self._taken: set[str] = set()
        self._written: set[str] = set()
        self._has_stashed = False

    def take(self, command: str, result: ToolResult | None) -> bool:
        """Return whether a command that ran takes over a change to one of the files."""
        if result is None or result.is_unfinished or result.doubt is not None:
            return False
        if len(command) > _LONGEST or _MAY_MATTER.search(command) is None:
            return False
        text = result.text
        interpreter = Interpreter(Environment(""), read_output(""))
        interpreter.run(parse(command), Context())
        absent = {match[1] for match in _NOT_THERE.finditer(text)}
        pipelines = [
            step.stages
            for step in interpreter.steps
            if step.stages and absent.isdisjoint(stage.program for stage in step.stages)
        ]
        found = False
        has_failed = _FAILED.search(text) is not None or (
            result.is_error and len(pipelines) == 1 and _CONFLICT.search(text) is None
        )
        if not has_failed:
            for stages in pipelines:
                found = self._pipeline(stages, text) or found
        self._learn(pipelines, text)
        return found

    def _pipeline(self, stages: tuple[Invocation, ...], text: str) -> bool:
        found, is_foreign, is_packed = any(map(_runs_solution, stages)), False, False
        for stage in stages:
            if stage.program in _CLIENTS:
                is_foreign = self._downloads(stage)
                # It takes the address of a change where git takes a file.
                is_applied = any(_begins(stage, verb) for verb in ("am", "apply", "cherry-pick"))
                found |= stage.program == "hub" and is_applied and _has_address(stage)
                is_checkout = stage.program in ("gh", "hub") and _begins(stage, "pr", "checkout")
                found |= is_checkout and _GH_FAILED.search(text) is None
                for path in _downloaded(stage) if is_foreign else ():
                    found |= self._put(path)
            elif stage.program == "git":
                verb, args = _verb(stage)
                is_given = is_foreign or self._is_patch(stage.stdin)
                found |= self._git(verb, args, text, is_given=is_given)
                is_foreign = verb in _SHOWS and self._are_foreign(_revisions(args))
                paths = _archived(args) if verb == "archive" else []
                is_packed = verb == "archive" and (not paths or self._touches(paths))
                for arg in scan(args, "o", "output").values.get("o", ()) if is_packed else ():
                    found |= is_foreign and self._put(arg.text)
            elif stage.program == "patch":
                named = scan(stage.args, "pdiorFV", "strip input directory output").values
                given = [stage.stdin, *named.get("i", ()), *named.get("input", ())]
                found |= is_foreign or any(map(self._is_patch, given))
            elif stage.program == "tar" and _extracts(stage):
                found |= (is_foreign and is_packed) or any(map(self._is_taken, stage.args))
            elif stage.program in _COPIERS:
                found |= self._copies(stage)
            elif stage.program == "tee" and is_foreign:
                found |= self._put_all(arg.text for arg in stage.args)
            elif stage.program == "cat":
                is_foreign = any(map(self._is_taken, stage.args))
            for arg in stage.writes:
                if is_foreign:
                    found |= self._put(arg.text)
                elif arg.text:
                    self.wrote(arg.text)
        return found

    def _git(self, verb: str, args: tuple[Arg, ...], text: str, *, is_given: bool) -> bool:
        before, paths = split(args)
        if verb in ("apply", "am"):
            if any(arg.raw in _ONLY_LOOKS for arg in before):
                return False
            named = [arg for arg in (*before, *paths) if not arg.raw.startswith("-")]
            return is_given or any(map(self._is_patch, named))
        if verb in ("checkout", "restore", "switch", "reset"):
            return self._restores(verb, before, paths, text)
        if verb == "read-tree":
            is_updating = any(arg.raw in ("-u", "-um", "-mu") for arg in before)
            return is_updating and any(map(self._is_other_commit, before))
        if verb == "cherry-pick":
            return self._are_foreign(scan(before, "msX", "mainline strategy").operands)
        if verb in ("merge", "pull", "rebase", "fetch"):
            return self._joins(verb, before, text)
        if verb == "stash":
            return self._stash(before, text)
        if verb == "worktree" and _raw(before[:1]) == ["add"]:
            operands = scan(before[1:], "bB", "reason").operands
            if len(operands) > 1 and self._is_foreign(operands[1]):
                self._note(operands[0].text)
        if verb == "clone":
            operands = scan(before, "boucj", "branch depth origin config jobs reference").operands
            if operands and _ADDRESS.match(operands[0].raw):
                name = operands[0].raw.rstrip("/").rpartition("/")[2].removesuffix(".git")
                self._note(operands[1].text if len(operands) > 1 else name)
        return False

    def _joins(self, verb: str, before: tuple[Arg, ...], text: str) -> bool:
        """Judge commands that bring the commits of another branch."""
        if verb in ("fetch", "pull"):
            ends = (arg.raw.partition(":")[2] for arg in before if not arg.raw.startswith("-"))
            self._fetched.update(e.removeprefix("refs/heads/") for e in ends if _NAME.match(e))
        if verb == "fetch":
            return False
        revisions = _revisions(before)
        if any(map(self._is_fetched, revisions)):
            return True
        is_rebased = verb == "rebase" or any(a.raw in ("--rebase", "-r") for a in before)
        if is_rebased:
            is_other = verb == "pull" or any(map(self._is_remote, revisions))
            return is_other and _UP_TO_DATE.search(text) is None
        is_own = verb == "merge" and bool(revisions) and not self._are_foreign(revisions)
        return not is_own and self._names_file(text)

    def _restores(self, verb: str, before: tuple[Arg, ...], paths: list[Arg], text: str) -> bool:
        """Judge ``checkout REVISION -- FILE`` and its relatives."""
        options = scan(before, "sbBcC", "source orphan create force-create")
        operands = options.operands
        made = [options.values.get(name, ()) for name in _MAKES_BRANCH]
        self._branch((arg for args in made for arg in args), operands)
        if verb == "restore":
            sources = [*options.values.get("s", ()), *options.values.get("source", ())]
            return self._touches([*operands, *paths]) and any(map(self._is_foreign, sources))
        if not paths and len(operands) > 1 and not self._touches(operands[:1]):
            operands, paths = operands[:1], operands[1:]
        if paths:
            return verb == "checkout" and self._touches(paths) and self._are_foreign(operands)
        if verb == "reset":
            return options.has("hard", "merge", "keep") and any(
                map(self._is_other_commit, operands)
            )
        is_followed = not any(made) and bool(operands) and _FOLLOWED.search(text) is not None
        return is_followed or any(map(self._is_other_commit, operands))

    def _branch(self, names: Iterable[Arg], start: Sequence[Arg]) -> None:
        """Note branches that begin at a commit, else at the agent's own."""
        known = self._fetched if any(map(self._is_other_commit, start)) else self._own
        known.update(arg.raw for arg in names)

    def _stash(self, args: tuple[Arg, ...], text: str) -> bool:
        verb = next((a.raw for a in args if not a.raw.startswith("-")), "push")
        if verb in ("push", "save", "create", "store"):
            self._has_stashed = True
        return verb in ("pop", "apply") and not self._has_stashed and self._names_file(text)

    def _copies(self, stage: Invocation) -> bool:
        operands = scan(stage.args, "tS", "target-directory suffix").operands
        *sources, target = operands or [Arg(("",))]
        if not any(self._is_taken(s) or _TASK.match(s.raw) for s in sources):
            return False
        inside = [posixpath.join(target.raw, posixpath.basename(s.raw)) for s in sources]
        return self._put_all((target.text, *inside))

    def _downloads(self, stage: Invocation) -> bool:
        if stage.program in ("gh", "hub"):
            return _begins(stage, "pr", "diff") or _begins(stage, "api")
        return _has_address(stage)

    def _put(self, path: str | None) -> bool:
        """Note where content from elsewhere was put, and return whether it is one of the files."""
        self._note(path)
        return path is not None and self._touches([Arg((path,))])

    def _put_all(self, paths: Iterable[str | None]) -> bool:
        return sum(map(self._put, paths)) > 0

    def _note(self, path: str | None) -> None:
        if path and len(self._taken) < _MOST_KNOWN:
            self._taken.add(posixpath.normpath(path))

    def _is_taken(self, arg: Arg | None) -> bool:
        """Return whether a file, or a folder above it, came from elsewhere."""
        path = posixpath.normpath(arg.text) if arg is not None and arg.text else ""
        while path and path not in self._taken:
            path = path.rpartition("/")[0]
        return bool(path)

    def wrote(self, path: str) -> None:
        """Note a file that the agent wrote: a patch in it is its own."""
        if len(self._written) < _MOST_KNOWN:
            self._written.add(posixpath.basename(path))

    def _is_patch(self, arg: Arg | None) -> bool:
        """Return whether a patch is not the agent's own: it came from elsewhere, or was there."""
        if arg is not None and arg.captured:
            return any(self._shows_foreign(s) for step in arg.captured for s in step.stages)
        if arg is None or not arg.text or arg.text == "-":
            return False
        if self._is_taken(arg) or _TASK.match(arg.text):
            return True
        is_temporary = arg.text.startswith(TEMPORARY)
        return not is_temporary and posixpath.basename(arg.text) not in self._written

    def _shows_foreign(self, stage: Invocation) -> bool:
        """Return whether a command prints a change that is not the agent's own."""
        if stage.program != "git":
            return stage.program in _CLIENTS and self._downloads(stage)
        verb, args = _verb(stage)
        return verb in _SHOWS and self._are_foreign(_revisions(args))

    def _touches(self, paths: Iterable[Arg]) -> bool:
        return any(self._is_file(arg.raw) for arg in paths)

    def _is_file(self, path: str) -> bool:
        path = posixpath.normpath(path.lower().removeprefix(":/").rstrip("*")).strip("/")
        if path in ("", "."):
            return True
        parts = path.split("/")
        ends = ["/".join(parts[start:]) for start in range(min(len(parts), 50))]
        return any(
            f"/{file}".endswith(f"/{path}") or any(f"{file}/".startswith(f"{e}/") for e in ends)
            for file in self._files
        )

    def _names_file(self, text: str) -> bool:
        lowered = text.lower()
        return any(file in lowered for file in self._files)

    def _are_foreign(self, revisions: Iterable[Arg]) -> bool:
        return any(map(self._is_foreign, revisions))

    def _is_foreign(self, revision: Arg) -> bool:
        """Return whether a revision is not of the agent's own history."""
        raw = revision.raw
        if "*" in raw:
            stages = [stage for step in revision.captured for stage in step.stages]
            return any(_is_elsewhere(*_verb(s)) for s in stages if s.program == "git")
        ends = [end for end in re.split(r"\.{2,3}", raw[:_LONGEST_REVISION]) if end]
        return any(map(self._is_foreign_name, ends))

    def _is_foreign_name(self, name: str) -> bool:
        if _FETCHED.match(name) or _REMOTE.match(name):
            return True
        if name.startswith("stash"):
            return not self._has_stashed
        if _OWN.fullmatch(name):
            return False
        base = _base(name)
        if base in self._own and base not in self._fetched:
            return False
        is_hash = _HASH.fullmatch(base) is not None
        return not (is_hash and any(map(partial(_agree, base), self._own)))

    def _is_remote(self, revision: Arg) -> bool:
        base = _base(revision.raw)
        return base in self._fetched or _REMOTE.match(revision.raw[:_LONGEST_REVISION]) is not None

    def _is_other_commit(self, revision: Arg) -> bool:
        """Return whether a revision is a commit of a remote, or one that the agent did not make.

        What else has a name may be a file, or a branch that was there from the start.
        """
        if self._is_fetched(revision) or self._is_remote(revision):
            return True
        base = _base(revision.raw)
        return _HASH.fullmatch(base) is not None and self._is_foreign(revision)

    def _is_fetched(self, revision: Arg) -> bool:
        base = _base(revision.raw)
        if _FETCHED.match(base) or base in self._fetched:
            return True
        is_seen = _HASH.fullmatch(base) is not None and any(
            map(partial(_agree, base), self._others)
        )
        return is_seen and self._is_foreign_name(base)

    def _learn(self, pipelines: list[tuple[Invocation, ...]], text: str) -> None:
        """Note the commits that an answer names, and whether they are of the agent's own history.

        A fetch, or a list of all branches, names others; the log of the current branch its own.
        """
        git = [_verb(stage) for stages in pipelines for stage in stages if stage.program == "git"]
        if not git:
            return
        for verb, args in git:
            if verb == "branch":
                operands = scan(args, "u", "set-upstream-to").operands
                self._branch(operands[:1], operands[1:])
            if verb in ("fetch", "pull"):
                self._own -= _MAIN
        is_elsewhere = any(
            _is_elsewhere(verb, args) or (verb in _NAMES and self._are_foreign(_revisions(args)))
            for verb, args in git
        )
        seen = self._others if is_elsewhere else self._own
        if len(seen) < _MOST_KNOWN:
            seen.update(_HASH.findall(text[:_LONGEST]))
            if not is_elsewhere:
                self._others -= self._own


_CLIENTS: Final = words("curl wget gh hub")
_SHOWS: Final = words("show diff format-patch log cat-file archive")
_NAMES: Final = _SHOWS | words("rev-parse rev-list name-rev")
_ONLY_LOOKS: Final = words("--stat --numstat --summary --check")
_MAKES_BRANCH: Final = ("b", "B", "c", "C", "create", "force-create", "orphan")
_VERSION: Final = re.compile(r"[vV]?\d{1,6}(?:\.\d{1,6}){1,4}(?:[-._]?[a-z]{1,6}\.?\d{0,4})?")
"""The name of a tag as releases have them."""
_NAME: Final = re.compile(r"(?!//)[\w./-]{1,200}$")


def _archived(args: tuple[Arg, ...]) -> list[Arg]:
    """Return the files that ``git archive`` packs, none where it packs all."""
    before, paths = split(args)
    return [*scan(before, "o", "output format prefix").operands[1:], *paths]


def _extracts(stage: Invocation) -> bool:
    texts = stage.texts()
    is_short = bool(texts) and re.fullmatch(r"-?[a-zA-Z]{0,9}x[a-zA-Z]{0,9}", texts[0]) is not None
    return is_short or "--extract" in texts or "-x" in texts


def _base(revision: str) -> str:
    """Return the commit or branch from which a revision leads on: ``v1`` of ``v1~2``."""
    return re.split(r"[~^@:{]", revision[:_LONGEST_REVISION], maxsplit=1)[0]


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _is_elsewhere(verb: str, args: tuple[Arg, ...]) -> bool:
    return verb in _ELSEWHERE or any(_EVERYWHERE.match(arg.raw) for arg in args)


def _has_address(stage: Invocation) -> bool:
    return any(_ADDRESS.match(arg.raw) for arg in stage.args)


def _raw(args: Iterable[Arg]) -> list[str]:
    return [arg.raw for arg in args]


def _begins(stage: Invocation, *wanted: str) -> bool:
    return _raw(stage.args[: len(wanted)]) == list(wanted)


def _revisions(args: tuple[Arg, ...]) -> list[Arg]:
    """Return the arguments of git that may be revisions: no options, no paths behind ``--``."""
    before, _ = split(args)
    operands = scan(before, "nLSGC", "grep author since until format pretty max-count").operands
    return [arg for arg in operands if not _is_path(arg.raw)]


def _is_path(text: str) -> bool:
    """Return whether an argument looks like a file rather than like a revision."""
    name = text.rpartition("/")[2]
    if _VERSION.fullmatch(name):
        return False
    return ":" not in text and "." in name.strip(".") and ".." not in text


def _downloaded(stage: Invocation) -> list[str]:
    """Return the files that a download writes."""
    options = scan(
        stage.args, "oOHXdAuebmwT" if stage.program == "wget" else "oHXdAuebmwT", "output"
    )
    named = [*options.values.get("o", ()), *options.values.get("output", ())]
    if stage.program == "wget":
        named = [*options.values.get("O", ()), *options.values.get("output-document", ())]
    is_named = bool(named) or (stage.program == "curl" and not options.has("O", "remote-name"))
    if not is_named and stage.program in ("curl", "wget"):
        addresses = [arg.raw.split("?", 1)[0] for arg in stage.args if _ADDRESS.match(arg.raw)]
        return [posixpath.basename(address) for address in addresses]
    return [arg.text for arg in named if arg.text]


def _verb(stage: Invocation) -> tuple[str, tuple[Arg, ...]]:
    """Return the verb of a git command and what follows it."""
    args = list(stage.args)
    while args:
        text = args.pop(0).raw
        if text in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") and args:
            args.pop(0)
        elif not text.startswith("-"):
            return text, tuple(args)
    return "", ()


# --------------------------------------------------------------------------------------------------
# Whether what an agent was shown holds the reference change.

N_LINES: Final = 3
"""Lines of the reference change in one result that make it an exposure."""

_FEWEST: Final = 2
_DEEPEST: Final = 6


class Exposure:
    """Looks through the calls of a trial, one after the other, for the reference change.

    A result shows it when it holds three of its lines, or all of a change of two. Lines that the
    agent wrote before, in the arguments of any call, do not count.

    Parameters
    ----------
    fix_lines
        The lines that only the reference change adds.
    files
        The paths of the files that it changes.

    Attributes
    ----------
    found_at
        The index of the first call that showed it or took it over, or None.

    Examples
    --------
    >>> from retrieval_eval.records import ToolResult
    >>> exposure = Exposure(["limit = read_limit(config)", "if size > limit: raise TooLarge(size)"])
    >>> shown = "+limit = read_limit(config)" + chr(10) + "+if size > limit: raise TooLarge(size)"
    >>> exposure.take(0, ToolCall("1", "Bash", {"command": "git show HEAD~1"}, ToolResult(shown)))
    >>> exposure.found_at
    0
    """

    def __init__(self, fix_lines: Sequence[str], files: Sequence[str] = ()) -> None:
        self.found_at: int | None = None
        self._applied = Applied(files) if files else None
        self._unseen = list(dict.fromkeys(fix_lines))
        self._needed = min(N_LINES, len(self._unseen))
        self._is_over = len(self._unseen) < _FEWEST

    def take(self, index: int, call: ToolCall) -> None:
        """Look at the next call."""
        if self._is_over:
            return
        for text in _texts(call.arguments, _DEEPEST):
            if len(text) >= len(min(self._unseen, key=len, default=text)):
                self._unseen = [line for line in self._unseen if line not in text]
        self._is_over = len(self._unseen) < self._needed
        if self._is_over or call.result is None or call.result.doubt is not None:
            return
        shown = call.result.text
        if '\\"' in shown:
            shown = shown.replace('\\"', '"')
        if sum(line in shown for line in self._unseen) >= self._needed:
            self.found_at = index
            self._is_over = True

    def wrote(self, path: str) -> None:
        """Note a file that the agent wrote itself."""
        if self._applied is not None:
            self._applied.wrote(path)

    def run(self, index: int, command: str, result: ToolResult | None) -> None:
        """Look at the command of the call that was taken last."""
        is_applied = self._applied is not None and self._applied.take(command, result)
        if is_applied and self.found_at is None:
            self.found_at = index
            self._is_over = True


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from _texts(inner, depth - 1)
