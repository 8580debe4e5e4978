"""Kinds of faults, and the case that a seed determines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_tools.faults.arm_faults import ARM_FAULTS, NoFault
from flexarm_tools.faults.arms import BENDING, FLOATING, OURS, RANDOM
from flexarm_tools.faults.bad_limits import NAME as BAD_LIMITS
from flexarm_tools.faults.bad_limits import WHAT as BAD_LIMITS_WHAT
from flexarm_tools.faults.core_case import Setting
from flexarm_tools.faults.data_faults import DATA_FAULTS
from flexarm_tools.faults.drive_faults import DRIVE_FAULTS
from flexarm_tools.faults.fault import LAYOUTS, MODES, NODE, Fault
from flexarm_tools.faults.plant_faults import PLANT_FAULTS
from flexarm_tools.faults.sensor_faults import SENSOR_FAULTS
from flexarm_tools.faults.source import MOVES
from flexarm_tools.faults.time_faults import TIME_FAULTS

EVERY: tuple[type[Fault], ...] = (
    *ARM_FAULTS,
    *PLANT_FAULTS,
    *TIME_FAULTS,
    *DATA_FAULTS,
    *SENSOR_FAULTS,
    *DRIVE_FAULTS,
)
KINDS = {kind.name: kind for kind in EVERY}
PAIR = "pair"  # two faults of random kinds
WHAT = {kind.name: kind.what for kind in KINDS.values()} | {BAD_LIMITS: BAD_LIMITS_WHAT, PAIR: "two of these at once"}
PAIR_SHARE, NONE_SHARE, LIMITS_SHARE, RANDOM_ARMS, BENDING_ARMS = 0.12, 0.08, 0.03, 0.6, 0.08
BENT = 29  # stream of random numbers that decides on arms whose links bend: cases that tests know stay as they are
FLOATING_RATE = 1000  # [Hz] rate required for an arm on an elastic base, or whose links bend
FIRST = (0.45, 1.2)  # [s] range of the start of a fault: the arm already moves


def chosen_kinds(names: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds with these names; without names all that a campaign draws.

    Raises:
        ConfigError: there is no such kind.
    """
    unknown = [name for name in names if name not in WHAT]
    if unknown:
        raise ConfigError(f"fault {', '.join(unknown)} is unknown; valid: {', '.join(WHAT)}")
    return tuple(names) or tuple(name for name in WHAT if name not in KINDS or KINDS[name].drawn)


def draw_case(seed: int, names: Sequence[str], rates: Sequence[int] = (), *, core: bool) -> tuple[Setting, list[Fault]]:
    """Return setting and faults of the case of a seed; a case without faults is one of invalid limits.

    Args:
        seed: seed of the case.
        names: kinds of fault to choose from.
        rates: rates of joint states to choose from [Hz]; none: those of each kind.
        core: whether it is a case on the core gate; else on real nodes.
    """
    rng = np.random.default_rng([seed, 0])
    every = [kind for kind in KINDS.values() if (kind.core if core else kind.nodes)]
    kinds = [kind for kind in every if kind.name in names]
    every = [kind for kind in every if kind.drawn]
    dice, pairs, limits = rng.random(), PAIR in names, BAD_LIMITS in names and core
    every.remove(NoFault)
    if limits and (dice > 1.0 - LIMITS_SHARE or not (kinds or pairs)):
        arm = RANDOM if rng.random() < RANDOM_ARMS else list(OURS)[rng.integers(len(OURS))]
        return Setting(seed, arm, MODES[rng.integers(3)], LAYOUTS[0], 250), []
    if pairs and (dice < PAIR_SHARE or not kinds):
        paired = [kind for kind in every if kind.pairs]
        chosen = [paired[i] for i in rng.choice(len(paired), 2, replace=False)]
    elif NoFault in kinds and (dice < PAIR_SHARE + NONE_SHARE or len(kinds) == 1):
        chosen = [NoFault]
    else:
        some = [kind for kind in kinds if kind is not NoFault]
        chosen = [some[rng.integers(len(some))]]
    modes = [mode for mode in MODES if all(mode in kind.modes for kind in chosen)]
    layouts = [layout for layout in LAYOUTS if all(layout in kind.layouts for kind in chosen)]
    if not core and any(kind.law != MOVES or kind.reference is not Fault.reference for kind in chosen):
        layouts = [NODE]  # references of a control loop never leave its process
    mode = modes[rng.choice(len(modes), p=_more_of_the_first(len(modes)))]
    layout = layouts[rng.integers(len(layouts))]
    arm = RANDOM if rng.random() < RANDOM_ARMS else list(OURS)[rng.integers(len(OURS))]
    if arm == RANDOM and len(chosen[0].random_arms) > 1:
        arm = chosen[0].random_arms[rng.integers(len(chosen[0].random_arms))]
    bent = np.random.default_rng([seed, BENT])
    if bent.random() < BENDING_ARMS and all(kind.bends for kind in chosen):
        arm = BENDING[bent.integers(len(BENDING))]
    rate = FLOATING_RATE if arm in (*FLOATING, *BENDING) else int(rng.choice(rates or chosen[0].rates))
    faults: list[Fault] = []
    start = float(rng.uniform(*FIRST))
    for kind in chosen:
        faults.append(kind(np.random.default_rng([seed, 2, len(faults)]), start))
        start += float(rng.uniform(0.0, 0.3))
    return Setting(seed, arm, mode, layout, rate), faults


def _more_of_the_first(count: int) -> list[float]:
    """Return the probabilities of the command modes: effort mode is the most critical, since the arm can fall."""
    return {1: [1.0], 2: [0.6, 0.4], 3: [0.5, 0.25, 0.25]}[count]
