"""All metrics that can be computed from a recording. The imports register them, in the order of the docs."""

from flexarm_tools.metrics import base as base_metrics
from flexarm_tools.metrics import behavior as behavior_metrics
from flexarm_tools.metrics import contact as contact_metrics
from flexarm_tools.metrics import flexible as flexible_metrics
from flexarm_tools.metrics import friction as friction_metrics
from flexarm_tools.metrics import reactionless as reactionless_metrics
from flexarm_tools.metrics import redundancy as redundancy_metrics
from flexarm_tools.metrics import run as run_metrics
from flexarm_tools.metrics.registry import (
    METRICS,
    OPTIONS,
    Measurement,
    MetricOptions,
    deflection_unit,
    markdown_metrics,
)

__all__ = [
    "METRICS",
    "OPTIONS",
    "Measurement",
    "MetricOptions",
    "base_metrics",
    "behavior_metrics",
    "contact_metrics",
    "deflection_unit",
    "flexible_metrics",
    "friction_metrics",
    "markdown_metrics",
    "reactionless_metrics",
    "redundancy_metrics",
    "run_metrics",
]
