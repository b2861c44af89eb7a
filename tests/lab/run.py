"""One run: a harness in one situation, in a network of its own, and what is left of it.

The harness sees its run's folder as ``/mnt``, its installation as ``/srv`` and a ``/tmp`` of its
own; it lives in namespaces that end with this program, so that no process and no folder stays.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.lab import workspace
from tests.lab.drivers import HOME, INSTALLED, ROOT, SHOP, Driver, Start, joint, registry, turns
from tests.lab.model import Script, requests, serve
from tests.lab.situations import SITUATIONS, TOGETHER, Situation

NAMESPACES: Final = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
_PLACES: Final = (
    f'mount --bind "$1" {ROOT} && mount --bind "$2" {INSTALLED} && mount --bind {ROOT}/tmp /tmp'
    f' && cd {SHOP} && shift 2 && exec "$@"'
)
_KILLED_AFTER: Final = 4
# When each start of a harness began and ended, a line each.
STARTS: Final = "starts"


def play(driver: Driver, situation: Situation, installed: Path, folder: Path) -> None:
    """Run the harness; its output lies in ``stdout`` and ``stderr``, the requests beside them."""
    plans = joint(driver, SITUATIONS) if situation is TOGETHER else turns(driver, situation)
    assert not isinstance(plans, str)
    for name in ("home", "tmp", "out"):
        (folder / name).mkdir(parents=True)
    workspace.make(folder / "shop")
    shutil.copy(Path(__file__).with_name("mcp_server.py"), folder)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    is_text = driver.written is not None
    script = Script(plans, dict(driver.values), driver.summary, driver.side, is_text)
    with (folder / "requests.jsonl").open("w", encoding="utf-8") as record:
        server = serve(script, record)
        prompt = "Please do PLAN:main"
        if situation.mode == "attach":
            prompt = "Please do PLAN:main and see @notes/attached.md"
        _start(driver, driver.start(prompt, situation, False), situation, installed, folder)
        if situation.then:
            again = driver.start("Please do PLAN:then", situation, True)
            _start(driver, again, situation, installed, folder)
        server.shutdown()


def _start(
    driver: Driver, start: Start, situation: Situation, installed: Path, folder: Path
) -> None:
    for name, text in start.files.items():
        path = folder / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = os.environ["PATH"].split(":")
    environment = {
        "PATH": ":".join([f"{INSTALLED}/node_modules/.bin", f"{INSTALLED}/bin", *found]),
        "HOME": HOME,
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        **start.environment,
    }
    command = ["unshare", "--mount", "sh", "-c", _PLACES, "sh", str(folder), str(installed)]
    begun = time.time()
    with (
        (folder / "stdout").open("ab") as stdout,
        (folder / "stderr").open("ab") as stderr,
        subprocess.Popen(
            [*command, *start.command],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=environment,
        ) as process,
    ):
        try:
            if situation.mode == "killed":
                _wait_for_last_turn(folder, situation, driver.seconds)
                process.kill()
            process.wait(driver.seconds * (4 if situation is TOGETHER else 1))
        except subprocess.TimeoutExpired:
            process.kill()
            stderr.write(b"\nended by its time limit\n")
        (folder / "status").write_text(f"{process.wait()}\n", encoding="utf-8")
    with (folder / STARTS).open("a", encoding="utf-8") as starts:
        starts.write(f"{begun} {time.time()}\n")


def _wait_for_last_turn(folder: Path, situation: Situation, seconds: int) -> None:
    """Wait until the model made its last call, and until that is being carried out."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        asked = requests(folder / "requests.jsonl")
        if sum(one["role"] == "plan" for one in asked) >= len(situation.turns):
            break
        time.sleep(0.5)
    time.sleep(_KILLED_AFTER)


if __name__ == "__main__":
    _name, _situation, _installed, _folder = sys.argv[1:]
    play(
        registry()[_name],
        next(one for one in (TOGETHER, *SITUATIONS) if one.name == _situation),
        Path(_installed),
        Path(_folder),
    )
