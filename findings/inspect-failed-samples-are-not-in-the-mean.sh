#!/usr/bin/env bash
# Inspect can go on when a sample fails with an error (fail_on_error=False, or a share that may
# fail). The failed samples have no score and are not in the mean: an agent that solves 5 of 10
# tasks and breaks down in the other 5 has accuracy 1.0 with a standard error of 0.0 and a log with
# status success. A 95 % interval made from these numbers is a point.
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


@solver
def breaks_down():
    async def solve(state, generate):
        if state.sample_id > 5:
            raise ValueError("the agent broke down")
        return state

    return solve


@task
def tasks():
    samples = [Sample(input=f"task {number}", target="yes", id=number) for number in range(1, 11)]
    return Task(dataset=samples, solver=[breaks_down(), generate()], scorer=includes())


if __name__ == "__main__":
    (log,) = eval(tasks(), model="scripted/m", fail_on_error=False, display="none", log_dir="logs")
    log = read_eval_log(log.location)
    failed = sum(1 for sample in log.samples if sample.error)
    metrics = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    print("inspect-ai", version("inspect-ai"))
    print("expected: 10 samples, 5 right and 5 failed: accuracy 0.5, or a status that says so")
    print(f"seen:     status {log.status}, {len(log.samples)} samples, {failed} failed, {metrics}")
    assert (log.status, failed) == ("success", 5), "changed"
    assert metrics == {"accuracy": 1.0, "stderr": 0.0}, "changed"
PY
cd "$work"
export HOME="$work" XDG_DATA_HOME="$work/data" XDG_CACHE_HOME="$work/cache"
timeout 120 unshare -rn sh -c "ip link set lo up && exec venv/bin/python see.py"
