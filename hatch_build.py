"""Compiles the kernel of the ranking measures, which is optional: without it they take longer.

`python hatch_build.py FLAG...` compiles it into the checkout, with more flags of the compiler.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("retrieval_eval/ranking/_kernel.c")
# Contracted sums would round otherwise than those of Python do.
FLAGS = ("-O3", "-DNDEBUG", "-fPIC", "-shared", "-ffp-contract=off", "-fvisibility=hidden", "-s")


def compiled(root: Path, folder: Path, flags: tuple[str, ...] = FLAGS) -> Path | None:
    """Return the kernel, compiled into ``folder``; None where that is not possible."""
    target = folder / f"_kernel{sysconfig.get_config_var('EXT_SUFFIX')}"
    target.unlink(missing_ok=True)
    if sys.implementation.name != "cpython":
        return None
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if sys.platform == "darwin":
        flags = (*flags, "-undefined", "dynamic_lookup")
    include = f"-I{sysconfig.get_path('include')}"
    command = [*compiler, *flags, include, str(SOURCE), "-o", str(target), "-lm"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        reason = str(error)
    else:
        reason = done.stderr.strip()[-400:] or f"{compiler[0]} ended with {done.returncode}"
        if done.returncode == 0 and target.exists():
            return target
    sys.stderr.write(f"built without the ranking kernel, which a C compiler makes: {reason}\n")
    return None


class Kernel(BuildHookInterface):
    """Adds the kernel to a wheel, which then is of this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into the checkout where it is installed as it lies, or else aside."""
        root = Path(self.root)
        self.aside = tempfile.TemporaryDirectory()
        is_editable = version == "editable"
        kernel = compiled(root, (root / SOURCE).parent if is_editable else Path(self.aside.name))
        if kernel is None:
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if not is_editable:
            build_data["force_include"][str(kernel)] = str(SOURCE.with_name(kernel.name))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was compiled aside."""
        self.aside.cleanup()


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.exit(compiled(here, (here / SOURCE).parent, (*FLAGS, *sys.argv[1:])) is None)
