"""The outcome of a trial: reward, cost, tokens and time, each with its source."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import field

from retrieval_eval.model.meta import EMPTY_LIST, EMPTY_MAP, NULL, Record, about


def _no() -> bool:
    return False


_FALSE: Final[Any] = field(default_factory=_no)


class TrialOutcome(Record, frozen=True, kw_only=True):
    """The outcome of one trial; null where a value was not recorded."""

    reward: Annotated[float | None, about("The verifier's reward as recorded")] = NULL
    reward_reason: Annotated[str | None, about("Reason code when there is no reward")] = NULL
    reward_source: Annotated[str | None, about("The file the reward is from")] = NULL
    reward_scale: Annotated[
        Literal["unit", "open"] | None,
        about(
            "'open' when the reward lies outside 0 to 1, as un-normalised sums of checkpoints do"
        ),
    ] = NULL
    cost_usd: Annotated[float | None, about("Cost of the trial", unit="USD")] = NULL
    cost_source: Annotated[str | None, about("The source of the cost")] = NULL
    cost_other: Annotated[
        dict[str, float], about("The sources that state another cost", unit="USD")
    ] = EMPTY_MAP
    input_tokens: Annotated[
        int | None,
        about("Input tokens with cached ones; null when only a total is known", unit="tokens"),
    ] = NULL
    output_tokens: Annotated[
        int | None, about("Output tokens; null when only a total is known", unit="tokens")
    ] = NULL
    total_tokens: Annotated[int | None, about("Input and output tokens", unit="tokens")] = NULL
    token_source: Annotated[str | None, about("The source of the tokens")] = NULL
    token_other: Annotated[
        dict[str, float], about("The sources that state another total", unit="tokens")
    ] = EMPTY_MAP
    is_token_total_confirmed: Annotated[
        bool, about("The count over the trace's messages gives that total too")
    ] = _FALSE
    elapsed_seconds: Annotated[
        float | None,
        about(
            "How long the agent worked, without set-up and verification where that is recorded",
            unit="s",
        ),
    ] = NULL
    elapsed_source: Annotated[str | None, about("The source of that time")] = NULL
    wall_seconds: Annotated[float | None, about("How long the whole trial took", unit="s")] = NULL
    started_at: Annotated[float | None, about("Start of the trial, Unix seconds (UTC)")] = NULL
    finished_at: Annotated[float | None, about("End of the trial, Unix seconds (UTC)")] = NULL
    agent_started_at: Annotated[
        float | None, about("Start of the agent's execution, Unix seconds (UTC)")
    ] = NULL
    model: Annotated[str | None, about("Model of the agent; null for 'unknown'")] = NULL
    harness: Annotated[str | None, about("Agent harness of the trial")] = NULL
    harness_version: Annotated[str | None, about("Version of the agent harness")] = NULL
    exception: Annotated[
        dict[str, str | None] | None,
        about("type and message of the error that ended the trial; it is not a reward of 0"),
    ] = NULL
    task_checksum: Annotated[str | None, about("Version of the task")] = NULL
    problems: Annotated[
        tuple[str, ...], about("Faults of the files of the outcome, naming the file")
    ] = EMPTY_LIST
