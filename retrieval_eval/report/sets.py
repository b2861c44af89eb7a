"""Many reports by one command, from a file that holds their parameters.

The file lists sets of parameters, each those of a notebook, and what they have in common::

    defaults:
      runs_root: /data/runs
      benchmarks_root: /data/benchmarks
    reports:
      - run_id: nightly
      - notebook: compare_runs
        run_id: nightly, weekly
      - notebook: search_report
        run: data/eval/baseline.json
        pdf: true

``notebook`` is ``run_report`` by default. ``renderer`` goes before that of the command, and so does
``reports_dir``, which keeps two reports of one run apart. The ``params.yml`` that lies
beside every report is a file of one set.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.io.user_files import read_user_text
from retrieval_eval.io.yaml_text import read_yaml
from retrieval_eval.records import Progress, Renderer
from retrieval_eval.report import assets, parameters
from retrieval_eval.report.building import build, build_diff, build_search, build_trial
from retrieval_eval.report.history import build_history

_PAGE: Final[Mapping[str, Any]] = {
    **dict(zip(parameters.OF_PAGE, ("run_report", "auto", False), strict=True)),
    "reports_dir": "",
}
"""What a set says about its page, with defaults; the rest are parameters of the notebook."""


@dataclass(frozen=True, slots=True)
class ParameterSet:
    """One report of a file: its notebook, the parameters given, and the options of its page."""

    notebook: str
    values: Mapping[str, Any]
    page: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call it: the notebook and what it is about."""
        subject = next(iter(self.values.values()), "")
        return f"{self.notebook} {visible(subject, 60)}".rstrip()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one report; ``error`` says why there is none."""

    name: str
    status: Literal["made", "unchanged", "failed"]
    page: Path | None = None
    error: Exception | None = None


def read_sets(path: Path) -> list[ParameterSet]:
    """Return the parameter sets of a file, each checked against its notebook.

    Raises
    ------
    BadInputError
        Naming file, report and key, and the closest known names.
    """
    document = read_yaml(read_user_text(path), str(path))
    if not isinstance(document, dict):
        raise BadInputError(f"{path}: expected 'reports' with a list of parameter sets")
    if "reports" not in document:
        return [_checked(document, str(path))]
    _refuse_unknown(document, ("defaults", "reports"), str(path))
    defaults = document.get("defaults") or {}
    entries = document["reports"]
    if not isinstance(defaults, dict):
        raise BadInputError(f"{path}: 'defaults' is a mapping of parameters")
    if not isinstance(entries, list) or not entries:
        raise BadInputError(f"{path}: 'reports' is a list of one or more parameter sets")
    found = []
    for number, entry in enumerate(entries, start=1):
        place = f"{path}: report {number}"
        if not isinstance(entry, dict):
            raise BadInputError(f"{place} is not a mapping of parameters")
        known = {*_PAGE, *_declared({**defaults, **entry}, place)}
        common = {name: value for name, value in defaults.items() if name in known}
        found.append(_checked({**common, **entry}, place))
    known = {*_PAGE, *(name for each in found for name in _parameters(each.notebook))}
    _refuse_unknown(defaults, sorted(known), f"{path}: defaults")
    return found


def _checked(given: Mapping[str, Any], place: str) -> ParameterSet:
    known = _declared(given, place)
    values = {name: value for name, value in given.items() if name not in _PAGE}
    page = {name: value for name, value in given.items() if name in _PAGE}
    _refuse_unknown(values, [*known, *_PAGE], place)
    try:
        parameters.check(values, known, text_hint=" (text is written in quotes)")
        about = {name: parameters.Parameter(name, default, "") for name, default in _PAGE.items()}
        parameters.check(page, about)
    except BadInputError as error:
        raise BadInputError(f"{place}: {error}") from error
    if page.get("renderer", "auto") not in get_args(Renderer):
        raise BadInputError(f"{place}: 'renderer' is one of {', '.join(get_args(Renderer))}")
    first = next(iter(known))
    if not values.get(first):
        raise BadInputError(f"{place}: '{first}' is missing, which says what the report is about")
    ordered = {name: values[name] for name in known if name in values}
    return ParameterSet(str(given.get("notebook", _PAGE["notebook"])), ordered, page)


def _declared(given: Mapping[str, Any], place: str) -> Mapping[str, parameters.Parameter]:
    notebook = given.get("notebook", _PAGE["notebook"])
    if not isinstance(notebook, str) or notebook not in NOTEBOOKS:
        close = difflib.get_close_matches(str(notebook), NOTEBOOKS, n=2, cutoff=0.4)
        names = " or ".join(close) or ", ".join(NOTEBOOKS)
        said = visible(notebook, 60)
        raise BadInputError(f"{place}: there is no notebook '{said}'; choose {names}")
    return _parameters(notebook)


def _parameters(notebook: str) -> dict[str, parameters.Parameter]:
    return parameters.of_notebook(assets.notebook(notebook))


def _refuse_unknown(given: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=2, cutoff=0.4) or known
            said = visible(name, 60)
            raise BadInputError(
                f"{place}: unknown key '{said}'; did you mean {' or '.join(close)}?"
            )


def build_sets(
    sets: Sequence[ParameterSet],
    *,
    reports_dir: Path,
    renderer: Renderer = "auto",
    pdf: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Iterator[Outcome]:
    """Make the reports one after another; yield what became of each as soon as it is known.

    A page that is there and was made from the same parameters, inputs and code is kept, so that
    work that was interrupted goes on where it stopped. An error ends its report only. Two sets
    whose reports have one folder are an error of the second.

    Parameters
    ----------
    sets
        From :func:`read_sets`.
    reports_dir, renderer, pdf
        For sets that say nothing else.
    jobs, progress
        As for :func:`retrieval_eval.report.build`; progress counts reports.
    """
    made: dict[Path, str] = {}
    for number, each in enumerate(sets):
        kept: list[Path] = []

        def keep(
            page: Path,
            is_current: bool,
            name: str = each.name,
            kept: list[Path] = kept,
        ) -> bool:
            if page in made:
                raise BadInputError(
                    f"{page} is the page of {made[page]} too: give one of them a reports_dir"
                )
            made[page] = name
            if is_current:
                kept.append(page)
            return is_current

        def step(_: int, __: int, name: str, number: int = number, of: str = each.name) -> None:
            if progress is not None:
                progress(number, len(sets), f"{of}: {name}")

        step(0, 0, "start")
        try:
            page = NOTEBOOKS[each.notebook](
                each.notebook,
                dict(each.values),
                reports_dir=Path(each.page.get("reports_dir") or reports_dir),
                renderer=each.page.get("renderer", renderer),
                pdf=each.page.get("pdf", False) or pdf,
                jobs=jobs,
                progress=step if progress is not None else None,
                keep=keep,
            )
        except Exception as error:  # noqa: BLE001  one report must not end the others
            yield Outcome(each.name, "failed", error=error)
        else:
            yield Outcome(each.name, "unchanged" if kept else "made", page)


def _runs(notebook: Any, values: dict[str, Any], **more: Any) -> Path:
    return build(values.pop("run_id"), notebook=notebook, **more, **values)


def _trial(_: str, values: dict[str, Any], **more: Any) -> Path:
    return build_trial(values.pop("run_id"), values.pop("trial", ""), **more, **values)


def _search(_: str, values: dict[str, Any], *, jobs: int, **more: Any) -> Path:  # noqa: ARG001
    values.pop("pages", None)  # they are always written
    return build_search(values.pop("run"), **more, **values)


def _diff(_: str, values: dict[str, Any], *, jobs: int, **more: Any) -> Path:  # noqa: ARG001
    values.pop("pages", None)
    return build_diff(values.pop("a"), values.pop("b", ""), **more, **values)


def _history(_: str, values: dict[str, Any], *, jobs: int, **more: Any) -> Path:  # noqa: ARG001
    return build_history(**more, **values)


NOTEBOOKS: Final[Mapping[str, Callable[..., Path]]] = {
    "run_report": _runs,
    "compare_runs": _runs,
    "trial_report": _trial,
    "search_report": _search,
    "search_diff": _diff,
    "history": _history,
}
