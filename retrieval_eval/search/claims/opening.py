"""A judge by its name and options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.search.claims.judge import FORMER_NAMES, HTTP, JUDGES, RULES, Judge
from retrieval_eval.search.claims.judgement_cache import CachedJudge
from retrieval_eval.search.claims.offline import THRESHOLD, OfflineJudge
from retrieval_eval.search.retrievers.options import Options


def open_judge(name: str, options: Mapping[str, str] = {}, *, cache: Path | None = None) -> Judge:
    """Return a judge: ``rules`` (option ``threshold``), or ``http`` (see `http_judge_settings`).

    The rule-based judge is known to err (`RULES_ERRORS`); its older name is ``offline``.
    ``cache`` is the file in which an HTTP judge's verdicts are kept; None: they are not kept.

    Raises
    ------
    BadInputError
        When there is no such judge, an option is of no use, or the extra ``search`` with its HTTP
        client is not installed.
    """
    name = FORMER_NAMES.get(name, name)
    if name == RULES:
        given = Options("rules judge", options)
        given.only(("threshold",))
        return OfflineJudge(given.number("threshold", THRESHOLD, 0.01, 1.0))
    if name != HTTP:
        raise BadInputError(f"there is no judge {name!r}; there are {', '.join(JUDGES)}")
    from retrieval_eval.search.claims.http_judge import HttpJudge
    from retrieval_eval.search.claims.http_settings import http_judge_settings

    settings = http_judge_settings(options)
    try:
        judge = HttpJudge(settings)
    except ModuleNotFoundError as error:
        raise BadInputError(
            f"the http judge needs {error.name}: {install_hint('search')}"
        ) from error
    return judge if cache is None else CachedJudge(judge, cache)
