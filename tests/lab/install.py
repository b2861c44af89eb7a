"""How a harness is installed: from its registry, in a stated version, into a folder of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.lab.drivers import Driver


class InstallError(Exception):
    """A harness cannot be installed; the message is a sentence."""


def install(driver: Driver, version: str, build: Path) -> tuple[Path, str]:
    """Return the folder of an installed harness and its version."""
    missing = [name for name in driver.needs if shutil.which(name) is None]
    if missing:
        raise InstallError(f"the machine has no {' and no '.join(missing)}")
    package, *others = driver.packages
    exact = _newest(driver, package) if version == "latest" else version
    folder = build / "installed" / f"{package.strip('@').replace('/', '+')}-{exact}"
    done = folder / "installed"
    wanted = " ".join([package, *others, *driver.instead])
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _fill(driver, folder, package, exact, others)
        done.write_text(wanted, encoding="utf-8")
    return folder, exact


def _newest(driver: Driver, package: str) -> str:
    if driver.manager == "npm":
        return str(json.loads(_run("npm", "view", package, "version", "--json")))
    python = _python(driver)
    found = re.search(r"\(([^)]+)\)", _run(python, "-m", "pip", "index", "versions", package))
    if found is None:
        raise InstallError(f"the registry has no {package}")
    return found[1]


def _fill(driver: Driver, folder: Path, package: str, version: str, others: list[str]) -> None:
    if driver.manager == "npm":
        named = [f"{package}@{version}", *others]
        _run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *named)
        return
    # A run sees its installation at another place.
    uv = (sys.executable, "-m", "uv")
    _run(*uv, "venv", "--quiet", "--relocatable", "--python", _python(driver), str(folder))
    instead = folder / "instead"
    instead.write_text("\n".join(driver.instead), encoding="utf-8")
    into = ("--quiet", "--python", str(folder / "bin/python"), "--override", str(instead))
    _run(*uv, "pip", "install", *into, f"{package}=={version}", *others)


def _python(driver: Driver) -> str:
    found = _run(".ci/find-python", driver.python).strip()
    if not found:
        raise InstallError(f"Python {driver.python} is not installed")
    return found


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    except subprocess.TimeoutExpired:
        raise InstallError(f"{command[0]} did not end within 1,200 s") from None
    if done.returncode:
        said = re.sub(r"\w+://\S+", "…", " ".join(f"{done.stdout} {done.stderr}".split()))
        raise InstallError(said.rpartition("ERROR: ")[2][-300:])
    return done.stdout
