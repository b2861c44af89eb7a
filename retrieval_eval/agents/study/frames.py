"""Records of a study as rows of tidy frames, and their display in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import structs

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.gate import RULES
from retrieval_eval.agents.study.stated import ALPHA
from retrieval_eval.agents.study.verdict import apparent
from retrieval_eval.escape import html_text
from retrieval_eval.model.design import ArmDesign
from retrieval_eval.model.impact import (
    Association,
    CalibrationBin,
    ComparisonDocument,
    DifferenceAssociation,
    Discrimination,
    FirstHitCurve,
    Flip,
    GateRule,
    MatchedPair,
    PairedEstimate,
    PairedStatistics,
    PairSlice,
    PairValues,
    RewardTier,
    Threat,
)
from retrieval_eval.registry import Registry
from retrieval_eval.values import REASONS

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.model import Record

Row = dict[str, Any]

DISPLAYS: Final = Registry[Callable[[Any], dict[str, str]]](
    "retrieval_eval.displays", "display", ("retrieval_eval.report.displays",)
)
"""How a result shows itself in a notebook: as a bundle of its content by media type."""

_DTYPES = {str: "object", bool: "boolean", int: "Int64", float: "float64"}
"""Text is of dtype object, because some of it cannot be encoded (lone surrogates)."""


def dtypes_of(*parts: type[Record] | str) -> dict[str, str]:
    """Return the columns of structs, and of text by their names, with the types of their values.

    A name may carry another type, as ``n:Int64``.

    Examples
    --------
    >>> from retrieval_eval.model.impact import PairValues
    >>> dtypes_of("metric", PairValues)["metric"], dtypes_of(PairValues)["difference"]
    ('object', 'float64')
    """
    columns = {}
    for part in parts:
        if isinstance(part, str):
            column, _, kind = part.partition(":")
            columns[column] = kind or "object"
            continue
        hints = get_type_hints(part)
        for entry in structs.fields(part):
            if (dtype := _dtype(hints[entry.name])) is not None:
                columns[entry.name] = dtype
    return columns


def _dtype(hint: Any) -> str | None:
    """Return the type of a column of scalars, or None for what is none."""
    if get_origin(hint) is Literal:
        return "object"
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    if len(kinds) > 1 or get_origin(hint) in {dict, tuple}:
        return None
    return _dtype(kinds[0]) if kinds else _DTYPES.get(hint)


def frame_of(name: str, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the frame of a comparison that :data:`DTYPES` declares by this name."""
    import pandas as pd

    rows = list(rows)
    frame = pd.DataFrame(
        {
            column: pd.Series([row.get(column) for row in rows], dtype=dtype)
            for column, dtype in dtypes_of(*DTYPES[name]).items()
        }
    )
    return named(frame, f"study.{name}")


def named(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Note in a frame of this package which one it is, and whether it had no row to begin with.

    Rows of it that are chosen later keep the note. Tables are headed and printed by it.
    """
    frame.attrs |= {"frame": name, "was_empty": not len(frame)}
    return frame


def as_made(frame: pd.DataFrame) -> dict[str, Any]:
    """Return what tells later whether a frame is as it was made, for its ``attrs``."""
    return {"made": _digests(frame)}


def is_as_made(frame: pd.DataFrame) -> bool:
    """Whether a frame has the rows that it was made with, in their order; columns may be fewer."""
    made, now = frame.attrs.get("made", {}), _digests(frame)
    return bool(made.keys() & now.keys()) and all(
        now[name] == digest for name, digest in made.items() if name in now
    )


def _digests(frame: pd.DataFrame) -> dict[str, str]:
    """Return the digest of every column by its name, and of their number of rows without any."""
    found = {
        repr(name): sha256(repr(frame.iloc[:, i].tolist()).encode("utf-8", "replace")).hexdigest()
        for i, name in enumerate(frame.columns)
    }
    return found or {"": str(len(frame))}


def arms_of(record: ComparisonDocument) -> Row:
    """Return the columns that name the two configurations."""
    return {
        "baseline_config": record.baseline_config,
        "comparison_config": record.comparison_config,
    }


ARMS: Final = ("baseline_config", "comparison_config")


def pair_rows(record: ComparisonDocument) -> Iterator[Row]:
    """Yield one row a matched task and metric."""
    for pair in record.pairs:
        task = arms_of(record) | structs.asdict(pair)
        for metric, sides in pair.metrics.items():
            yield task | {"metric": metric} | structs.asdict(sides)


def estimate_rows(record: ComparisonDocument) -> Iterator[Row]:
    """Yield one row a metric."""
    for metric, found in record.metrics.items():
        is_lead = metric == record.verdict_metric
        named = {
            "metric": metric,
            "verdict": record.verdict if is_lead else None,
            "side": side_of(record, found),
            "is_verdict_metric": is_lead,
        }
        yield arms_of(record) | named | structs.asdict(found)


def side_of(record: ComparisonDocument, found: PairedEstimate) -> str | None:
    """Return on which side a difference clearly is, interval and test agreeing.

    ``better``, ``worse`` or ``unclear``; None where no difference may be read.
    """
    lead = record.metrics.get(record.verdict_metric)
    if record.gate.failed or lead is None or found.estimate is None:
        return None
    if record.verdict == "too_few_pairs":
        return None
    said = apparent(found, ALPHA if record.design is None else record.design.alpha)
    return said if said in ("better", "worse") else "unclear"


def gate_rows(record: ComparisonDocument) -> Iterator[Row]:
    """Yield one row a rule of the validity gate."""
    for rule in record.gate.rules:
        trials = [f"{t.config_name} / {t.task_name} / {t.trial_name or '?'}" for t in rule.trials]
        named = {
            "rule": rule.name,
            "title": rule_title(rule.name),
            "outcome": "failed" if rule.failed else "passed",
            "trials": trials,
        }
        yield arms_of(record) | structs.asdict(rule) | named


def found_rows(record: ComparisonDocument) -> Iterator[Row]:
    """Yield one row a rule of the gate and trial that it found."""
    for rule in record.gate.rules:
        for trial in rule.trials:
            named = {"rule": rule.name, "title": rule_title(rule.name)}
            yield arms_of(record) | named | structs.asdict(trial)


def ledger_rows(record: ComparisonDocument) -> Iterator[Row]:
    """Yield one row an arm and status of its trials; removed, unmatched and used add up to all."""
    sides = dict(
        zip(
            arms_of(record).values(),
            (record.ledger.baseline, record.ledger.comparison),
            strict=True,
        )
    )
    # By status first: a table of both arms then reads downwards from all trials to those used.
    for status, start in _STATUSES.items():
        for config, ledger in sides.items():
            arm = arms_of(record) | {"arm": config, "status": status}
            if status in ("all", "used"):
                n = ledger.trials if status == "all" else ledger.used
                yield arm | {"n": n, "label": start}
            else:
                for reason, n in getattr(ledger, status).items():
                    yield arm | {"reason": reason, "n": n, "label": start + reason_label(reason)}


_STATUSES: Final[dict[str, str]] = {
    "all": "All trials",
    "removed": "− removed: ",
    "unmatched": "− not matched: ",
    "used": "= used in pairs",
    "outcomes_only": "of these for outcomes only: ",
}
"""Status of a trial to the start of its printed name."""


def view_rows(record: ComparisonDocument) -> Iterator[Row]:
    """Yield one row a view and metric."""
    flips = {(flip.metric, flip.view): str(flip.kind) for flip in record.flips}
    for name, view in record.views.items():
        for metric, found in view.items():
            if not isinstance(found, str):
                named = {
                    "view": name,
                    "metric": metric,
                    "verdict": view.get("verdict"),
                    "flip": flips.get((metric, name)),
                }
                yield arms_of(record) | named | structs.asdict(found)


_STATES: Final[dict[str, str]] = {
    "discriminates": "can discriminate",
    "constant": "cannot discriminate: constant",
    "saturated": "cannot discriminate: saturated",
    "redundant": "cannot discriminate: redundant",
    "not_computable": "not computable",
}


def discrimination_rows(record: ComparisonDocument) -> Iterator[Row]:
    """Yield one row a metric: whether it can tell the configurations apart."""
    for found in record.discrimination:
        like = BY_NAME[found.with_].title if found.with_ and found.with_ in BY_NAME else ""
        title = BY_NAME[found.metric].title if found.metric in BY_NAME else found.metric
        label = _STATES.get(found.status, found.status) + (f" with {like}" if like else "")
        yield arms_of(record) | structs.asdict(found) | {"title": title, "label": label}


_DESIGN: Final[dict[str, str]] = {
    "unit": "One observation",
    "treatment": "What is compared",
    "cluster": "Tasks that count together",
    "missing": "A missing value",
    "rewards": "Rewards",
    "reward_scale": "Scale of rewards",
    "headline": "Metric of the verdict",
    "margin": "Margin of equivalence",
    "alpha": "Level of the tests",
    "family": "Pairs of configurations",
    "is_sequential": "Read while trials are added",
}
"""Parts of a design, and how they are printed."""

_MEANT: Final[dict[str, str]] = {
    "repository": "share a repository",
    "suite": "share a suite",
    "unknown": "is unknown, so bounds are given",
    "failure": "counts as 0",
    "none": "no trial was scored",
    "stated_pair": "this pair was chosen in advance",
    "all_pairs": "every pair is compared",
}
"""Values of a design whose name does not tell."""


def design_rows(record: ComparisonDocument) -> Iterator[Row]:
    """Yield one row a part of the design: what was meant, and where that comes from."""
    design = record.design
    if design is None:
        return
    for side, one in zip(("baseline", "comparison"), design.arms, strict=True):
        yield arms_of(record) | {
            "field": side,
            "label": f"{side.capitalize()}: {one.config_name}",
            "value": meant_of(one),
            "source": design.sources.get(side),
        }
    for name, label in _DESIGN.items():
        value: Any = getattr(design, name)
        yield arms_of(record) | {
            "field": name,
            "label": label,
            "value": _value_of(name, value),
            "source": design.sources.get(name),
        }


def meant_of(one: ArmDesign) -> str:
    """Return which tools an arm is meant to use and which not.

    Examples
    --------
    >>> meant_of(ArmDesign(config_name="new", must_use=("mcp",)))
    'must use MCP'
    """
    uses = (
        ("must use", one.must_use),
        ("may use", one.may_use),
        ("must not use", one.must_not_use),
    )
    return "; ".join(
        f"{verb} {', '.join('MCP' if tool == 'mcp' else tool for tool in tools)}"
        for verb, tools in uses
        if tools
    )


def _value_of(name: str, value: Any) -> str | None:
    if name == "reward_scale":
        return "; ".join(
            f"{suite}: {'unknown' if ends is None else f'{ends[0]:g} to {ends[1]:g}'}"
            for suite, ends in value.items()
        )
    if name == "headline":
        return BY_NAME[value].title if value in BY_NAME else str(value)
    if name == "cluster" and value == "task":
        return "none: each task counts by itself"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else _MEANT.get(str(value), str(value))


def member_rows(record: ComparisonDocument, member: str) -> Iterator[Row]:
    """Yield one row an entry of a list of the comparison, such as ``slices``."""
    for entry in getattr(record, member):
        yield arms_of(record) | {"metric": record.verdict_metric} | structs.asdict(entry)


def rule_title(rule: str) -> str:
    """Return the printed name of a rule of the gate; an unknown one as it is named.

    Examples
    --------
    >>> rule_title("degraded_trace"), rule_title("unheard_of")
    ('Degraded trace', 'Unheard of')
    """
    return RULES[rule].title if rule in RULES else rule.replace("_", " ").capitalize()


def reason_label(reason: str) -> str:
    """Return a reason for which a trial left as it stands inside a sentence.

    Examples
    --------
    >>> reason_label("model_differs"), reason_label("no valid trial in the other arm")
    ('another model', 'no valid trial in the other arm')
    """
    text = rule_title(reason) if reason in RULES else REASONS.get(reason, reason)
    # An abbreviation keeps its capitals.
    text = text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"
    return text.replace("_", " ")


_SIDES: Final = ("baseline:float64", "comparison:float64", "difference:float64")
_ESTIMATES: Final = (
    *(*ARMS, "metric", "verdict", "side"),
    *("is_verdict_metric:boolean", PairedStatistics),
)

DTYPES: Final[dict[str, tuple[type[Record] | str, ...]]] = {
    "pairs": (*ARMS, "benchmark", "task_name", "metric", PairValues, MatchedPair),
    "estimates": _ESTIMATES,
    "gate": (*ARMS, "rule", "title", "outcome", GateRule, "trials"),
    "threats": (*ARMS, "title", Threat),
    "design": (*ARMS, "field", "label", "value", "source"),
    "found": (*ARMS, "rule", "title", "config_name", "task_name", "trial_name"),
    "ledger": (*ARMS, "arm", "status", "reason", "label", "n:Int64"),
    "views": (*ARMS, "view", "metric", "verdict", "flip", PairedEstimate),
    "flips": (*ARMS, Flip),
    "discrimination": (*ARMS, Discrimination, "title", "label"),
    "slices": (*ARMS, "metric", PairSlice),
    "suites": (*ARMS, "metric", "benchmark", *_SIDES, "n_pairs:Int64"),
    "difference_associations": (*ARMS, "label", DifferenceAssociation),
    "associations": ("label", Association),
    "tasks": ("benchmark", "task_name", "status", "n_trials:Int64"),
    "every_pair": (*_ESTIMATES, "p_over_pairs:float64", "failed"),
    "first_hits": (FirstHitCurve,),
    "times": ("config_name", "unit", "time:float64"),
    "tiers": (RewardTier,),
    "calibration": (CalibrationBin,),
}
"""The columns of every frame of a comparison: structs, and names (with a type if not of text)."""


def notebook_html(sentences: Sequence[str], frame: pd.DataFrame | None = None) -> str:
    """Return the HTML of a result in a notebook: its sentences, and a table where there is one."""
    paragraphs = "".join(f"<p>{html_text(sentence)}</p>" for sentence in sentences)
    return paragraphs if frame is None else f"{paragraphs}\n{frame.to_html(na_rep='—')}"
