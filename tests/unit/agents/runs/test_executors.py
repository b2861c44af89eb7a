"""Work on executors: few futures in flight, names of executors, and clusters without workers."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from retrieval_eval.agents.runs import away
from retrieval_eval.agents.runs.away import Engine, engine_for, run_on
from retrieval_eval.errors import BadInputError


def refused(_, end):
    raise AssertionError(end)


def test_few_futures_are_in_flight_however_many_parts_there_are():
    waiting, most = 0, 0

    def submit(*work):
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        future = pool.submit(*work)
        future.add_done_callback(done)
        return future

    def done(_):
        nonlocal waiting
        waiting -= 1

    with ThreadPoolExecutor(1) as pool:
        engine = Engine(submit, lambda: 3)
        found = list(run_on(engine, sum, ((n,) for n in range(1000)), refused))
    assert sorted(found) == list(range(1000))
    assert most <= 6


@pytest.mark.parametrize("text", ["dask", "dask://", "processes:0", "threads:2", "ray://h:1"])
def test_a_text_that_names_no_executor_is_refused(text):
    with pytest.raises(BadInputError, match="names no executor"), engine_for(text):
        pass


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

    def silent(*_, **__):
        raise TimeoutError

    monkeypatch.setattr(distributed, "Client", silent)
    with (
        pytest.raises(BadInputError, match=r"no Dask scheduler answers at host:1 \(TimeoutError\)"),
        engine_for("dask://host:1"),
    ):
        pass


def test_work_waits_for_a_worker_and_ends_where_none_comes(monkeypatch):
    monkeypatch.setattr(away, "_SECONDS_BETWEEN_LOOKS", 0.001)
    taken = []

    def submit(function, part):
        taken.append((Future(), function, part))
        return taken[-1][0]

    def comes():
        for future, function, part in taken:
            future.set_result(function(part))

    assert list(run_on(Engine(submit, lambda: 0, comes), sum, [(1, 2)], refused)) == [3]
    taken.clear()

    def never():
        raise BadInputError("there was no worker")

    with pytest.raises(BadInputError, match="there was no worker"):
        list(run_on(Engine(submit, lambda: 0, never), sum, [(1,)], refused))
    assert taken[0][0].cancelled()


class KilledWorker(Exception):  # noqa: N818
    """As Dask calls it."""


def test_the_items_of_a_killed_part_are_tried_alone_and_only_the_guilty_is_given_up():
    def work(part):
        if 3 in part:
            raise KilledWorker
        return list(part)

    with ThreadPoolExecutor(1) as pool:
        parts = [(1,), (2, 3, 4)]
        found = list(run_on(Engine(pool.submit, lambda: 1), work, parts, lambda *lost: [*lost]))
    assert found == [[1], [2], [3, "the process that measured it was killed, each time"], [4]]
