#!/usr/bin/env bash
# deepeval's ToolCorrectnessMetric compares the calls that an agent made with those expected. Calls
# with the same name, arguments and output are equal to it, and once one of them is matched, all of
# them are used up. An agent that reads, tests, reads and tests again exactly as expected gets 0.5,
# three equal calls get 0.33, and both are 1.0 under the two stricter settings.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile deepeval==4.3.1
cat > "$work/see.py" <<'PY'
from importlib.metadata import version

from deepeval.metrics import ToolCorrectnessMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, ToolCall


class NoModel(DeepEvalBaseLLM):
    def __init__(self):
        pass

    def load_model(self):
        return self

    def generate(self, *args, **kwargs):
        raise RuntimeError("this metric asks no model here")

    a_generate = generate

    def get_model_name(self):
        return "none"


def score(calls, **settings):
    metric = ToolCorrectnessMetric(model=NoModel(), async_mode=False, **settings)
    metric.measure(
        LLMTestCase(input="q", actual_output="a", tools_called=calls, expected_tools=calls)
    )
    return round(metric.score, 2)


def read(path):
    return ToolCall(name="read", input_parameters={"path": path})


def tests():
    return ToolCall(name="run_tests", input_parameters={})


twice = [read("a.py"), tests(), read("a.py"), tests()]
seen = {
    "four different calls": score([read(f"{i}.py") for i in range(4)]),
    "read, test, read, test": score(twice),
    "the same, order considered": score(twice, should_consider_ordering=True),
    "the same, exact match": score(twice, should_exact_match=True),
    "three equal calls": score([tests() for _ in range(3)]),
}
print("deepeval", version("deepeval"))
print("expected: calls made = calls expected, so 1.0 everywhere")
print("seen:    ", seen)
assert list(seen.values()) == [1.0, 0.5, 1.0, 1.0, 0.33], "changed"
PY
cd "$work"
export HOME="$work" DEEPEVAL_TELEMETRY_OPT_OUT=1 DEEPEVAL_DISABLE_DOTENV=1
timeout 100 unshare -rn venv/bin/python see.py
