"""Work on executors: few futures in flight, and names of executors."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.pipeline import executors
from retrieval_eval.pipeline.executors import Engine, engine_for, run_on


class Counting(Executor):
    """Runs each work when its result is first requested, and counts what waits."""

    def __init__(self):
        self.pool = ThreadPoolExecutor(1)
        self.waiting = self.most = 0

    def submit(self, function, /, *arguments, **options):
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        future = self.pool.submit(function, *arguments, **options)
        future.add_done_callback(self._done)
        return future

    def _done(self, _):
        self.waiting -= 1


def test_few_futures_are_in_flight_however_many_items_there_are():
    counting = Counting()
    with engine_for(counting) as engine:
        found = list(run_on(engine, abs, range(1000), split=lambda _: [], lost=lambda *_: 0))
    counting.pool.shutdown()
    assert sorted(found) == list(range(1000))
    assert counting.most <= engine.width


@pytest.mark.parametrize("text", ["dask", "dask://", "processes:0", "threads:x", "ray://h:1"])
def test_a_text_that_names_no_executor_is_refused(text):
    with pytest.raises(BadInputError, match="names no executor"), engine_for(text):
        pass


class Deserted(Executor):
    """Takes work that no worker does, until one comes."""

    def __init__(self):
        self.futures = []

    def submit(self, function, /, *arguments, **options):
        self.futures.append((Future(), function, arguments))
        return self.futures[-1][0]

    def come(self):
        for future, function, arguments in self.futures:
            future.set_result(function(*arguments))


def test_work_waits_for_a_worker_and_ends_where_none_comes(monkeypatch):
    monkeypatch.setattr(executors, "_SECONDS_BETWEEN_LOOKS", 0.001)
    run = partial(run_on, function=abs, items=[-1], split=lambda _: [], lost=lambda *_: 0)
    late = Deserted()
    assert list(run(Engine(late, lambda: 0), waits=late.come)) == [1]
    monkeypatch.setattr(executors, "_MOST_SECONDS_WITHOUT", 0.0)
    never = Deserted()
    with pytest.raises(BadInputError, match="there was no worker for 0 seconds; what was written"):
        list(run(Engine(never, lambda: 0)))
    assert never.futures[0][0].cancelled()
