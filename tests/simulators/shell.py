"""Shell commands that look for files, with the output a real shell would print."""

from __future__ import annotations

import posixpath
import shlex
from dataclasses import dataclass

from tests.simulators.moves import OWN_OUTPUT, Deed, Touch
from tests.simulators.workspace import Workspace

_OTHER = Deed("other")


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, what it prints, and the events it must become."""

    line: str
    output: str
    deeds: tuple[Deed, ...]
    is_error: bool = False
    is_opaque: bool = False


class Shell:
    """One agent's shell: it remembers the working directory between commands."""

    def __init__(self, workspace: Workspace) -> None:
        self._space = workspace
        self._cwd = workspace.root

    def cat(self, label: str) -> Command:
        """Print a whole file by its absolute path."""
        path = self._space.local(label)
        return Command(
            f"cat {shlex.quote(path)}",
            "\n".join(self._space.lines(label)),
            (_OTHER, Deed("file_read", (Touch(label, "opened", is_whole=True),), "cat")),
        )

    def cat_from_folder(self, label: str) -> Command:
        """Print a whole file by its bare name, changing folder first if need be."""
        folder, name = posixpath.split(self._space.local(label))
        move = "" if folder == self._cwd else f"cd {shlex.quote(folder)} && "
        self._cwd = folder
        whole = self.cat(label)
        return Command(f"{move}cat {shlex.quote(name)}", whole.output, whole.deeds)

    def sed(self, label: str, first: int, last: int) -> Command:
        """Print a range of lines."""
        lines = self._space.lines(label)[first - 1 : last]
        touch = Touch(label, "opened", ((first, last),))
        return Command(
            f"sed -n '{first},{last}p' {shlex.quote(self._space.local(label))}",
            "\n".join(lines),
            (_OTHER, Deed("file_read", (touch,), "sed")),
        )

    def head(self, label: str, count: int, *, is_piped: bool) -> Command:
        """Print the first lines, directly or through a pipe."""
        path = shlex.quote(self._space.local(label))
        touch = Touch(label, "opened", ((1, count),))
        return Command(
            f"cat {path} | head -{count}" if is_piped else f"head -n {count} {path}",
            "\n".join(self._space.lines(label)[:count]),
            (_OTHER, Deed("file_read", (touch,), "cat" if is_piped else "head")),
        )

    def two_reads(self, first: str, second: str) -> Command:
        """Read two files in one call."""
        one, two = self.sed(first, 1, 24), self.sed(second, 5, 30)
        return Command(
            f"{one.line} && {two.line}", f"{one.output}\n{two.output}", one.deeds + two.deeds[1:]
        )

    def grep_one(self, label: str) -> Command:
        """Search one file; the output shows line numbers and no path."""
        numbers = self._space.hits(label)
        lines = self._space.lines(label)
        touch = Touch(label, "matched", tuple((n, n) for n in numbers))
        return Command(
            f'grep -n "{self._space.topic}" {shlex.quote(self._space.local(label))}',
            "\n".join(f"{n}:{lines[n - 1]}" for n in numbers),
            (_OTHER, Deed("code_search", (touch,), "grep")),
        )

    def grep_tree(self, labels: list[str]) -> Command:
        """Search a folder; every line of output starts with path and line number."""
        shown, touches = [], []
        for label in labels:
            lines, numbers = self._space.lines(label), self._space.hits(label)
            shown += [f"{self._space.local(label)}:{n}:{lines[n - 1]}" for n in numbers]
            touches.append(Touch(label, "matched", tuple((n, n) for n in numbers)))
        folder = shlex.quote(self._space.folder(labels))
        return Command(
            f'grep -rn "{self._space.topic}" {folder} | head -40',
            "\n".join(shown),
            (_OTHER, Deed("code_search", tuple(touches), "grep")),
        )

    def grep_names(self, labels: list[str]) -> Command:
        """Search a folder and print the names of the files that match."""
        return Command(
            f'grep -rl "{self._space.topic}" {shlex.quote(self._space.folder(labels))} 2>/dev/null',
            "\n".join(map(self._space.local, labels)),
            (_OTHER, Deed("code_search", tuple(Touch(x, "matched") for x in labels), "grep")),
        )

    def find(self, labels: list[str]) -> Command:
        """List files by name without opening them."""
        return Command(
            f"find {shlex.quote(self._space.folder(labels))} -type f | sort | head -30",
            "\n".join(map(self._space.local, labels)),
            (_OTHER, Deed("file_search", tuple(Touch(x, "listed") for x in labels), "find")),
        )

    def missing(self, path: str) -> Command:
        """Try to print a file that is not there."""
        return Command(
            f"cat {shlex.quote(path)}",
            f"cat: {path}: No such file or directory",
            (_OTHER,),
            is_error=True,
        )

    def substitute(self, label: str) -> Command:
        """Change a file in place."""
        touch = Touch(label, "written")
        old, new = f"{self._space.topic}_old", f"{self._space.topic}_new"
        return Command(
            f"sed -i 's/{old}/{new}/' {shlex.quote(self._space.local(label))}",
            "",
            (_OTHER, Deed("file_write", (touch,), "sed")),
        )

    def answer(self, body: str) -> Command:
        """Write the answer file with a here-document."""
        touch = Touch(OWN_OUTPUT, "written")
        return Command(
            f"cat > {OWN_OUTPUT} << 'EOF'\n{body}\nEOF",
            "",
            (_OTHER, Deed("file_write", (touch,), "cat")),
        )

    def unresolvable(self) -> Command:
        """Run a script that reads files whose names it works out itself."""
        script = (
            "import glob\n"
            f"for name in sorted(glob.glob('{self._space.root}/**/*', recursive=True)):\n"
            "    total = sum(1 for _ in open(name, errors='ignore'))\n"
            "print('longest', total)"
        )
        line = f"python3 - <<'EOF'\n{script}\nEOF"
        return Command(line, "longest 149", (_OTHER,), is_opaque=True)
