"""Headline of a study in words: how the runs compare by factors, and where the better one is worse."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from flexarm_tools.metrics.figures import Figure, ratio
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.scenario.study import Study, StudyFigureSpec

# What a metric measures, where less of it is better; `joint_distance` is what its figure is called.
LESS = {
    "peak_base_deflection": "largest base deflection",
    "rms_base_deflection": "base deflection (rms)",
    "final_base_deflection": "final base deflection",
    "peak_base_energy_root": "largest base motion",
    "base_settling_time": "settling time of the base",
    "settling_periods": "settling time of the base",
    "tracking_error": "largest tool error",
    "tracking_error_rms": "tool error (rms)",
    "final_tracking_error": "final tool error",
    "peak_effort": "largest joint effort",
    "effort_step": "largest step of the joint effort",
    "peak_base_force": "largest force on the base",
    "tool_acceleration_step": "largest step of the tool's acceleration",
    "contact_force_error": "contact force error",
    "path_error_free": "largest tool error off the contact",
    "tool_vibration": "tool vibration",
    "tool_settling_time": "settling time of the tool",
    "modal_rms_error": "error of the estimated modes",
    "base_rms_error": "error of the estimated base motion",
    "peak_modal_position": "largest bending of the links",
    "modal_vibration": "vibration of the links",
    "joint_tracking_error": "largest joint error",
    "joint_tracking_rms": "joint error (rms)",
    "stick_slip_events": "number of stick-slip events",
    "final_error": "final joint error",
    "final_error_counts": "final joint error",
    "friction_estimate_error": "error of the estimated friction",
    "contact_detection_time": "time until a contact is detected",
    "peak_coupling_momentum": "largest coupling momentum",
    "resolution_position_error": "position error of the joint reference",
    "resolution_orientation_error": "orientation error of the joint reference",
    "largest_condition_number": "largest condition number",
    "peak_reference_velocity": "largest joint velocity",
    "peak_reference_acceleration": "largest joint acceleration",
    "joint_return": "joint drift after the path",
    "joint_distance": "",
}
MORE = {"base_decay_rate": "decay rate of the base", "base_damping_ratio": "damping ratio of the base"}
WORSE = 1.02  # factor from which on a larger value is called worse
SENTENCES = 5  # largest number of sentences
OTHERS = 6  # largest number of further pairs
NAMED = 4  # largest number of factors that are named of what is worse, or of a pair without ratios in the study
PREPOSITIONS = ("after", "before", "during", "on", "while")  # with which the name of a part of a run may begin


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the headline."""

    text: str  # plain text
    bad: bool = False  # whether it says what is worse, or void


@dataclass(frozen=True, slots=True)
class _Factor:
    """A figure of one run over the same figure of another, both positive."""

    figure: str  # name of the figure
    metric: str  # its metric
    thing: str  # what is measured
    when: str  # part of the run: `in reach`; empty for the whole run
    ratio: Figure  # the ratio

    @property
    def gain(self) -> float:
        """Logarithm of the factor by which the first run is better."""
        return math.log(self.ratio.value) * (1.0 if self.metric in MORE else -1.0)

    @property
    def words(self) -> str:
        """The factor in words: ``5.8 times smaller in press``."""
        value = self.ratio.value
        bound = {"at_least": "at least ", "at_most": "at most ", "": ""}
        if value < 1.0:
            upside_down = {"at_least": "at_most", "at_most": "at_least", "": ""}[self.ratio.bound]
            text = f"{bound[upside_down]}{_digits(1.0 / value)} times smaller"
        else:
            text = f"{bound[self.ratio.bound]}{_digits(value)} times as large"
        return f"{text} {self.when}".strip()


def headline(study: Study, figures: Mapping[str, Sequence[Figure]], unexpected: Sequence[str] = ()) -> list[Sentence]:
    """Return up to five sentences on the runs of a study.

    The study's ratios of one figure in two runs define what is compared; without such ratios, its comparisons do. All
    figures that two runs have in common are searched for worse values.

    Args:
        study: the study.
        figures: figures of each finished run, by name of the run.
        unexpected: descriptions of unexpected events.
    """
    found = [Sentence(f"Void, because of what was not expected: {_some(unexpected)}.", True)] if unexpected else []
    pairs = _pairs(study, figures)
    if not pairs:
        return found
    (first, second), *others = pairs
    names = {name: f"“{scenario.title}”" for name, scenario in study.scenarios.items()}
    against = f"{names[first]} against {names[second]}"
    found.append(Sentence(f"{against}: {_listed(pairs[first, second])}."))
    if less := _worse(study, figures, first, second):
        more = f" and {len(less) - NAMED} more" if len(less) > NAMED else ""
        found.append(Sentence(f"Worse with {names[first]}: {_listed(less[:NAMED])}{more}.", True))
    parts = [
        f"{names[b] if a == first else f'{names[a]} against {names[b]}'}: {_listed(pairs[a, b][:NAMED])}"
        for a, b in others[:OTHERS]
    ]
    if parts:
        start = f"{names[first]} against " if all(a == first for a, _ in others[:OTHERS]) else ""
        found.append(Sentence(f"{start}{'; '.join(parts)}."))
    those = [(factor, a, b) for a, b in others for factor in _worse(study, figures, a, b)]
    those.sort(key=lambda item: item[0].gain)
    worse = [f"{factor.thing} {factor.words} ({names[a]} against {names[b]})" for factor, a, b in those]
    if worse:
        found.append(Sentence(f"Worse in these pairs: {_some(worse)}.", True))
    return found[:SENTENCES]


def _pairs(study: Study, figures: Mapping[str, Sequence[Figure]]) -> dict[tuple[str, str], list[_Factor]]:
    """Return what is compared, by pairs of runs, the better run first."""
    specs = {spec.name: spec for spec in study.figures}
    chosen: dict[tuple[str, str], list[str]] = {}
    for spec in study.figures:
        above, below = (specs[name] for name in spec.ratio) if spec.ratio else (spec, spec)
        if above.run != below.run and _same(study, above, below):
            chosen.setdefault((above.run, below.run), []).append(above.figure)
    if not chosen:
        for comparison in study.comparisons:
            chosen |= {(comparison.runs[0], other): [] for other in comparison.runs[1:]}
    found: dict[tuple[str, str], list[_Factor]] = {}
    for (a, b), names in chosen.items():
        factors = [factor for factor in _factors(study, figures, a, b, names) if factor.figure in names or not names]
        if not names:
            factors = sorted(factors, key=lambda factor: -abs(factor.gain))[:NAMED]
        if sum(factor.gain for factor in factors) < 0.0:
            turned = {factor.figure: factor for factor in _factors(study, figures, b, a, names)}
            a, b, factors = b, a, [turned[factor.figure] for factor in factors]
        known = found.setdefault((a, b), [])
        known += [factor for factor in factors if factor.figure not in {each.figure for each in known}]
    return {pair: factors for pair, factors in found.items() if factors}


def _same(study: Study, above: StudyFigureSpec, below: StudyFigureSpec) -> bool:
    """Return whether two figures of a study are the same figure of two runs."""
    return above.figure == below.figure and {above.run, below.run} <= study.scenarios.keys()


def _factors(
    study: Study, figures: Mapping[str, Sequence[Figure]], a: str, b: str, chosen: Sequence[str] = ()
) -> list[_Factor]:
    """Return all figures that two runs have in common, as factors; the chosen ones also over different times."""
    measured = {figure.name: figure for figure in figures.get(b, ())}
    specs = {spec.name: spec for spec in study.scenarios[a].figures}
    others = {spec.name: spec for spec in study.scenarios[b].figures}
    found = []
    for figure in figures.get(a, ()):
        spec, other = specs[figure.name], others.get(figure.name)
        known = spec.metric in LESS or spec.metric in MORE
        if not known or other is None or spec.metric != other.metric:
            continue
        if figure.name not in chosen and spec.options != other.options:
            continue
        if figure.name in measured and figure.value > 0.0 and measured[figure.name].value > 0.0:
            over = ratio(figure.name, figure, measured[figure.name])
            if math.isfinite(over.value):
                when = _when(study.scenarios[a], figure.name, spec.metric)
                thing = (LESS | MORE)[spec.metric] or figure.name.replace("_", " ")
                found.append(_Factor(figure.name, spec.metric, thing, when, over))
    return found


def _worse(study: Study, figures: Mapping[str, Sequence[Figure]], a: str, b: str) -> list[_Factor]:
    """Return in what the first of two runs is worse, the worst first."""
    worse = [factor for factor in _factors(study, figures, a, b) if factor.gain < -math.log(WORSE)]
    return sorted(worse, key=lambda factor: factor.gain)


def _when(scenario: Scenario, name: str, metric: str) -> str:
    """Return the part of the run that a figure's name tells, ``in reach``: what it has beyond figures of its metric."""
    if not LESS.get(metric, metric):
        return ""
    names = [spec.name for spec in scenario.figures if spec.metric == metric]
    words = zip(*(each.split("_") for each in names), strict=False)
    shared = len(list(takewhile(lambda each: len(set(each)) == 1, words))) if len(names) > 1 else 0
    rest = name.split("_")[shared:] if shared else name.removeprefix(metric).split("_")
    text = " ".join(filter(None, rest)) if shared or name.startswith(metric) else ""
    return text if not text or text.startswith(PREPOSITIONS) else f"in {text}"


def _listed(factors: Iterable[_Factor]) -> str:
    """Describe factors in words, each thing once: ``tool error 3 times smaller in reach, 2 times smaller in press``."""
    things: dict[str, list[str]] = {}
    for factor in factors:
        things.setdefault(factor.thing, []).append(factor.words)
    return "; ".join(f"{thing} {', '.join(words)}" for thing, words in things.items())


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return f"{'; '.join(texts[:NAMED])}{more}"


def _digits(value: float) -> str:
    """Return a factor with two digits, three near 1: ``1.06``, ``5.8``, ``74``, ``11,000``."""
    if value < 2.0:
        return f"{value:.3g}"
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 9.95 else f"{value:.2g}"
