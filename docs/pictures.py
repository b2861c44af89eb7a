"""Make the pictures of README and documentation from the pages of the demo: ``make pictures``.

Needs Chromium. The data are simulated, and the pages say so. ``real-comparison`` is the page that
the first section of the tutorial makes; its traces do not come with the package.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from PIL import Image

IMAGES: Final = Path(__file__).resolve().parent / "images"
COLOURS: Final = 128
"""Enough for text and a few colours, and small in a repository."""

BROWSER: Final = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
]

TRIAL: Final = "quillmark-login-guard-feat-001__6p6h8X1"


def main() -> None:
    """Render the demo pages in a temporary folder, and photograph their first screens."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("Chromium is not installed; on Debian: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder) / "reports"
        run = str(reports / "demo" / "data" / "runs" / "demo")
        into = ["--reports-dir", str(reports)]
        page_of = {
            "run-report": ["demo", *into],
            "trial": ["report", run, "--trial", TRIAL, *into],
            "search-report": ["demo", "search", *into],
        }
        IMAGES.mkdir(exist_ok=True)
        for name, command in page_of.items():
            address = _made(command, Path(folder)).as_uri()
            _photograph(browser, address, IMAGES / f"{name}.png")


def _made(command: list[str], folder: Path) -> Path:
    """Run the command and return the page whose path it prints last."""
    done = subprocess.run(
        [sys.executable, "-m", "retrieval_eval", *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return (folder / done.stdout.split()[-1]).resolve()


def _photograph(browser: str, address: str, image: Path) -> None:
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                browser,
                *BROWSER,
                f"--user-data-dir={profile}",
                "--window-size=1280,1000",
                f"--screenshot={image}",
                address,
            ],
            stderr=subprocess.DEVNULL,
            check=True,
            timeout=120,
        )
    with Image.open(image) as taken:
        taken.convert("RGB").quantize(COLOURS).save(image, optimize=True)
    print(f"{image.name}: {image.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
