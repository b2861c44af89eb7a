"""The search demo, measured: a baseline, a run with other parameters, drafts, noise, commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace as replaced
from datetime import date
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.demo import SearchDemo, write_search_demo
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe, remove, write_bytes, write_json, write_text
from retrieval_eval.model import to_builtins
from retrieval_eval.records import Progress
from retrieval_eval.schema import now
from retrieval_eval.search.change.baseline import plan_update, write_update
from retrieval_eval.search.claims import ClaimsRequest, measure_claims
from retrieval_eval.search.claims.splitting import STOP_WORDS, sentences, stem, tokens
from retrieval_eval.search.claims.veto import contradiction
from retrieval_eval.search.decide.guard import check
from retrieval_eval.search.decide.noise import noise, repeated_runs
from retrieval_eval.search.decide.thresholds import shipped_thresholds
from retrieval_eval.search.measure import Request, measure_request, measured_run
from retrieval_eval.search.run.document import load_search_run, run_bytes
from retrieval_eval.values import DEFAULT_SEED

DEMO: Final = "demo"
"""The name of the built-in demonstration in place of a search run."""

DEMO_FOLDER: Final = "search-demo"
DEMO_OUTPUT: Final = Path("reports") / DEMO_FOLDER / "data"

CHANGED: Final[Mapping[str, str]] = {"k1": "2.0", "b": "0.2"}
"""BM25 parameters of the second run; the first has the defaults."""

ABSTAIN_AT: Final = 1.7
"""Top score below which both runs refuse: about the threshold that `search show` finds."""

REPEATS: Final = 3

JUDGE: Final = "retrieval_eval.search.demo:shared_words"
"""Who judges the drafts of the demo, without a model."""

_ENOUGH: Final = 0.6


@dataclass(frozen=True, slots=True)
class MeasuredDemo:
    """Where the parts of the measured demo lie.

    ``sources`` are the files of its report, by the names that ``load_search`` gives them.
    ``commands`` do by hand what was done: measure, judge the drafts, make that the baseline,
    measure again, repeat for the noise, guard, compare, report.
    """

    sources: Mapping[str, str]
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """The files of the demo, and the folder of what is measured."""

    demo: SearchDemo
    out: Path

    @property
    def retriever(self) -> str:
        return f"bm25:{self.demo.corpus}"

    @property
    def queue(self) -> str:
        return f"sqlite:///{self.demo.feedback}"

    @property
    def baseline(self) -> Path:
        return self.out / "baseline.json"

    @property
    def noise(self) -> Path:
        return self.out / "noise.json"


def shared_words(claim: str, block: str) -> dict[str, Any]:
    """Judge a claim by its words: whether two neighbouring sentences of a block share most of them.

    They do not hold it where `contradiction` finds other numbers or negation. For the demo, where
    drafts reuse the words of documents. It takes no paraphrase and some wrong claims, so judge
    drafts of your own with a model.

    Examples
    --------
    >>> shared_words("Copies are kept for 30 days", "They are safe. Copies are kept for 30 days.")
    {'supported': True, 'span': (15, 43)}
    """
    wanted = _content(claim)
    places = sentences(block)
    pairs = ((first[0], last[1]) for first, last in pairwise(places))
    found = [
        (len(wanted & _content(block[start:end])), start - end, (start, end))
        for start, end in (*places, *pairs)
    ]
    # The most words in the least text.
    for n_shared, _, span in sorted(found, reverse=True):
        if not n_shared or n_shared < _ENOUGH * len(wanted):
            break
        if contradiction(claim, block, span) is None:
            return {"supported": True, "span": span}
    return {"supported": False}


# The drafts cite few blocks, whose sentences every claim is compared with.
@lru_cache(maxsize=1 << 14)
def _content(text: str) -> frozenset[str]:
    return frozenset(stem(token.word) for token in tokens(text) if token.word not in STOP_WORDS)


def is_demo(run: str) -> bool:
    """Whether a name means the built-in demonstration; raises where a file has that name too."""
    if run == DEMO and probe(Path(DEMO).is_file):
        raise BadInputError(
            f"{DEMO!r} is the name of the built-in demonstration, which is simulated, and of a "
            f"file here: name the file as ./{DEMO}; `retrieval-eval demo search` is the "
            "demonstration"
        )
    return run == DEMO


def measured_demo(root: Path, *, progress: Progress | None = None) -> MeasuredDemo:
    """Write the search demo below ``root``, measure BM25 with two settings, and keep the first.

    Both runs get the claims of the demo's drafts, and the second is repeated for its noise. Runs
    of an earlier demo in ``root`` stay; its baseline, noise and collection are replaced.
    """
    place = _Place(write_search_demo(root), root / "eval")
    if place.baseline.exists():
        remove(place.baseline, root)
    first = _measured(place, "baseline", progress=progress)
    write_update(plan_update(place.baseline, _claims_file(first)))
    second = _measured(place, "changed", CHANGED, place.baseline, progress=progress)
    _write_noise(place, (place.baseline, second), progress)
    sources = {
        "run": str(_claims_file(second)),
        "baseline": str(place.baseline),
        "backlog": place.queue,
        "gold": str(place.demo.gold),
        "corpus": str(place.demo.corpus),
        "noise": str(place.noise),
    }
    return MeasuredDemo(sources, _commands(place, first, second))


PAST: Final[tuple[tuple[str, str, Mapping[str, str]], ...]] = (
    ("2026-01-14T09:00:00Z", "defaults", {}),
    ("2026-02-18T09:00:00Z", "one-term-counts", {"k1": "0.05", "b": "1.0"}),
    ("2026-03-11T09:00:00Z", "defaults-again", {}),
    ("2026-05-20T09:00:00Z", "more-labels", {}),
    ("2026-06-24T09:00:00Z", "other-parameters", CHANGED),
)
"""Runs of the history: an invented date, a label, and the options that BM25 was measured with."""

_GROWN_FROM: Final = "2026-05"
"""From this month on the whole gold set is asked, before that an invented earlier state of it."""
_N_EARLY: Final = 120


def measured_history(root: Path, *, progress: Progress | None = None) -> Path:
    """Write a folder of committed runs below ``root``, and return it.

    The numbers are measured, on the invented collection; their dates are invented, and so is the
    earlier, smaller gold set with fewer reviewed rows of the first runs. Beside the runs lie the
    guard's verdict on the second and the noise of the first quarter. An earlier history of
    the demo there is replaced.
    """
    place = _Place(write_search_demo(root), root / "history")
    early = place.out / "gold-set.jsonl"
    write_text(early, _early_rows(place.demo.gold))
    files: list[Path] = []
    first_of: dict[Path, Path] = {}
    for number, (moment, label, options) in enumerate(PAST):
        gold = place.demo.gold if moment >= _GROWN_FROM else early
        # The first run of each gold set is the baseline of those after it.
        request = replaced(_request(place, label, options, first_of.get(gold)), gold_path=gold)
        run = replace(measured_run(request), generated_at=moment)
        files.append(place.out / f"eval-report-{moment.replace('-', '').replace(':', '')}.json")
        write_bytes(files[-1], run_bytes(to_builtins(run)))
        first_of.setdefault(gold, files[-1])
        if progress is not None:
            progress(number + 1, len(PAST), label)
    request = replaced(_request(place, "", {}, None), gold_path=early)
    known = noise(repeated_runs(request, repeats=2), generated_at=PAST[0][0], seed=DEFAULT_SEED)
    write_json(place.out / "noise-2026q1.json", to_builtins(known), indent=1)
    # What a build would have committed beside the second run.
    ruling = check(
        [load_search_run(files[1])],
        [load_search_run(files[0])],
        shipped_thresholds(),
        today=date.fromisoformat(PAST[1][0][:10]),
        noise=known,
    )
    write_json(place.out / "guard-2026-02-18.json", to_builtins(ruling), indent=1)
    return place.out


def _early_rows(gold: Path) -> str:
    """Return the first rows of the gold set, every third reviewed one as it was before that."""
    lines = gold.read_text(encoding="utf-8").splitlines()[:_N_EARLY]
    for number in range(0, len(lines), 3):
        lines[number] = lines[number].replace('"source":"chair"', '"source":"bootstrap"', 1)
    return "\n".join(lines) + "\n"


def _measured(
    place: _Place,
    label: str,
    options: Mapping[str, str] | None = None,
    baseline: Path | None = None,
    *,
    progress: Progress | None,
) -> Path:
    """Measure a run, judge the drafts against it, and return the file without their claims."""
    request = _request(place, label, options or {}, baseline)
    written = measure_request(request, progress=progress).json_path
    claims = ClaimsRequest(
        run=written,
        drafts=place.demo.drafts,
        corpus=place.demo.corpus,
        gold=place.demo.gold,
        out=_claims_file(written),
        judge=JUDGE,
    )
    measure_claims(claims, progress=progress)
    return written


def _claims_file(run: Path) -> Path:
    return run.with_name(f"{run.stem}.claims.json")


def _request(
    place: _Place, label: str, options: Mapping[str, str], baseline: Path | None
) -> Request:
    return Request(
        place.demo.gold,
        place.retriever,
        options=options,
        corpus_file=place.demo.corpus,
        label=label,
        abstain_at=ABSTAIN_AT,
        baseline=baseline,
        backlog=place.queue,
        out=place.out,
        fresh=True,
    )


def _write_noise(place: _Place, change: tuple[Path, Path], progress: Progress | None) -> None:
    request = _request(place, "", CHANGED, None)
    runs = repeated_runs(request, repeats=REPEATS, progress=progress)
    before, after = map(load_search_run, change)
    found = noise(runs, generated_at=now(), seed=DEFAULT_SEED, change=(before, after))
    write_json(place.noise, to_builtins(found), indent=1)


def _commands(place: _Place, first: Path, second: Path) -> tuple[str, ...]:
    files = (
        *("--retriever", place.retriever, "--gold", str(place.demo.gold)),
        *("--corpus-file", str(place.demo.corpus)),
    )
    measure = (
        *("search", "run", *files, "--backlog", place.queue, "--out", str(place.out)),
        *("--abstain-at", f"{ABSTAIN_AT:g}"),
    )
    judge = (
        *("--drafts", str(place.demo.drafts), "--gold", str(place.demo.gold)),
        *("--corpus-file", str(place.demo.corpus), "--judge", JUDGE),
    )
    options = [word for name, value in CHANGED.items() for word in ("--option", f"{name}={value}")]
    kept = ("--baseline", str(place.baseline))
    known = ("--noise", str(place.noise))
    labels = ("--gold", str(place.demo.gold))
    run = str(_claims_file(second))
    lines = (
        (*measure, "--label", "baseline"),
        ("search", "claims", str(first), *judge),
        ("search", "baseline", "--update", str(_claims_file(first)), *kept),
        (*measure, *options, "--label", "changed", *kept),
        ("search", "claims", str(second), *judge),
        (
            *("search", "noise", str(second), "--repeats", f"{REPEATS}"),
            *("--gold", str(place.demo.gold), "--corpus-file", str(place.demo.corpus)),
            *("--change", str(place.baseline), str(second), "--out", known[1]),
        ),
        ("search", "guard", run, *kept, *known),
        ("search", "diff", str(place.baseline), run),
        ("report", str(place.baseline), run, *known),
        ("report", run, *kept, *labels, *known),
    )
    return tuple(shlex.join(("retrieval-eval", *words)) for words in lines)
