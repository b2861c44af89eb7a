"""The 24 invented tasks."""

from __future__ import annotations

from tests.simulators.projects import PROJECTS
from tests.simulators.task import MERGED, OPENHANDS, TRAJECTORY, Task


def _paths(text: str) -> tuple[str, ...]:
    """Expand ``folder: a b`` pieces separated by ``;`` (``.`` is the root)."""
    out = []
    for piece in text.split(";"):
        folder, _, names = piece.strip().partition(": ")
        repository, separator, inner = folder.rpartition("::")
        prefix = f"{repository}{separator}" + ("" if inner == "." else f"{inner}/")
        out += [prefix + name for name in names.split()]
    return tuple(out)


def _task(name: str, suite: str, projects: str, topic: str, truth: str, **more: object) -> Task:
    found = tuple(PROJECTS[p] for p in projects.split())
    return Task(name, f"demo_{suite}", found, topic, _paths(truth), **more)  # type: ignore[arg-type]


_OH = {"harness": OPENHANDS, "version": "1.4.0", "source": TRAJECTORY}
_OLD = {"version": "2.1.63", "model": "demo-small-1"}
_TW, _JV = "src/tidewheel", "core/src/main/java/ferry"

_FIX = (
    _task(
        "tidewheel-lease-renewal-fix-001",
        "fix",
        "tidewheel",
        "lease",
        f"{_TW}/scheduler: lease.py heartbeat.py clock.py; {_TW}/store: ledger.py",
        truth_form="reference_fix",
        difficulty=0.35,
    ),
    _task(
        "lanternpost-bounce-loop-fix-001",
        "fix",
        "lanternpost",
        "bounce",
        "internal/queue: bounce.go spool.go backoff.go; internal/policy: routing.go limits.go",
        difficulty=0.55,
    ),
    _task(
        "quillmark-undo-merge-fix-001",
        "fix",
        "quillmark",
        "history",
        "src/document: history.ts merge.ts cursor.ts; test/document: history.test.ts",
        difficulty=0.3,
        **_OH,
    ),
    _task(
        "brinekeep-compaction-stall-fix-001",
        "fix",
        "brinekeep",
        "throttle",
        "crates/compact/src: picker.rs throttle.rs worker.rs; crates/server/src: limits.rs;"
        "docs: compaction.md",
        source=MERGED,
        difficulty=0.6,
    ),
    _task(
        "tidewheel-cron-dst-fix-001",
        "fix",
        "tidewheel",
        "cron",
        f"{_TW}/scheduler: cron.py clock.py; {_TW}/util: timezones.py",
        difficulty=0.25,
        **_OLD,
    ),
    _task(
        "ferrypath-detour-cost-fix-001",
        "fix",
        "ferrypath",
        "detour",
        f"{_JV}/cost: Detour.java CostModel.java Penalty.java;"
        f"{_JV}/search: Replan.java Bounds.java",
        difficulty=0.5,
        **_OH,
    ),
)

_FEATURE = (
    _task(
        "lanternpost-dkim-rotation-feat-001",
        "feature",
        "lanternpost",
        "rotation",
        "internal/dkim: rotation.go keyring.go selector.go; cmd/lanternpost: reload.go;"
        "docs: rotation.md",
        truth_form="expected_changes",
        difficulty=0.45,
    ),
    _task(
        "quillmark-login-guard-feat-001",
        "feature",
        "quillmark",
        "guard",
        "app/(auth): page.tsx actions.ts layout.tsx; src/session: guard.ts token.ts cookies.ts",
        difficulty=0.5,
        **_OLD,
    ),
    _task(
        "brinekeep-snapshot-export-feat-001",
        "feature",
        "brinekeep",
        "snapshot",
        "crates/server/src: snapshot.rs handler.rs; crates/wal/src: segment.rs replay.rs;"
        "crates/table/src: sstable.rs; docs: rfc-003-snapshots.md",
        difficulty=0.65,
    ),
    _task(
        "ferrypath-tariff-zones-feat-001",
        "feature",
        "ferrypath",
        "tariff",
        f"{_JV}/cost: Tariff.java CostModel.java; {_JV}/time: ZoneRules.java;"
        "importer/src/main/java/ferry/feed: FareParser.java",
        model="demo-small-1",
        difficulty=0.55,
        **_OH,
    ),
    _task(
        "tidewheel-quota-headers-feat-001",
        "feature",
        "tidewheel",
        "quota",
        f"{_TW}/api: quota.py routes.py schemas.py errors.py; docs: rfc-019-quota.md",
        source=TRAJECTORY,
        difficulty=0.4,
    ),
    _task(
        "quillmark-plugin-sandbox-feat-001",
        "feature",
        "quillmark",
        "bridge",
        "src/plugins: host.ts bridge.ts manifest.ts loader.ts sandbox_policy.ts; .: Dockerfile",
        new_files=("src/plugins/sandbox_policy.ts",),
        difficulty=0.6,
    ),
)

_REVIEW = (
    _task(
        "brinekeep-wal-code-review-001",
        "review",
        "brinekeep",
        "checksum",
        "crates/wal/src: segment.rs checksum.rs replay.rs; crates/table/src: merge.rs",
        truth_form="defects",
        is_reading=True,
        difficulty=0.2,
    ),
    _task(
        "ferrypath-open-ended-tour-001",
        "review",
        "ferrypath",
        "router",
        "",
        truth_form="none",
        is_reading=True,
    ),
    _task(
        "tidewheel-retention-audit-001",
        "review",
        "tidewheel",
        "retention",
        f"{_TW}/store: retention.py migrations.py snapshot.py ledger.py; {_TW}/util: config.py;"
        "tests/store: test_retention.py; docs: operations.md; .: Makefile",
        truth_form="list",
        is_reading=True,
        difficulty=0.7,
    ),
    _task(
        "lanternpost-queue-order-trace-001",
        "review",
        "lanternpost",
        "ordering",
        "internal/queue: ordering.go queue.go spool.go; internal/smtp: pipeline.go envelope.go",
        is_reading=True,
        difficulty=0.45,
        **_OH,
    ),
    _task(
        "quillmark-render-path-qa-001",
        "review",
        "quillmark",
        "layout",
        "src/render: layout.ts measure.ts paint.ts glyphs.ts",
        is_reading=True,
        difficulty=0.3,
    ),
    _task(
        "brinekeep-bloom-fault-001",
        "review",
        "brinekeep",
        "bloom",
        "crates/table/src: bloom.rs sstable.rs; crates/client/src: retry.rs",
        truth_form="objects",
        is_reading=True,
        difficulty=0.75,
    ),
)

_CROSSREPO = (
    _task(
        "crossrepo-frame-schema-001",
        "crossrepo",
        "brinekeep knotwork",
        "frame",
        "knotwork::schema: frame.toml; knotwork::runtime/src: codec.rs version.rs;"
        "brinekeep::crates/server/src: frame.rs; brinekeep::crates/client/src: frame.rs pool.rs",
        is_reading=True,
        difficulty=0.55,
    ),
    _task(
        "crossrepo-route-contract-001",
        "crossrepo",
        "ferrypath knotwork",
        "route",
        "knotwork::schema: route.toml; knotwork::bindings/java: RouteMessage.java;"
        "ferrypath::service/src/main/java/ferry/api: RouteMapper.java RouteRequest.java;"
        "ferrypath::service/src/main/java/ferry/cache: RouteCache.java",
        is_reading=True,
        has_clone_folders=True,
        difficulty=0.6,
        **_OLD,
    ),
    _task(
        "knotwork-codegen-impact-001",
        "crossrepo",
        "knotwork",
        "naming",
        "codegen/src: naming.rs emit.rs types.rs; bindings/go: envelope.go frame.go;"
        "bindings/java: FrameMessage.java RouteMessage.java",
        is_reading=True,
        source=MERGED,
        difficulty=0.5,
    ),
    _task(
        "lanternpost-wire-migration-001",
        "crossrepo",
        "lanternpost",
        "encoder",
        "pkg/wire: frame.go encoder.go decoder.go header.go; internal/smtp: session.go",
        truth_form="repo_paths",
        is_reading=True,
        model="demo-small-1",
        difficulty=0.5,
        **_OH,
    ),
    _task(
        "tidewheel-worker-isolation-001",
        "crossrepo",
        "tidewheel",
        "sandbox",
        f"{_TW}/workers: sandbox.py runner.py signals.py pool.py; .: Dockerfile;{_TW}/api: auth.py",
        is_reading=True,
        difficulty=0.65,
        **_OLD,
    ),
    _task(
        "ferrypath-timezone-audit-001",
        "crossrepo",
        "ferrypath",
        "zone",
        f"{_JV}/time: ZoneRules.java Timetable.java Calendar.java; {_JV}/search: Router.java;"
        "importer/src/main/java/ferry/feed: StopParser.java FeedReader.java FareParser.java",
        is_reading=True,
        difficulty=0.7,
    ),
)

TASKS: tuple[Task, ...] = (*_FIX, *_FEATURE, *_REVIEW, *_CROSSREPO)
"""Six tasks in each of four suites, in the order they run."""
