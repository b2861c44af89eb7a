"""One or two units have the associations that the statistics give them, without loading these."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from itertools import product

import pytest
from msgspec import structs

from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.agents.study import associations
from retrieval_eval.agents.study.associations import FAMILY
from retrieval_eval.agents.study.stated import Settings
from retrieval_eval.agents.study.trials import trials_of
from retrieval_eval.model import from_builtins
from tests.factories import metrics_document


@pytest.mark.parametrize(
    ("places", "rewards"),
    [
        ([], []),
        ([("s", "t", "a")], [1.0]),
        ([("s", "t", "a"), ("s", "u", "a")], [1.0, 0.0]),
        ([("s", "t", "a"), ("s", "t", "b")], [1.0, 0.5]),
        ([("s", "t", "a"), ("s", "t", "b")], [1.0, None]),
        ([("s", "t", "a"), ("o", "t", "a")], [40.0, 0.5]),
    ],
)
def test_what_is_known_without_computing_is_what_computing_gives(places, rewards, monkeypatch):
    dice = random.Random(1)
    documents = []
    for (suite, task, config), reward in zip(places, rewards, strict=True):
        identity = {"run_id": "r", "benchmark": suite, "task_name": task, "config_name": config}
        document = metrics_document(identity | {"trial_name": "n"}, dice.random(), dice)
        document["outcome"]["reward"] = reward
        documents.append(from_builtins(document, TrialMetrics, "made"))
    trials = trials_of(documents)
    found = associations.associations(trials, Settings(1, 100), among=trials)
    monkeypatch.setattr(associations, "MIN_POINTS", 0)
    computed = associations.associations(trials, Settings(1, 100), among=trials)
    assert found.family == computed.family
    assert [structs.asdict(r) for r in found.records] == [
        structs.asdict(r) for r in computed.records
    ]
    assert len(found.records) % len(FAMILY) == 0


@pytest.mark.parametrize(("n_tasks", "configs", "loaded"), [(2, "a", []), (4, "ab", ["numpy"])])
def test_what_computes_is_loaded_where_something_is_computed(n_tasks, configs, loaded):
    dice = random.Random(1)
    documents = []
    for number, config in product(range(n_tasks), configs):
        identity = {"run_id": "r", "benchmark": "s", "task_name": f"t{number}"}
        identity["config_name"] = config
        documents.append(metrics_document(identity | {"trial_name": "n"}, dice.random(), dice))
    code = (
        "import json, sys\n"
        "from retrieval_eval.agents.study import impact_analysis\n"
        "found = impact_analysis(json.load(sys.stdin), seed=1)\n"
        "assert found.tiers and found.calibration and found.time_to_first_relevant\n"
        "print(sorted({'numpy', 'scipy', 'pandas'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(documents),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == str(loaded)
