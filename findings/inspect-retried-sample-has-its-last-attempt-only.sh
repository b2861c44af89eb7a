#!/usr/bin/env bash
# With retry_on_error Inspect runs a failed sample again. The tokens of the failed attempts are in
# the usage of the whole log and not in that of the sample: the samples of a log add up to less than
# the log, here to a third of it, and a cost per task from the samples is too low for just the
# agents that break down.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile inspect-ai==0.3.285
cat > "$work/see.py" <<'PY'
from importlib.metadata import version

from inspect_ai import Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, solver


@modelapi(name="scripted")
class Scripted(ModelAPI):
    def __init__(self, model_name, base_url=None, api_key=None, config=GenerateConfig(), **rest):
        super().__init__(model_name, base_url, api_key, [], config)

    async def generate(self, input, tools, tool_choice, config):
        answer = ModelOutput.from_content("scripted", "yes")
        answer.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
        return answer


attempts = []


@solver
def breaks_down_twice():
    async def solve(state, generate):
        attempts.append(state.sample_id)
        if len(attempts) < 3:
            raise ValueError("the agent broke down")
        return state

    return solve


@task
def tasks():
    samples = [Sample(input="task", target="yes", id=1)]
    return Task(dataset=samples, solver=[generate(), breaks_down_twice()], scorer=includes())


def total(usage):
    return sum(model.total_tokens for model in usage.values())


if __name__ == "__main__":
    (log,) = eval(tasks(), model="scripted/m", retry_on_error=3, display="none", log_dir="logs")
    log = read_eval_log(log.location)
    whole = total(log.stats.model_usage)
    samples = sum(total(sample.model_usage) for sample in log.samples)
    print("inspect-ai", version("inspect-ai"))
    print(f"one sample, {len(attempts)} attempts, each one model call of 110 tokens")
    print("expected: the tokens of the samples add up to those of the log, 330")
    print(f"seen:     log {whole}, samples {samples}")
    assert (len(attempts), whole, samples) == (3, 330, 110), "changed"
PY
cd "$work"
export HOME="$work" XDG_DATA_HOME="$work/data" XDG_CACHE_HOME="$work/cache"
timeout 120 unshare -rn sh -c "ip link set lo up && exec venv/bin/python see.py"
