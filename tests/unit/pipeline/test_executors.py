"""Work on executors: few futures in flight, and names of executors."""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.pipeline.executors import engine_for, run_on


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
