"""The guards that every other test relies on."""

from __future__ import annotations

import socket

import pytest


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("2001:db8::1", 80, 0, 0)])
def test_no_test_can_leave_this_machine(address):
    family = socket.AF_INET if len(address) == 2 else socket.AF_INET6
    with socket.socket(family) as outbound:
        with pytest.raises(OSError, match="tests run offline"):
            outbound.connect(address)
        with pytest.raises(OSError, match="tests run offline"):
            outbound.connect_ex(address)
