"""The server that the database tests run against: it is real, and it leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from tests.databases import PATIENCE_SECONDS, postgres_programs

PROGRAM = """
import sys, time
from tests.databases import postgres_programs, postgres_server
with postgres_server(postgres_programs()) as url:
    print(url, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def programs(postgres_url) -> Path:
    """The folder of PostgreSQL's programs; skipped where the server itself would be."""
    return postgres_programs()


def _folder(url: str) -> Path:
    return Path(make_url(url).query["host"])


def _answers(folder: Path) -> bool:
    try:
        psycopg.connect(host=str(folder), user="tester", dbname="postgres").close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.extra
def test_the_server_vanishes_when_the_tests_are_killed(programs, project):
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=project, stdout=subprocess.PIPE, text=True
    ) as tests:
        try:
            folder = _folder(tests.stdout.readline().strip())
            assert _answers(folder)
        finally:
            tests.kill()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folder.exists()
