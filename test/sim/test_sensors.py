"""Sensor models: transparent when perfect, reproducible, and wrong in exactly the stated way otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_sim.sensors import AHEAD, SensorConfig, SensorModel

TICK = 1_000_000  # [ns]
finite = st.floats(-1e6, 1e6)


def readings(config: SensorConfig, truths: Array, name: str = "encoder", seed: int = 0) -> list[Array | None]:
    sensor = SensorModel(name, truths.shape[1], TICK, config, seed)
    return [sensor.sample(tick * TICK, truth) for tick, truth in enumerate(truths)]


def ramp(ticks: int = 40, size: int = 2) -> Array:
    return np.arange(1.0, ticks + 1)[:, None] * np.arange(1.0, size + 1)


def values(samples: list[Array | None]) -> Array:
    return np.array([sample for sample in samples if sample is not None])


@given(truth=arrays(np.float64, (5, 3), elements=finite))
def test_a_perfect_sensor_is_exactly_transparent(truth: Array) -> None:
    assert np.array_equal(values(readings(SensorConfig(), truth)), truth)


def test_a_reading_is_a_copy() -> None:
    truth = np.zeros(2)
    for config in (SensorConfig(), SensorConfig(delay=0.001), SensorConfig(frozen_intervals=((0.0, 1.0),))):
        sensor = SensorModel("encoder", 2, TICK, config)
        first = sensor.sample(0, truth)
        assert first is not None
        first[:] = 9.0
        assert np.array_equal(truth, np.zeros(2))
        assert np.array_equal(values([sensor.sample(TICK, truth)])[0], np.zeros(2))


def test_noise_has_its_standard_deviation_per_channel_and_no_color() -> None:
    count = 20_000
    noise = values(readings(SensorConfig(noise=(0.1, 2.0, 0.0)), np.zeros((count, 3))))
    assert np.allclose(noise.mean(axis=0), 0.0, atol=4 * 2.0 / np.sqrt(count))
    assert noise[:, :2].std(axis=0) == pytest.approx([0.1, 2.0], rel=4 / np.sqrt(2 * count))
    assert np.array_equal(noise[:, 2], np.zeros(count))
    successive = np.corrcoef(noise[1:, 0], noise[:-1, 0])[0, 1]
    across = np.corrcoef(noise[:, 0], noise[:, 1])[0, 1]
    assert max(abs(successive), abs(across)) < 4 / np.sqrt(count)


def test_the_same_seed_gives_the_same_bits_and_reset_starts_over() -> None:
    config = SensorConfig(noise=0.1, dropout=0.3)
    truths = np.zeros((50, 2))
    sensor = SensorModel("encoder", 2, TICK, config, 7)
    runs = []
    for _ in range(2):
        runs.append([sensor.sample(tick * TICK, truth) for tick, truth in enumerate(truths)])
        sensor.reset()
    runs.append(readings(config, truths, seed=7))
    assert [sample is None for sample in runs[0]] == [sample is None for sample in runs[2]]
    assert np.array_equal(values(runs[0]), values(runs[1]))
    assert np.array_equal(values(runs[0]), values(runs[2]))


def test_noise_that_is_drawn_ahead_has_the_bits_of_noise_drawn_in_each_tick() -> None:
    count, deviation = 3 * AHEAD + 1, (0.1, 2.0, 0.7)
    stream = np.random.default_rng(np.random.SeedSequence([7, 3, *b"encoder"]).spawn(2)[0])
    drawn = np.array([np.array(deviation) * stream.standard_normal(3) for _ in range(count)])
    assert np.array_equal(values(readings(SensorConfig(noise=deviation), np.zeros((count, 3)), seed=7)), drawn)


def test_seeds_and_names_give_different_noise() -> None:
    truths = np.zeros((20, 2))
    config = SensorConfig(noise=1.0)
    base = values(readings(config, truths, "encoder", 1))
    assert not np.array_equal(base, values(readings(config, truths, "encoder", 2)))
    assert not np.array_equal(base, values(readings(config, truths, "deflection", 1)))


def test_dropouts_do_not_change_the_noise() -> None:
    truths = np.zeros((200, 1))
    whole = readings(SensorConfig(noise=1.0), truths)
    holed = readings(SensorConfig(noise=1.0, dropout=0.5), truths)
    kept = [(a, b) for a, b in zip(whole, holed, strict=True) if b is not None]
    assert 60 < len(kept) < 140
    assert all(np.array_equal(a, b) for a, b in kept)  # type: ignore[arg-type]


@given(truth=arrays(np.float64, (1, 4), elements=st.floats(-10, 10)), resolution=st.floats(1e-6, 1.0))
def test_quantization_gives_the_nearest_multiple_of_the_resolution(truth: Array, resolution: float) -> None:
    reading = values(readings(SensorConfig(resolution=resolution), truth))
    steps = reading / resolution
    assert np.allclose(steps, np.round(steps), rtol=0.0, atol=1e-6)
    assert np.all(np.abs(reading - truth) <= 0.5 * resolution * (1 + 1e-6))


def test_an_encoder_reads_noise_before_it_quantises() -> None:
    reading = values(readings(SensorConfig(noise=1.0, resolution=0.5), np.zeros((100, 1))))
    assert np.array_equal(reading, 0.5 * np.round(reading / 0.5))
    assert len(np.unique(reading)) > 3


@given(ticks=st.integers(0, 12))
def test_a_delayed_sensor_reports_what_was_true_then(ticks: int) -> None:
    truths = ramp()
    delayed = values(readings(SensorConfig(delay=ticks * 0.001), truths))
    assert np.array_equal(delayed[ticks:], truths[: len(truths) - ticks])
    assert np.array_equal(delayed[:ticks], np.repeat(truths[:1], ticks, axis=0))  # at rest before time 0


def test_a_delay_off_the_grid_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"delay 0.0026 s is not a whole number of ticks.* nearest is 0.003"):
        SensorModel("encoder", 2, TICK, SensorConfig(delay=0.0026))


@pytest.mark.parametrize("probability", [0.02, 0.5, 1.0])
def test_dropouts_come_as_often_as_stated(probability: float) -> None:
    count = 5000
    lost = sum(sample is None for sample in readings(SensorConfig(dropout=probability), np.zeros((count, 1))))
    spread = np.sqrt(count * probability * (1 - probability))
    assert abs(lost - count * probability) <= 4 * spread


def test_nothing_is_published_in_a_dropout_interval() -> None:
    samples = readings(SensorConfig(dropout_intervals=((0.005, 0.008), (0.02, 0.021))), ramp())
    assert [tick for tick, sample in enumerate(samples) if sample is None] == [5, 6, 7, 20]


def test_a_frozen_sensor_repeats_its_last_reading_and_thaws() -> None:
    truths = ramp()
    frozen = values(readings(SensorConfig(frozen_intervals=((0.010, 0.015),)), truths))
    assert np.array_equal(frozen[10:15], np.repeat(truths[9:10], 5, axis=0))
    assert np.array_equal(frozen[15:], truths[15:])


def test_a_sensor_frozen_from_the_start_holds_its_first_reading() -> None:
    truths = ramp()
    frozen = values(readings(SensorConfig(frozen_intervals=((0.0, float("inf")),)), truths))
    assert np.array_equal(frozen, np.repeat(truths[:1], len(truths), axis=0))


def test_every_channel_is_nan_in_a_nan_interval_and_only_there() -> None:
    truths = ramp()
    broken = values(readings(SensorConfig(nan_intervals=((0.003, 0.005),)), truths))
    assert np.isnan(broken[3:5]).all()
    assert np.array_equal(np.delete(broken, [3, 4], axis=0), np.delete(truths, [3, 4], axis=0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": -0.1}, "noise is -0.1"),
        ({"noise": (0.1, float("nan"))}, "noise is"),
        ({"resolution": -1.0}, "resolution is -1.0"),
        ({"delay": float("inf")}, "delay is inf"),
        ({"dropout": 1.5}, "dropout is 1.5, expected a probability"),
        ({"dropout": "often"}, "dropout is often"),
        ({"nan_intervals": ((2.0, 1.0),)}, r"nan_intervals: \(2.0, 1.0\) is no interval"),
        ({"frozen_intervals": ((1.0,),)}, "frozen_intervals"),
        ({"dropout_intervals": (3.0,)}, "dropout_intervals: 3.0 is no interval"),
    ],
)
def test_impossible_configurations_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SensorConfig(**arguments)


def test_noise_must_fit_the_channels() -> None:
    with pytest.raises(ConfigError, match="'encoder': noise has 3 values, expected one or 2"):
        SensorModel("encoder", 2, TICK, SensorConfig(noise=(1.0, 1.0, 1.0)))
