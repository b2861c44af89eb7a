"""The guards that every other test relies on."""

from __future__ import annotations

import os
import socket

import hypothesis
import pytest


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


@pytest.mark.skipif(not os.environ.get("CI"), reason="only CI draws the same examples every time")
def test_ci_draws_the_same_examples_every_time():
    assert hypothesis.settings().derandomize
