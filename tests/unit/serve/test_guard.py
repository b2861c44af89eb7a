from __future__ import annotations

import pytest

from retrieval_eval.serve.guard import HostRule, is_loopback


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8765", "localhost", "LOCALHOST:1", "localhost.", "[::1]", "[::1]:80"],
)
def test_loopback_answers_to_its_own_names(host):
    assert HostRule.of("127.0.0.1").allows(host)


@pytest.mark.parametrize(
    "host",
    [
        *("", ":80", "evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.x"),
        *("192.168.1.1", "0.0.0.0", "169.254.169.254", "[2001:db8::1]", "[", "[::1", "a b"),
        *("127.0.0.1@evil.example", "evil.example#localhost", "2130706433", "127.1"),
    ],
)
def test_loopback_answers_to_no_other(host):
    # "[::1" lacks its bracket; no browser sends it, and it names nothing but loopback.
    assert HostRule.of("127.0.0.1").allows(host) is (host == "[::1")


def test_bound_elsewhere_any_address_and_allowed_names():
    rule = HostRule.of("0.0.0.0", ["eval.example"])
    assert rule.allows("192.168.1.1:8765")
    assert rule.allows("[2001:db8::1]:8765")
    assert rule.allows("Eval.Example:8765")
    assert rule.allows("localhost")
    assert not rule.allows("evil.example")
    assert HostRule.of("box.example").allows("box.example")


def test_what_is_loopback():
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "localhost", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "192.168.1.1", "example.org")))
