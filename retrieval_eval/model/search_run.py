"""Search run."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from retrieval_eval.model.common import (
    EMPTY_LIST,
    EMPTY_MAP,
    NULL,
    Count,
    GeneratedAt,
    NonNegative,
    Positive,
    Record,
    SecondSchemaVersion,
    Share,
    about,
    as_second,
)


class CorpusFacts(Record, frozen=True, kw_only=True):
    """One corpus."""

    corpus: Annotated[str, about("Name")]
    n_documents: Annotated[Count | None, about("Documents, where known")]
    fingerprint: Annotated[str | None, about("Digest of the documents, where known")]


class GoldSetFacts(Record, frozen=True, kw_only=True):
    """The whole gold set, whatever part of it was asked."""

    name: Annotated[str, about("File name without ending")]
    fingerprint: Annotated[str, about("Digest of all that can move a measure")]
    n_queries: Annotated[Count, about("Queries")]
    n_labelled_pairs: Annotated[
        Count, about("Judged documents over all queries, those of grade 0 included")
    ]
    n_answerable: Annotated[Count, about("Queries with a document of grade 1 or more")]
    n_unanswerable: Annotated[Count, about("Queries that no document answers")]
    n_unlabelled: Annotated[Count, about("The rest: nothing relevant is known yet")]
    sources: Annotated[dict[str, Count], about("Queries by source")]
    is_provisional: Annotated[bool, about("No row was reviewed by a person: bootstrap only")]
    n_simulated: Annotated[
        Count | None,
        about(
            "Queries whose row marks them as simulated, that is invented; "
            "absent where there are none"
        ),
    ] = None


class PinnedQueries(Record, frozen=True, kw_only=True):
    """A list of queries, which alone were asked."""

    name: Annotated[str, about("Its file name")]
    n_queries: Annotated[Positive, about("Queries on it", unit="queries")]
    fingerprint: Annotated[str, about("Digest of what these queries ask and accept")]


class RetrieverFacts(Record, frozen=True, kw_only=True):
    """The retriever."""

    spec: Annotated[str, about("The retriever as given on the command line, without secrets")]
    name: Annotated[str, about("The name it reports")]
    reranker: Annotated[str | None, about("Its reranker")]
    uses_rerank: Annotated[bool, about("False: the reranker was left out")]
    floor: Annotated[float | None, about("Score below which documents were dropped")]
    options: Annotated[dict[str, str], about("Options given")]
    facts: Annotated[dict[str, Any], about("Everything it reports about itself")]


class RunSettings(Record, frozen=True, kw_only=True):
    """How it was scored."""

    k_values: Annotated[tuple[Positive, ...], about("Cut-offs requested")]
    depth: Annotated[Positive, about("Documents requested for each query")]
    convention: Annotated[str, about("Definition of the measures")]
    empty_ranking: Annotated[
        Literal["zero"], about("An answerable query without documents scores 0")
    ]
    measures: Annotated[tuple[str, ...], about("Measures, in reading order")]
    seed: Annotated[Count, about("Seed of resampling")]
    n_resamples: Annotated[Positive, about("Number of resamples")]
    confidence: Annotated[Annotated[float, Meta(gt=0, lt=1)], about("Coverage of the intervals")]
    without_own: Annotated[
        bool,
        about(
            "Whether the document that has the id of the query was left out of its ranking; absent"
            " where it was not"
        ),
    ] = False


class RunHeader(Record, frozen=True, kw_only=True):
    """The measured system, gold set and settings."""

    corpora: Annotated[tuple[CorpusFacts, ...], about("The corpora searched")]
    ids_checked: Annotated[
        bool | None,
        about(
            "Whether the documents of the corpora were known, so that an answer with another "
            "one failed. Absent in runs of earlier versions"
        ),
    ] = None
    gold_set: Annotated[GoldSetFacts, about("The whole gold set, whatever part of it was asked")]
    n_other_queries: Annotated[
        Count | None,
        about(
            "Queries of a ranked file that the gold set lacks, which were left out; absent for"
            " other retrievers",
            unit="queries",
        ),
    ] = None
    pinned: Annotated[
        PinnedQueries | None,
        about("The list of queries that was asked; absent where it was the whole gold set"),
    ] = None
    retriever: Annotated[RetrieverFacts, about("The retriever")]
    settings: Annotated[RunSettings, about("How it was scored")]
    versions: Annotated[dict[str, str], about("Versions of what computed the numbers")]
    machine: Annotated[
        str | None,
        about(
            "The kind of machine that the retriever was asked from: system, processor and how many;"
            " absent for a ranked file, and in runs of earlier versions"
        ),
    ] = None


class RunStatus(Record, frozen=True, kw_only=True):
    """The status of the queries."""

    n_queries: Annotated[Count, about("Queries asked: n_ok + n_failed")]
    n_ok: Annotated[Count, about("Answered")]
    n_failed: Annotated[Count, about("Failed")]
    n_empty: Annotated[Count, about("Answered without any document, refused ones included")]
    n_refused: Annotated[Count, about("Answered, and everything lay below the floor")]
    n_with_problems: Annotated[Count, about("Answered with something wrong")]
    problems: Annotated[dict[str, Positive], about("Queries by problem code")]
    has_verdict: Annotated[bool, about("Whether the means may be used to decide")]
    reasons: Annotated[tuple[str, ...], about("Why not, in sentences")]


class TrustSample(Record, frozen=True, kw_only=True):
    """The queries that were asked a second time."""

    n_wanted: Annotated[Count, about("Queries wanted; fewer where fewer were answered")]
    seed: Annotated[Count, about("Seed of the choice")]
    rule: Annotated[str, about("How they were chosen, in a sentence")]
    is_reopened: Annotated[
        bool,
        about(
            "Whether the retriever was opened anew before, so that what it remembers of the first"
            " answer is no second one"
        ),
    ] = False


class Trust(Record, frozen=True, kw_only=True):
    """What was found out about the answers before they were scored."""

    ids_checked: Annotated[
        bool, about("Whether the documents were known, so that an answer with another one failed")
    ]
    n_failed: Annotated[Count, about("Queries without an answer that can be scored")]
    failed_share: Annotated[Share, about("Their share of the queries asked", unit="0–1")]
    max_failed_share: Annotated[
        Share, about("Above this share the run has no verdict; stated before the run", unit="0–1")
    ]
    problems: Annotated[dict[str, Positive], about("Failed queries by code", unit="queries")]
    n_asked_twice: Annotated[Count, about("Queries asked a second time, after all others")]
    n_same_answer: Annotated[
        Count,
        about("Of them answered with the same documents in the same order, refused ones alike"),
    ]
    n_same_scores: Annotated[Count, about("Of these, those with exactly equal scores")]
    varied_high: Annotated[
        Share | None,
        about(
            "Upper end of the interval (Clopper–Pearson) of the share of queries that are"
            " answered differently; null when none was asked twice",
            unit="0–1",
        ),
    ]
    is_declared: Annotated[bool, about("Whether the retriever says that it is deterministic")]
    determinism: Annotated[
        Literal["declared", "measured", "not_measured"],
        about(
            "declared: the retriever says that equal questions get equal answers, and no second"
            " answer contradicts it. measured: by the second answers alone"
        ),
    ]
    is_deterministic: Annotated[
        bool | None,
        about("Whether equal questions get the same documents in the same order; null: not known"),
    ]
    sample: Annotated[
        TrustSample | None, about("Which queries were asked twice; null when none was meant to be")
    ]


class MetricMean(Record, frozen=True, kw_only=True):
    """The mean of one measure over queries, with all that qualifies it."""

    value: Annotated[
        float | None, about("The mean, between 0 and 1; null when not computable", unit="0–1")
    ]
    n: Annotated[Count, about("Queries the mean rests on", unit="queries")]
    computable: Annotated[bool, about("Whether there is a value")]
    reason: Annotated[str | None, about("Reason code when there is none")]
    n_not_computable: Annotated[Count, about("Queries without a value", unit="queries")]
    not_computable: Annotated[dict[str, Positive], about("Those queries by reason code")]
    ci_low: Annotated[
        float | None,
        about(
            "Lower end of the bootstrap interval of the mean; queries are the units. Null when"
            " there are too few or they are all equal",
            unit="0–1",
        ),
    ]
    ci_high: Annotated[float | None, about("Upper end of that interval", unit="0–1")]
    tie_low: Annotated[
        float | None,
        about("Smallest mean over all orders of documents with equal scores", unit="0–1"),
    ]
    tie_high: Annotated[float | None, about("Largest such mean", unit="0–1")]
    unjudged_low: Annotated[
        float | None,
        about(
            "Mean when no unjudged document is relevant: the value itself. Null for Judged, "
            "and without a value",
            unit="0–1",
        ),
    ]
    unjudged_high: Annotated[
        float | None,
        about(
            "Mean of the largest value of each query over all choices of unjudged documents as"
            " relevant (grade 1)",
            unit="0–1",
        ),
    ]
    failed_low: Annotated[
        float | None,
        about(
            "Mean if every failed query that can be scored had scored 0; absent where none failed",
            unit="0–1",
        ),
    ] = None
    failed_high: Annotated[
        float | None, about("The same, had every one of them scored 1", unit="0–1")
    ] = None


class AtRandom(Record, frozen=True, kw_only=True):
    """What random documents would get of one metric, and by how much the run is better."""

    value: Annotated[float | None, about("Expected mean; null when not computable", unit="0–1")]
    n: Annotated[Count, about("Queries it rests on", unit="queries")]
    computable: Annotated[bool, about("Whether there is a value")]
    reason: Annotated[str | None, about("Reason code when there is none")]
    difference: Annotated[
        float | None, about("Mean of the run over the same queries, minus it", unit="0–1")
    ]
    difference_low: Annotated[
        float | None, about("Lower end of the paired interval of that (Student's t)", unit="0–1")
    ]
    difference_high: Annotated[float | None, about("Upper end", unit="0–1")]
    is_beaten: Annotated[
        bool | None, about("Whether that interval lies above 0; null: it is not known")
    ]


class RandomDocuments(Record, frozen=True, kw_only=True):
    """What documents of the corpus in random order would get on the same queries and labels."""

    n_queries: Annotated[Count, about("Queries answered that have a relevant document")]
    metrics: Annotated[dict[str, AtRandom], about("By metric, those of judged shares apart")]


class RunSlice(Record, frozen=True, kw_only=True):
    """The means of some of the queries."""

    n_queries: Annotated[
        Count, about("Queries of the slice, those without values included", unit="queries")
    ]
    metrics: dict[str, MetricMean]


class RunSlices(Record, frozen=True, kw_only=True):
    """Means over parts of the queries."""

    corpus: Annotated[dict[str, RunSlice], about("By corpus")]
    area: Annotated[dict[str, RunSlice], about("By area")]
    origin: Annotated[dict[str, RunSlice], about("By origin")]
    source: Annotated[dict[str, RunSlice], about("By source")]


class RankedDocument(Record, frozen=True, kw_only=True, gc=False):
    """One document."""

    doc: Annotated[str, about("Document id")]
    score: Annotated[float, about("Its score", unit="of the retriever")]
    grade: Annotated[int | None, about("Its grade; null when it was not judged", unit="grade")]


class QueryResult(Record, frozen=True, kw_only=True):
    """One query."""

    id: Annotated[str, about("Query id of the gold set")]
    query: Annotated[str, about("What was asked")]
    corpus: Annotated[str, about("Where")]
    area: Annotated[str | None, about("Area of the query")]
    origin: Annotated[str | None, about("replayed, extracted or adversarial")]
    source: Annotated[
        str, about("bootstrap (a machine's row) or chair (a row reviewed by a person)")
    ]
    answerable: Annotated[
        bool | None,
        about("False: no document answers it. Null: not stated, and no relevant document is known"),
    ]
    status: Annotated[Literal["ok", "failed"], about("failed: the retriever gave no usable answer")]
    error: Annotated[str | None, about("How it failed, in a sentence")]
    failure: Annotated[
        str | None,
        about("Why it failed, by code; absent where it did not", unit="code"),
    ] = None
    seconds: Annotated[
        NonNegative | None,
        about(
            "Wall time until the answer was there, retries included. Null in runs of earlier"
            " versions, in a baseline, and where several queries were asked with one request",
            unit="seconds",
        ),
    ] = NULL
    second_answer: Annotated[
        Literal["same", "other_scores", "other_answer", "failed"] | None,
        about(
            "What came back when it was asked again: the same documents in the same order with"
            " the same scores, or with other scores, something else, or no answer. Null when it"
            " was asked once",
            unit="code",
        ),
    ] = NULL
    is_refused: Annotated[bool, about("Documents were found and all lay below the floor")]
    problems: Annotated[
        tuple[str, ...], about("What was wrong with the answer, by code", unit="codes")
    ]
    n_retrieved: Annotated[Count, about("Documents of the ranking", unit="documents")]
    ranking: Annotated[
        tuple[RankedDocument, ...], about("By score, ties by document id, both descending")
    ]
    metrics: Annotated[
        dict[str, float | None],
        about("Value of each measure; null when not computable", unit="0–1"),
    ]
    reasons: Annotated[dict[str, str], about("Reason code of each measure that is not computable")]


class RefusalRate(Record, frozen=True, kw_only=True):
    """Share of unanswerable queries refused. Wilson interval."""

    value: Annotated[float | None, about("The value; null when not computable")]
    n: Annotated[Count, about("Queries it rests on")]
    computable: Annotated[bool, about("Whether there is a value")]
    reason: Annotated[str | None, about("Reason code when there is none")]
    ci_low: Annotated[float | None, about("Lower end of its interval")]
    ci_high: Annotated[float | None, about("Upper end")]
    n_refused: Annotated[Count | None, about("Of them refused")]


class AreaUnderCurve(Record, frozen=True, kw_only=True):
    """Area under the ROC curve of the top scores.

    How often an answerable query outscores an unanswerable one.
    """

    value: Annotated[float | None, about("The value; null when not computable")]
    n: Annotated[Count, about("Queries it rests on")]
    computable: Annotated[bool, about("Whether there is a value")]
    reason: Annotated[str | None, about("Reason code when there is none")]
    ci_low: Annotated[float | None, about("Lower end of its interval")]
    ci_high: Annotated[float | None, about("Upper end")]
    interval: Annotated[
        Literal["delong_newcombe"],
        about("Its interval: DeLong's on the logit scale, nowhere narrower than Newcombe's fifth"),
    ]


class RocPoint(Record, frozen=True, kw_only=True):
    """Refusing below one distinct top score."""

    threshold: Annotated[
        float | None,
        about("Top score; null at an end that no score reaches", unit="of the retriever"),
    ]
    true_positive_rate: Annotated[float, about("Share of unanswerable queries refused", unit="0–1")]
    false_refusal_rate: Annotated[float, about("Share of answerable queries refused", unit="0–1")]


class OperatingPoint(Record, frozen=True, kw_only=True):
    """The decisions of this run."""

    true_positive_rate: Annotated[float | None, about("Share of unanswerable queries refused")]
    false_refusal_rate: Annotated[float | None, about("Share of answerable queries refused")]
    passes: Annotated[
        bool | None,
        about("Whether both sides of the gate hold; null when a rate is not computable"),
    ]


class Controls(Record, frozen=True, kw_only=True):
    """Controls that need no retriever; both must fail the gate."""

    always_answer: Annotated[OperatingPoint, about("Refuses nothing")]
    always_refuse: Annotated[OperatingPoint, about("Refuses everything")]


class RefusalLimits(Record, frozen=True, kw_only=True):
    """Both sides must hold at once."""

    min_true_positive_rate: Annotated[float, about("At least")]
    max_false_refusal_rate: Annotated[float, about("At most")]


class Abstention(Record, frozen=True, kw_only=True):
    """Refusals of queries that have no answer; null where no such query was asked."""

    decided_by: Annotated[
        Literal["refusal", "threshold"],
        about("refusal: nothing came back. threshold: or the top score lies below it"),
    ]
    threshold: Annotated[float | None, about("Top score below which a query counts as refused")]
    n_answerable: Annotated[Count, about("Queries that have an answer")]
    n_unanswerable: Annotated[Count, about("Queries that no document answers")]
    n_failed: Annotated[
        Count, about("Of both kinds, those the retriever failed on; above 0 nothing is computable")
    ]
    true_positive_rate: Annotated[
        RefusalRate, about("Share of unanswerable queries refused. Wilson interval")
    ]
    false_refusal_rate: Annotated[
        RefusalRate, about("Share of answerable queries refused. Wilson interval")
    ]
    auc: Annotated[
        AreaUnderCurve,
        about(
            "Area under the ROC of the top scores: how often an answerable query outscores an"
            " unanswerable one"
        ),
    ]
    roc: Annotated[tuple[RocPoint, ...], about("From answering everything to refusing everything")]
    operating_point: Annotated[OperatingPoint, about("The decisions of this run")]
    controls: Annotated[Controls, about("Controls that need no retriever; both must fail the gate")]
    gate: Annotated[RefusalLimits, about("Both sides must hold at once")]
    reasons: Annotated[tuple[str, ...], about("What qualifies these numbers, in sentences")]


class JudgeFacts(Record, frozen=True, kw_only=True):
    """The judge that decided which document supports which claim."""

    name: Annotated[str, about("Kind of judge")]
    version: Annotated[str, about("Version of its rules")]
    settings: Annotated[
        dict[str, Any], about("All settings that decide a judgement; never a secret")
    ]


class ShareWithInterval(Record, frozen=True, kw_only=True):
    """Share of substantive claims that a document labelled relevant (grade 1 or more) supports."""

    value: Annotated[float | None, about("The value; null when not computable")]
    n: Annotated[Count, about("Substantive claims")]
    computable: Annotated[bool, about("Whether there is a value")]
    reason: Annotated[str | None, about("Reason code when there is none")]
    ci_low: Annotated[float | None, about("Lower end of its interval; null when there is none")]
    ci_high: Annotated[float | None, about("Upper end")]
    unproved_low: Annotated[
        float | None,
        about(
            "The value if every unproved claim is unsupported; absent where no claim is unproved"
        ),
    ] = None
    unproved_high: Annotated[
        float | None,
        about("The value if every unproved claim is supported; the interval reaches that far"),
    ] = None

    @property
    def has_bounds(self) -> bool:
        """Whether unproved claims make it a range."""
        return self.unproved_low is not None


class Confusion(Record, frozen=True, kw_only=True):
    """Labels by who calls the claim supported."""

    both: Annotated[Count, about("Both do")]
    judge_only: Annotated[Count, about("Only the judge")]
    human_only: Annotated[Count, about("Only the person")]
    neither: Annotated[Count, about("Neither")]


class JudgeAgreement(Record, frozen=True, kw_only=True):
    """The judge against labels of people; null when there are none."""

    n: Annotated[Count, about("Labels")]
    kappa: Annotated[ShareWithInterval, about("Cohen's kappa")]
    accuracy: Annotated[
        ShareWithInterval,
        about("Share of labels that the judge gives too, with its Wilson interval"),
    ]
    confusion: Annotated[Confusion, about("Labels by who calls the claim supported")]
    n_unproved: Annotated[
        Count, about("Labels whose claim the judge left unproved, counted as not supported")
    ] = 0


class Claim(Record, frozen=True, kw_only=True):
    """One claim."""

    text: Annotated[
        str,
        about("The claim: a sentence or list item of the draft, without citation markers"),
    ]
    draft_span: Annotated[
        tuple[Count, Count],
        about("First and behind the last character of the draft that are its own"),
    ]
    is_substantive: Annotated[bool, about("Whether it states something")]
    supported_by: Annotated[str | None, about("The document labelled relevant that supports it")]
    span: Annotated[
        tuple[Count, Count] | None,
        about(
            "First and behind the last character of that document's text that do; null where "
            "the judge names no place, or its title does"
        ),
    ]
    in_context: Annotated[bool, about("Whether the draft's context supports it")]
    reason: Annotated[
        str,
        about(
            "The reason of the judge: a code, or a sentence of a model; "
            "no_gold_block where no document is labelled relevant",
            unit="code",
        ),
    ]
    is_unproved: Annotated[
        bool,
        about(
            "Whether a document was called supporting without proof, and none supports it: the "
            "quotation is not in it, the answer holds no verdict, or a rule forbids it"
        ),
    ] = False
    is_context_unproved: Annotated[bool, about("The same of the draft's context")] = False
    veto: Annotated[
        str | None,
        about(
            "The rule that a supporting verdict broke: number_differs or negation_differs",
            unit="code",
        ),
    ] = None


class DraftClaims(Record, frozen=True, kw_only=True):
    """One draft."""

    id: Annotated[str, about("Query id")]
    is_refused: Annotated[bool, about("Whether the draft refuses to answer")]
    claims: Annotated[tuple[Claim, ...], about("Its claims in order")]


class Claims(Record, frozen=True, kw_only=True):
    """Which claims of the drafted answers the labelled documents support."""

    judge: Annotated[
        JudgeFacts, about("The judge that decided which document supports which claim")
    ]
    n_drafts: Annotated[Count, about("Drafts given")]
    n_refused: Annotated[Count, about("Judged drafts that refuse to answer, and hold no claims")]
    n_unlabelled: Annotated[Count, about("Drafts left out because their query has no labels")]
    n_without_draft: Annotated[Count, about("Queries of the run without a draft")]
    n_claims: Annotated[Count, about("Statements in the drafts")]
    n_substantive: Annotated[
        Count,
        about(
            "Those that state something; the others are greetings, questions, headings and "
            "their like"
        ),
    ]
    n_supported: Annotated[
        Count, about("Substantive claims that a document labelled relevant supports")
    ]
    n_unproved: Annotated[
        Count,
        about("Substantive claims that are neither supported nor refuted: no proof was given"),
    ] = 0
    n_context_unproved: Annotated[
        Count, about("The same of the contexts of the drafts, for the faithfulness")
    ] = 0
    n_vetoed: Annotated[
        Count,
        about("Unproved claims whose supporting verdict broke a rule on numbers or negation"),
    ] = 0
    coverage: Annotated[
        ShareWithInterval,
        about(
            "Share of substantive claims that a document labelled relevant (grade 1 or more) "
            "supports"
        ),
    ]
    faithfulness: Annotated[
        ShareWithInterval,
        about("Share of substantive claims that the context of the draft supports"),
    ]
    agreement: Annotated[
        JudgeAgreement | None, about("The judge against labels of people; null when there are none")
    ]
    queries: Annotated[tuple[DraftClaims, ...], about("The judged drafts, by query id")]


class Component(Record, frozen=True, kw_only=True):
    """One bound."""

    name: Annotated[str, about("Metric")]
    value: Annotated[float | None, about("Its value; null when not computable", unit="0–1")]
    n: Annotated[Count, about("What it rests on")]
    floor: Annotated[float | None, about("It must not fall below; null for a ceiling", unit="0–1")]
    ceiling: Annotated[float | None, about("It must not rise above; null for a floor", unit="0–1")]
    margin: Annotated[
        float | None, about("How far it lies on the right side of the bound", unit="0–1")
    ]
    passes: Annotated[bool | None, about("Whether the margin is 0 or more")]


class Composite(Record, frozen=True, kw_only=True):
    """How far the worst metric stands above its floor (or below its ceiling); never a mean."""

    value: Annotated[ShareWithInterval, about("The smallest margin, in the metrics' own unit")]
    worst: Annotated[str | None, about("The component it comes from")]
    components: Annotated[
        tuple[Component, ...],
        about("Floors and ceilings of the guard's thresholds for the whole run"),
    ]
    reasons: Annotated[
        tuple[str, ...], about("Components without a value, which make it not computable")
    ]


class DeltaBaseline(Record, frozen=True, kw_only=True):
    """Which baseline."""

    label: Annotated[str, about("Its label")]
    generated_at: Annotated[str, about("When it was measured")]
    gold_fingerprint: Annotated[str, about("Its gold set")]


class MetricChange(Record, frozen=True, kw_only=True):
    """One measure, before and now, over the queries that have it in both runs."""

    baseline: Annotated[float | None, about("Mean of the baseline over the pairs", unit="0–1")]
    current: Annotated[float | None, about("Mean of this run over the pairs", unit="0–1")]
    delta_points: Annotated[
        float | None, about("Current minus baseline, in points (hundredths)", unit="points")
    ]
    ci_low_points: Annotated[
        float | None,
        about(
            "Lower end of the paired bootstrap interval of the difference, in points", unit="points"
        ),
    ]
    ci_high_points: Annotated[float | None, about("Upper end", unit="points")]
    n_pairs: Annotated[Count, about("Queries that have the measure in both runs", unit="queries")]
    n_only_baseline: Annotated[
        Count, about("Queries that have it in the baseline only", unit="queries")
    ]
    n_only_current: Annotated[Count, about("Queries that have it in this run only", unit="queries")]
    p_value: Annotated[
        Share | None,
        about(
            "Two-sided sign-flip permutation test of the difference; null below six pairs",
            unit="0–1",
        ),
    ]


class DeltaSlice(Record, frozen=True, kw_only=True):
    """One slice."""

    metrics: Annotated[dict[str, MetricChange], about("By measure")]


class DeltaSlices(Record, frozen=True, kw_only=True):
    """The same for parts of the queries."""

    corpus: Annotated[dict[str, DeltaSlice], about("By corpus")] = EMPTY_MAP
    area: Annotated[dict[str, DeltaSlice], about("By area")] = EMPTY_MAP


class QueryContribution(Record, frozen=True, kw_only=True):
    """One query."""

    id: Annotated[str, about("Query id")]
    contributions: Annotated[
        dict[str, float],
        about("Points it adds to the change of each overall measure; they add up to delta_points"),
    ]


class Delta(Record, frozen=True, kw_only=True):
    """The change against the baseline."""

    baseline: Annotated[DeltaBaseline, about("Which baseline")]
    is_comparable: Annotated[
        bool, about("Whether both runs measured the same thing; without that there are no numbers")
    ]
    reasons: Annotated[
        tuple[str, ...],
        about(
            "Why not, each beginning with a code and a colon: gold_set, convention, "
            "empty_ranking, depth, measures"
        ),
    ]
    changes: Annotated[
        tuple[str, ...], about("What else differs between the runs: retriever, options, corpora")
    ]
    metrics: Annotated[dict[str, MetricChange], about("By measure")]
    slices: Annotated[DeltaSlices, about("The same for parts of the queries")]
    queries_top1_changed: Annotated[
        tuple[str, ...], about("Queries answered in both runs whose first document is another one")
    ]
    queries: Annotated[tuple[QueryContribution, ...], about("Queries that moved a metric")]
    n_queries_moved: Annotated[
        Count | None,
        about(
            "Queries that moved: at least one metric of the ranking has another value. Absent in"
            " runs of earlier versions",
            unit="queries",
        ),
    ] = None


class Circularity(Record, frozen=True, kw_only=True):
    """Relevant labels (grade 1 or more) that only the measured retriever had found."""

    retriever: Annotated[str, about("The name by which labels and run are matched")]
    n_relevant: Annotated[Count, about("Relevant labels of the queries asked", unit="labels")]
    n_only_this: Annotated[
        Count, about("Of them found by this retriever and no other", unit="labels")
    ]
    n_others: Annotated[Count, about("Found by another retriever, too or alone", unit="labels")]
    n_not_recorded: Annotated[Count, about("Without a record of who had found them", unit="labels")]
    share: Annotated[
        Share | None, about("n_only_this of the recorded ones; null when none is", unit="0–1")
    ]
    low: Annotated[
        Share | None, about("Of all, if none of those not recorded are its own", unit="0–1")
    ]
    high: Annotated[Share | None, about("Of all, if all of those are", unit="0–1")]
    reason: Annotated[str | None, about("Reason code when there is no share")]


class OutsideLabels(Record, frozen=True, kw_only=True):
    """Labels of documents that the corpus lacks."""

    n_labels: Annotated[Count, about("Labels of the queries asked, of any grade", unit="labels")]
    n_outside: Annotated[
        Count, about("Of them of documents that the corpus of their query lacks", unit="labels")
    ]
    n_relevant: Annotated[
        Count, about("Of these of grade 1 or more: no retriever can find them", unit="labels")
    ]
    documents: Annotated[
        dict[str, tuple[str, ...]], about("Those documents by the id of the query")
    ]


class OwnLabels(Record, frozen=True, kw_only=True):
    """Labels of the query's own document in a run that leaves it out: no retriever can find it."""

    n_labels: Annotated[Count, about("Such labels, of any grade", unit="labels")]
    n_relevant: Annotated[Count, about("Of them of grade 1 or more", unit="labels")]
    queries: Annotated[tuple[str, ...], about("Queries with one of these")]


class MoreThanCutoff(Record, frozen=True, kw_only=True):
    """Queries with more relevant documents than the deepest cut-off of Recall: it stays below 1."""

    measure: Annotated[str, about("Recall at the deepest cut-off")]
    n_queries: Annotated[Positive, about("Such queries", unit="queries")]
    query: Annotated[str, about("The one with the most")]
    n_relevant: Annotated[Positive, about("Its relevant documents", unit="documents")]


class EqualTexts(Record, frozen=True, kw_only=True):
    """Documents of one corpus that have the same text under several ids."""

    n_texts: Annotated[Positive, about("Texts that several ids have", unit="texts")]
    n_documents: Annotated[Positive, about("Those ids", unit="documents")]
    n_relevant: Annotated[
        Count,
        about(
            "Relevant labels whose document has a twin that is not judged for the query: a system"
            " that returns the twin gets nothing for it",
            unit="labels",
        ),
    ]
    example: Annotated[
        tuple[str, str, str] | None,
        about("Of these a query, its relevant document and the twin; null without one"),
    ] = NULL


class LabelFacts(Record, frozen=True, kw_only=True):
    """What is known of the labels that the run was scored with."""

    circularity: Annotated[Circularity, about("Labels that came from the measured retriever")]
    drift: Annotated[
        dict[str, Count] | None,
        about(
            "Labelled pairs by what became of the document that was labelled; null without digests"
            " or without the documents"
        ),
    ] = NULL
    drifted_queries: Annotated[
        tuple[str, ...], about("Queries with a labelled document that is another one now")
    ] = EMPTY_LIST
    outside: Annotated[
        OutsideLabels | None,
        about(
            "Labels of documents that the corpus lacks; absent where its documents are not known,"
            " and in runs of earlier versions"
        ),
    ] = None
    own: Annotated[
        OwnLabels | None,
        about("Labels of the query's own document; absent where it was not left out"),
    ] = None
    more_than_cutoff: Annotated[
        MoreThanCutoff | None,
        about("Queries whose Recall cannot reach 1 at any cut-off; absent without one"),
    ] = None
    equal_texts: Annotated[
        EqualTexts | None,
        about("Texts under several ids; absent without one, and where the texts are not known"),
    ] = None


class SearchRun(Record, frozen=True, kw_only=True):
    """Search run.

    A retriever measured against a gold set. A baseline is a search run that was committed.
    """

    schema_version: SecondSchemaVersion
    generated_at: GeneratedAt
    label: Annotated[str, about("Label given by the person who ran it; may be empty")]
    run: Annotated[RunHeader, about("The measured system, gold set and settings")]
    status: Annotated[RunStatus, about("Status of the queries")]
    trust: Annotated[
        Trust | None,
        about(
            "What was found out about the answers before they were scored. Absent in runs of"
            " earlier versions"
        ),
    ] = None
    labels: Annotated[
        LabelFacts | None,
        about("What is known of the labels. Absent in runs of earlier versions"),
    ] = None
    metrics: Annotated[dict[str, MetricMean], about("Means over all queries, by measure")]
    slices: Annotated[RunSlices, about("Means over parts of the queries")]
    queries: Annotated[
        tuple[QueryResult, ...], about("Every query asked, in the order of the gold set")
    ]
    abstention: Annotated[
        Abstention | None,
        about("Refusals of queries that have no answer; null where no such query was asked"),
    ] = NULL
    claims: Annotated[
        Claims | None,
        about(
            "Claims of the drafted answers that the labelled documents support; null when no "
            "drafts were judged"
        ),
    ] = NULL
    composite: Annotated[
        Composite | None,
        about(
            "How far the worst metric stands above its floor (or below its ceiling); never a mean"
        ),
    ] = NULL
    random: Annotated[
        RandomDocuments | None,
        about(
            "What random documents would get; absent in runs of earlier versions and without a"
            " query to compare"
        ),
    ] = None
    delta: Annotated[Delta | None, about("The change against the baseline")]
    delta_withheld: Annotated[
        tuple[str, ...], about("Why delta is null although there is a baseline, in sentences")
    ] = EMPTY_LIST
    backlog: Annotated[
        dict[str, Any] | None, about("Labels waiting for review, when a source was named")
    ]

    @classmethod
    def upgraded(cls, document: Any) -> Any:
        """Return a document of 1.x as one of 2.0; what that lost is left out when it is read."""
        return as_second(document)
