"""docs/scenario.md says what the schema and the metrics say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from flexarm_tools.metrics.all import METRICS, OPTIONS, MetricOptions, markdown_metrics
from flexarm_tools.scenario.file import read_scenario
from flexarm_tools.scenario.tables import EVENTS, FIGURES, NODES, PUSHES, ROBOT, SCENARIO, TABLES
from flexarm_tools.yaml_file.document import Document
from flexarm_tools.yaml_file.schema import markdown_keys

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_every_section_stands_in_the_page_as_in_the_schema(name):
    table = markdown_keys(TABLES[name])
    assert table in PAGE, f"put this table into docs/scenario.md, section {name}:\n{table}"


def test_the_metrics_stand_in_the_page_as_they_are_registered():
    assert markdown_metrics() in PAGE, f"put this table into docs/scenario.md:\n{markdown_metrics()}"
    assert markdown_keys(OPTIONS) in PAGE, f"put this table into docs/scenario.md:\n{markdown_keys(OPTIONS)}"


def test_every_option_of_a_metric_is_in_the_table_of_options():
    assert {option for metric in METRICS.values() for option in metric.options} == set(OPTIONS)
    assert {option.name for option in OPTIONS} == set(MetricOptions.__dataclass_fields__)


def test_no_option_has_the_name_of_a_figures_key():
    assert {key.name for key in FIGURES}.isdisjoint(option.name for option in OPTIONS)


def test_every_metric_says_what_it_is_in_one_line():
    for metric in METRICS.values():
        assert metric.meaning
        assert "\n" not in metric.meaning
        assert "|" not in metric.meaning  # it stands in a table


def test_the_example_in_the_page_is_a_scenario(tmp_path, packages, planar_3r_text):
    example = re.search(r"```yaml\n(title: My arm.*?)```", PAGE, re.DOTALL)[1]
    (tmp_path / "my_arm.urdf.xacro").write_text(planar_3r_text, encoding="utf-8")
    path = tmp_path / "my.yaml"
    path.write_text(example.replace("[0.2, 0.0, 0.0]", "[0.2, 0.0, 0.0]"), encoding="utf-8")
    document = Document(path, "scenario")
    assert read_scenario(document, packages) is not None, document.problems


def test_the_examples_in_the_page_use_known_keys_only():
    known = {key.name for table in (SCENARIO, ROBOT, NODES, PUSHES, EVENTS) for key in table}
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL):
        tops = {key.value for key, _ in yaml.compose(block).value}
        assert tops <= known | {key.name for key in TABLES["study"]}
