"""Every metric: what can be measured of a recording. The imports register them, in the order of the docs."""

from flexarm_tools import (
    base_metrics,
    behavior_metrics,
    contact_metrics,
    flexible_metrics,
    friction_metrics,
    reactionless_metrics,
    redundancy_metrics,
    run_metrics,
)
from flexarm_tools.metric_registry import (
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
