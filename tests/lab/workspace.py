"""The workspace of the lab: a small repository in which each line is unlike any other.

Line 12 of ``shop/cart.py`` begins with ``cart_0012``, so that a request to the model shows which
lines of which files it was given, whatever the harness put around, before or behind them.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple


class Text(NamedTuple):
    """A text file: the word that its lines begin with, how many there are, and what some hold."""

    key: str
    lines: int = 30
    holds: dict[int, str] = {}  # noqa: RUF012  a default that is never changed
    width: int = 0


def _sold(*lines: int) -> dict[int, str]:
    return dict.fromkeys(lines, "reserve_stock")


FILES: Final = {
    "README.md": Text("readme", 12),
    "AGENTS.md": Text("rootrules", 5),
    "conftest.py": Text("rootconf", 8),
    "shop/conftest.py": Text("shopconf", 8),
    "shop/cart.py": Text("cart"),
    "shop/totals.py": Text("totals"),
    "shop/table.py": Text("table", 400),
    "shop/pay/gateway.py": Text("gateway"),
    "shop/pay/refund policy.py": Text("refund"),
    "shop/util/größe.py": Text("groesse"),
    "shop/util/[id].ts": Text("ident"),
    "shop/stock/alpha.py": Text("alpha", 20, _sold(9)),
    "shop/stock/beta.py": Text("beta", 20, _sold(4, 11)),
    "tests/test_stock.py": Text("teststock", 20, _sold(7)),
    "shop/rules/AGENTS.md": Text("rules", 4),
    "shop/rules/engine.py": Text("engine", 20),
    "docs/guide.md": Text("guide", 20),
    "docs/faq.md": Text("faq", 20),
    "notes/attached.md": Text("attached", 10),
    "config/limits.toml": Text("limits", 6),
    "config/settings.toml": Text("settings", 6),
    "secret/key.txt": Text("secret", 6),
    "data/huge.csv": Text("huge", 4000, width=60),
    "data/long_line.json": Text("longline", 1, width=60_000),
}
# Of these no request can show whether the model was given them.
UNDECIDED: Final = ("docs/empty.md", "assets/blob.bin")
# No action asks for these: a harness gives them by itself.
UNASKED: Final = ("AGENTS.md", "shop/rules/AGENTS.md", "notes/attached.md")
IMAGE: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_KEYS: Final = {text.key: path for path, text in FILES.items()}
_MARK: Final = re.compile(rf"(?<![A-Za-z])({'|'.join(_KEYS)})_(\d{{4}})(?!\d)")
_AUTHOR: Final = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (
        ("NAME", "dev"),
        ("EMAIL", "dev@example.org"),
        ("DATE", "2026-01-01T00:00:00Z"),
    )
}


def make(folder: Path) -> None:
    """Make the repository: two commits, the second of them on the branch ``fix``."""
    for path, text in FILES.items():
        _write(folder / path, _body(text).encode())
    _write(folder / "docs/empty.md", b"")
    _write(folder / "assets/logo.png", base64.b64decode(IMAGE))
    _write(folder / "assets/blob.bin", bytes(range(256)) * 8)
    _git(folder, "init", "-q", "-b", "main")
    _commit(folder, "start")
    _git(folder, "checkout", "-q", "-b", "fix")
    _write(folder / "shop/pay/gateway.py", b"fixed = True\n")
    _commit(folder, "fix the gateway")
    _git(folder, "checkout", "-q", "main")


def delivered(texts: Iterable[str]) -> dict[str, set[int]]:
    """Return the lines of the workspace's files that stand in these texts, as JSON or plainly."""
    found: dict[str, set[int]] = {}
    for text in texts:
        for key, number in _MARK.findall(text.replace("\\n", "\n").replace("\\t", "\t")):
            found.setdefault(_KEYS[key], set()).add(int(number))
    return found


def named(texts: Iterable[str]) -> set[str]:
    """Return the files whose name stands in these texts."""
    whole = "\n".join(texts)
    return {
        path for path in (*FILES, "assets/logo.png", *UNDECIDED) if path.rsplit("/", 1)[-1] in whole
    }


def _body(text: Text) -> str:
    lines = (
        f"{text.key}_{number:04d} = {number}  # {text.holds.get(number, 'row')}{'z' * text.width}\n"
        for number in range(1, text.lines + 1)
    )
    return "".join(lines)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _commit(folder: Path, message: str) -> None:
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", message)


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, env={**os.environ, **_AUTHOR}, check=True)
