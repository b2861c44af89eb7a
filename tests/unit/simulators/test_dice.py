from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.simulators.dice import Dice

keys = st.lists(st.one_of(st.integers(), st.text(max_size=8)), max_size=3)


def test_a_draw_is_the_same_on_every_machine() -> None:
    # the first six bytes of `printf '7\\x1fa\\x1fb' | b2sum -l 256`
    expected = int("a904be2bbe9a", 16) / 2**48
    assert Dice(7, "a").unit("b") == expected


def test_another_question_gives_another_answer() -> None:
    dice = Dice(1)
    assert len({dice.unit(number) for number in range(200)}) == 200
    assert dice.unit("a", "b") == dice.scoped("a").unit("b")


def test_shuffling_keeps_every_item() -> None:
    items = list("abcdefgh")
    assert sorted(Dice(3).shuffled(items)) == items
    assert Dice(3).shuffled(items) != Dice(4).shuffled(items)


@given(keys, st.integers(-5, 5), st.integers(0, 9))
def test_whole_numbers_stay_in_their_range(key: list[object], low: int, width: int) -> None:
    assert low <= Dice(*key).whole(low, low + width, "n") <= low + width


def test_normal_draws_have_the_mean_and_spread_of_the_normal_distribution() -> None:
    draws = [Dice(5).normal(number) for number in range(4000)]
    mean = sum(draws) / len(draws)
    spread = (sum((x - mean) ** 2 for x in draws) / len(draws)) ** 0.5
    assert abs(mean) < 0.06
    assert abs(spread - 1) < 0.05


def test_names_have_the_asked_length_and_shape() -> None:
    dice = Dice(2)
    assert len(dice.identifier(7, "x")) == 7
    assert len(dice.hexadecimal(40, "x")) == 40
    assert [len(part) for part in dice.uuid("x").split("-")] == [8, 4, 4, 4, 12]
