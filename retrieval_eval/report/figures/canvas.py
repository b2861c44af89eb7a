"""What the older figures draw with."""

from retrieval_eval.report.canvas import (
    beside,
    canvas,
    hatched,
    legend,
    light_grid,
    name,
    stairs,
    to_svg,
    whole_ticks,
)

__all__ = [
    "beside",
    "canvas",
    "hatched",
    "legend",
    "light_grid",
    "name",
    "stairs",
    "to_svg",
    "whole_ticks",
]
