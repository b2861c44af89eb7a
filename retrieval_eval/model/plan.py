"""A number that a plan rests on."""

from __future__ import annotations

from typing import Annotated

from retrieval_eval.model.meta import NULL, Record, about


class Assumption(Record, frozen=True, kw_only=True):
    """A number that a plan rests on, and where it comes from."""

    name: Annotated[str, about("Which number")]
    meaning: Annotated[str, about("What it is")]
    value: Annotated[float, about("The number")]
    low: Annotated[float | None, about("Lower end of its 95 % interval")] = NULL
    high: Annotated[float | None, about("Upper end of its 95 % interval")] = NULL
    unit: Annotated[str, about("Unit")] = ""
    source: Annotated[str, about("stated, default, or the pilot study and what of it")]
