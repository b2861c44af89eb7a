"""An environment of Harbor without containers: its folders lie below ``/mnt/out``."""

import asyncio
import os
import shutil
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

ROOT = "/mnt/out"
FOLDERS = ("/logs", "/tests", "/solution")


def inside(path: object) -> str:
    text = str(path)
    is_theirs = any(text == folder or text.startswith(f"{folder}/") for folder in FOLDERS)
    return ROOT + text if is_theirs else text


class LocalEnvironment(BaseEnvironment):
    @staticmethod
    def type() -> str:
        return "local"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities()

    def _validate_definition(self) -> None:
        pass

    async def start(self, force_build: bool) -> None:
        for folder in ("/logs/agent", "/logs/verifier", "/tests", "/solution"):
            Path(ROOT + folder).mkdir(parents=True, exist_ok=True)

    async def stop(self, delete: bool) -> None:
        pass

    async def upload_file(self, source_path, target_path) -> None:
        Path(inside(target_path)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, inside(target_path))

    async def upload_dir(self, source_dir, target_dir) -> None:
        shutil.copytree(source_dir, inside(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path, target_path) -> None:
        shutil.copy(inside(source_path), target_path)

    async def download_dir(self, source_dir, target_dir) -> None:
        shutil.copytree(inside(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None) -> ExecResult:
        for folder in FOLDERS:
            for mark in " '\"":
                command = command.replace(f"{mark}{folder}", f"{mark}{ROOT}{folder}")
        process = await asyncio.create_subprocess_shell(
            command,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd or "/mnt/shop",
            env={**os.environ, **(env or {})},
            executable="/bin/bash",
        )
        out, errors = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(
            stdout=out.decode("utf-8", "replace"),
            stderr=errors.decode("utf-8", "replace"),
            return_code=process.returncode,
        )
