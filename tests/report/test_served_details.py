from __future__ import annotations

import json

import pytest

from retrieval_eval.report import build
from retrieval_eval.serve.app import create_app
from retrieval_eval.serve.dashboard import Sources
from tests.unit.serve.asgi import ask

DETAILS = "details/index.html"


@pytest.mark.extra
def test_the_details_of_a_report_are_made_when_they_are_first_asked_for(tmp_path):
    page = build("demo", reports_dir=tmp_path)
    assert f'href="{DETAILS}#every-metric"' not in page.read_text(encoding="utf-8")
    app = create_app(Sources(tmp_path / "data", tmp_path, None))
    address = f"/reports/{page.parent.name}/{DETAILS}"
    answer = ask(app, address)
    assert answer.status == 200
    assert answer.body == (page.parent / DETAILS).read_bytes()
    assert f'href="{DETAILS}#every-metric"' in page.read_text(encoding="utf-8")

    (page.parent / DETAILS).unlink()
    notebook = page.with_name("run_report.ipynb")
    made_with = json.loads(notebook.read_text(encoding="utf-8"))
    del made_with["metadata"]["papermill"]  # as in a private report
    notebook.write_text(json.dumps(made_with), encoding="utf-8")
    answer = ask(app, address)
    assert answer.status == 503
    assert "--details" in answer.json["error"]["message"]
