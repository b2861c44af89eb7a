"""Every trap of the matrix is read as its reason says."""

from __future__ import annotations

import pytest

from tests.generated import absent_traps, all_traps
from tests.traps import ALWAYS
from tests.trials import proven


def _traps() -> list[object]:
    return [
        pytest.param(trap, id=f"{name}-{trap.situation}-{number}")
        for name, traps in all_traps().items()
        for number, trap in enumerate(traps)
    ]


_NO_HARNESSES = ("roots", "shell")


def test_every_harness_is_in_every_situation_or_says_why_not():
    absent = absent_traps()
    for name, traps in all_traps().items():
        found = {trap.situation for trap in traps}
        assert not found & absent[name].keys()
        if name not in _NO_HARNESSES:
            assert set(ALWAYS) <= found | absent[name].keys(), name
        assert all(reason.endswith(".") for reason in absent[name].values())


@pytest.mark.parametrize("trap", _traps())
def test_a_trap_is_read_as_its_reason_says(tmp_path, trap):
    read = proven(tmp_path, trap.files, trap.expected, trap.task)
    assert read == trap.expected, trap.reason
    assert trap.reason.endswith(".")
