from __future__ import annotations

import pytest

from retrieval_eval.serve.app import HostRule, is_loopback


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.0.0.1:8765", "localhost", "LOCALHOST:1", "localhost.", "localhost.:80"),
        *("[::1]", "[::1]:80", "localhost:", "localhost:65535"),
    ],
)
def test_loopback_answers_to_its_own_names(host):
    assert HostRule.of("127.0.0.1").allows(host)


@pytest.mark.parametrize(
    "host",
    [
        *("", ":80", "evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.x"),
        *("192.168.1.1", "0.0.0.0", "169.254.169.254", "[2001:db8::1]", "[", "[::1", "a b"),
        *("127.0.0.1@evil.example", "evil.example#localhost", "2130706433", "127.1"),
        *("localhost:8971@evil", "localhost@evil", "user@localhost", "localhost:8971:80", "::1"),
        *(" localhost", "localhost ", "localhost\t", "localhost:80 ", "localhost\\", "localhost/"),
        *("localhost:8765/evil", "localhost?x", "localhost:x", "localhost:-1", "localhost:99999"),
        *("localhost..", ".localhost", "localhost:٨", "[localhost]", "[::1]x", "[::1]:80@evil"),
        *("[::1%eth0]", "[127.0.0.1", "[]", "[::1]]", "127.0.0.1,evil.example", "localhost\n"),
        *("localhost\x00", "lo\u00adcalhost", "localhost:123456", "[127.0.0.1]", "[127.0.0.1]:80"),
    ],
)
def test_loopback_answers_to_no_other(host):
    assert not HostRule.of("127.0.0.1").allows(host)


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
