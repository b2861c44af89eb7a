#!/usr/bin/env bash
# SWE-bench's grading counts a test that is marked as expected to fail, and fails, as passed, and
# does not know the word that pytest prints if such a test passes: it is then missing, and missing
# is failed. A patch that repairs the code behind such a test breaks nothing, pytest ends with 0,
# and the instance is unresolved; one that leaves it broken is resolved.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile swebench==5.0.2 pytest==9.2.0
cat > "$work/see.py" <<'PY'
import pathlib
import subprocess
import sys
from importlib.metadata import version

from swebench.harness.constants import END_TEST_OUTPUT, START_TEST_OUTPUT
from swebench.harness.grading import get_eval_report
from swebench.types import TestSpec

TESTS = """
import pytest
from shop import price, total

def test_total():
    assert total([1, 2]) == 3

@pytest.mark.xfail(reason="known bug")
def test_price():
    assert price("2") == 2
"""
PATCHES = {
    "repairs total": "total = sum\nprice = str",
    "repairs total and price": "total = sum\nprice = int",
}
spec = TestSpec(
    instance_id="shop-1",
    image="",
    eval_script_list=[],
    repo="shop",
    version="1",
    FAIL_TO_PASS=["test_shop.py::test_total"],
    PASS_TO_PASS=["test_shop.py::test_price"],
    log_parser="parse_log_pytest",
    eval_type="pass_and_fail",
)
seen = {}
for patch, code in PATCHES.items():
    folder = pathlib.Path(patch.replace(" ", "-"))
    folder.mkdir()
    (folder / "shop.py").write_text(code)
    (folder / "test_shop.py").write_text(TESTS)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA"], cwd=folder, capture_output=True, text=True
    )
    log = folder / "log.txt"
    log.write_text(f"{START_TEST_OUTPUT}\n{run.stdout}\n{END_TEST_OUTPUT}\n")
    prediction = {"instance_id": "shop-1", "model_name_or_path": "m", "model_patch": "patch"}
    report = get_eval_report(spec, prediction, str(log), include_tests_status=True)["shop-1"]
    seen[patch] = (run.returncode, report["resolved"])
    words = [line for line in run.stdout.splitlines() if line.startswith(("PASSED", "XF", "XP"))]
    print(f"pytest, patch that {patch}: {words}")
print("swebench", version("swebench"), "pytest", version("pytest"))
print("expected: both patches are resolved: no test fails")
for patch, (status, resolved) in seen.items():
    print(f"seen:     patch that {patch}: pytest's status {status}, resolved {resolved}")
assert list(seen.values()) == [(0, True), (0, False)], "changed"
PY
cd "$work"
export HOME="$work" PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
timeout 100 unshare -rn venv/bin/python see.py
