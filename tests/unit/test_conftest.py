"""The guards that every other test relies on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import hypothesis
import pytest

from tests.conftest import PROJECT


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("2001:db8::1", 80, 0, 0)])
def test_no_test_can_leave_this_machine(address):
    family = socket.AF_INET if len(address) == 2 else socket.AF_INET6
    with socket.socket(family) as outbound:
        with pytest.raises(OSError, match="tests run offline"):
            outbound.connect(address)
        with pytest.raises(OSError, match="tests run offline"):
            outbound.connect_ex(address)


def test_tests_may_talk_to_themselves():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=5) as client,
    ):
        client.sendall(b"x")


def test_slow_machines_fail_no_property_test():
    assert hypothesis.settings().deadline is None


def test_every_run_draws_the_same_examples():
    """In a process of its own, for `make test-deep` chooses another profile for this one."""
    program = """
import random
from hypothesis import given, strategies as st
import tests.conftest

@given(st.integers())
def example(number):
    print(number)

random.seed()
example()
"""
    environment = {k: v for k, v in os.environ.items() if k not in {"CI", "HYPOTHESIS_PROFILE"}}
    runs = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=PROJECT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert len(set(runs[0].split())) > 5
    assert runs[0] == runs[1]
