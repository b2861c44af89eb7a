"""Six invented code bases: their files, and the short generated lines those files hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tests.simulators.dice import Dice

_TEMPLATES = {
    "py": (
        "def {a}_{b}(self, {c}):",
        "    {a} = self.{b}.{c}()",
        "    if {a} is None:",
        "        return {b}",
        "    self.{c}.append({a})",
    ),
    "go": (
        "func {a}{b}(ctx Context) error {{",
        "\t{a}, err := {b}.{c}(ctx)",
        "\tif err != nil {{",
        "\t\treturn err",
        "\t}}",
    ),
    "ts": (
        "export function {a}{b}({c}: Node) {{",
        "  const {a} = {b}.{c}();",
        "  if (!{a}) {{",
        "    return {b};",
        "  }}",
    ),
    "rs": (
        "pub fn {a}_{b}(&self) -> Status {{",
        "    let {a} = self.{b}.{c}()?;",
        "    match {a} {{",
        "        Some({b}) => {b}.{c}(),",
        "    }}",
    ),
    "java": (
        "    public {a} {b}({c} value) {{",
        "        var {a} = {b}.{c}();",
        "        if ({a} == null) {{",
        "            return {b};",
        "        }}",
    ),
    "": ("{a} {b} {c}", "{b} and {c}", "{c} {a}", "see {a} {b}", "{a} = {b}"),
}

_VOCABULARY = """
batch buffer cache cursor entry frame handle index item job key lane lease limit mark node offset
page pool queue range record route scope segment slot span stamp table ticket token
"""


@dataclass(frozen=True, slots=True)
class Project:
    """An invented repository: its short name, revision, language and repo-relative files."""

    name: str
    revision: str
    language: str
    files: tuple[str, ...]

    @property
    def remote(self) -> str:
        """The name under which the code-search server mirrors the repository."""
        return f"github.com/retrieval-demo/{self.name}--{self.revision}"

    @property
    def commit(self) -> str:
        """The full commit that the mirror's links carry."""
        return Dice("commit", self.name).hexadecimal(40)

    def below(self, folder: str) -> list[str]:
        """Return the files that lie directly in ``folder``."""
        return [path for path in self.files if path.rpartition("/")[0] == folder]


def _project(name: str, revision: str, language: str, listing: str) -> Project:
    files: list[str] = []
    for line in listing.strip().splitlines():
        folder, _, names = line.strip().partition(": ")
        files += [name if folder == "." else f"{folder}/{name}" for name in names.split()]
    return Project(name, revision, language, tuple(files))


PROJECTS = {
    project.name: project
    for project in (
        _project(
            "tidewheel",
            "4c1d2e7a",
            "python",
            """
            .: Makefile Dockerfile README.md pyproject.toml
            src/tidewheel/scheduler: lease.py clock.py planner.py dispatcher.py heartbeat.py cron.py
            src/tidewheel/store: ledger.py snapshot.py migrations.py retention.py codec.py
            src/tidewheel/api: routes.py quota.py errors.py schemas.py auth.py
            src/tidewheel/workers: pool.py runner.py signals.py sandbox.py
            src/tidewheel/util: timezones.py retry.py config.py
            tests/scheduler: test_lease.py test_cron.py test_planner.py
            tests/store: test_ledger.py test_retention.py
            docs: rfc-012-leases.md rfc-019-quota.md operations.md
            """,
        ),
        _project(
            "lanternpost",
            "9be03f51",
            "go",
            """
            .: Makefile Dockerfile README.md go.mod
            internal/queue: queue.go spool.go bounce.go backoff.go ordering.go
            internal/smtp: session.go envelope.go pipeline.go greylist.go
            internal/dkim: signer.go keyring.go rotation.go selector.go
            internal/store: mailbox.go index.go compactor.go
            internal/policy: routing.go limits.go audit.go
            pkg/wire: frame.go decoder.go encoder.go header.go
            cmd/lanternpost: main.go flags.go reload.go
            docs: rfc-007-bounce.md rotation.md
            """,
        ),
        _project(
            "quillmark",
            "d27a8c40",
            "typescript",
            """
            .: package.json README.md tsconfig.json Dockerfile
            app/(auth): page.tsx layout.tsx actions.ts
            app/editor: page.tsx toolbar.tsx status.tsx
            src/document: tree.ts cursor.ts history.ts merge.ts selection.ts
            src/render: layout.ts paint.ts measure.ts glyphs.ts scroll.ts
            src/plugins: host.ts manifest.ts loader.ts bridge.ts
            src/session: token.ts cookies.ts guard.ts
            src/storage: drafts.ts sync.ts conflict.ts
            test/document: history.test.ts merge.test.ts
            """,
        ),
        _project(
            "brinekeep",
            "71f6ba09",
            "rust",
            """
            .: Cargo.toml Makefile README.md
            crates/wal/src: lib.rs segment.rs replay.rs checksum.rs fsync.rs
            crates/table/src: lib.rs memtable.rs sstable.rs bloom.rs merge.rs
            crates/compact/src: lib.rs picker.rs worker.rs throttle.rs levels.rs
            crates/server/src: main.rs handler.rs limits.rs snapshot.rs frame.rs
            crates/client/src: lib.rs retry.rs frame.rs pool.rs
            schema: frame.toml status.toml
            docs: rfc-003-snapshots.md compaction.md
            """,
        ),
        _project(
            "ferrypath",
            "0e5d93b8",
            "java",
            """
            .: pom.xml README.md Makefile
            core/src/main/java/ferry/graph: Graph.java Edge.java Turn.java Contraction.java
            core/src/main/java/ferry/cost: CostModel.java Detour.java Tariff.java Penalty.java
            core/src/main/java/ferry/search: Router.java Frontier.java Bounds.java Replan.java
            core/src/main/java/ferry/time: Timetable.java ZoneRules.java Calendar.java
            service/src/main/java/ferry/api: RouteController.java RouteRequest.java RouteMapper.java
            service/src/main/java/ferry/cache: RouteCache.java Eviction.java
            importer/src/main/java/ferry/feed: FeedReader.java StopParser.java FareParser.java
            """,
        ),
        _project(
            "knotwork",
            "5a90c1fe",
            "rust",
            """
            .: Cargo.toml Makefile README.md
            schema: frame.toml route.toml status.toml envelope.toml
            codegen/src: main.rs parser.rs emit.rs types.rs naming.rs
            runtime/src: lib.rs codec.rs version.rs registry.rs
            bindings/java: RouteMessage.java FrameMessage.java
            bindings/go: envelope.go frame.go
            """,
        ),
    )
}


@cache
def file_lines(project: str, path: str, topic: str) -> tuple[str, ...]:
    """Return the lines of an invented file: short, never empty, the same every time.

    The topic word of a task occurs in the lines that :func:`topic_lines` names.
    """
    dice = Dice("content", project, path)
    suffix = path.rpartition(".")[2] if "." in path.rpartition("/")[2] else ""
    templates = _TEMPLATES.get("ts" if suffix == "tsx" else suffix, _TEMPLATES[""])
    words = dice.shuffled(_VOCABULARY.split(), "words")
    lines = [
        templates[n % len(templates)].format(
            a=words[n % 7], b=words[7 + n % 11], c=words[18 + n % 13]
        )
        for n in range(dice.whole(44, 150, "length"))
    ]
    for number in _topic_numbers(dice, len(lines)):
        lines[number - 1] = templates[0].format(a=topic, b=words[number % 11], c=words[20])
    return tuple(lines)


def topic_lines(project: str, path: str) -> list[int]:
    """Return the 1-based numbers of the lines that name the topic, well apart."""
    dice = Dice("content", project, path)
    return _topic_numbers(dice, dice.whole(44, 150, "length"))


def _topic_numbers(dice: Dice, length: int) -> list[int]:
    return list(range(dice.whole(4, 16, "topic"), length, 17))
