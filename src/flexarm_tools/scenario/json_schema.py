"""JSON Schema of scenario, study and sweep files for editors, made from the tables with which the reader checks them.

It contains all checks that need only the file; the reader checks links, joints, nodes and ticks. A file with a base may
omit keys of the base, and delete them by an empty value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from flexarm_tools.metrics.all import METRICS, OPTIONS
from flexarm_tools.scenario.tables import FIGURES, NODES, NODES_OVER_BASE, SCENARIO, STUDY, SWEEP
from flexarm_tools.yaml_file.schema import Key, Kind

Schema = dict[str, Any]

_NULL: Schema = {"type": "null"}
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)|, see \[[^\]]*\]\([^)]*\)")


def schema_text() -> str:
    """Return the JSON Schema (draft 7, which all editors know) of scenario, study and sweep files."""
    schema: Schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "flexarm scenario, study or sweep",
        "type": "object",
        "if": {"required": ["runs"]},
        "then": {"$ref": "#/definitions/study"},
        "else": {
            "if": {"required": ["vary"]},
            "then": {"$ref": "#/definitions/sweep"},
            "else": {
                "if": {"required": ["base"], "properties": {"base": {"type": "string"}}},
                "then": {"$ref": "#/definitions/variation"},
                "else": {"$ref": "#/definitions/scenario"},
            },
        },
        "definitions": {
            "study": _section(STUDY),
            "sweep": _sweep(),
            "scenario": _section(SCENARIO),
            "variation": _section(SCENARIO, over_base=True),
            "figure": {"type": "object", "required": ["metric"], "allOf": [*_figures()]},
            "changed_figure": _section((*FIGURES, *OPTIONS), over_base=True),
            "parameters": _parameters("parameters"),
            "changed_parameters": _parameters("changed_parameters", _NULL),
        },
    }
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _section(keys: Iterable[Key], over_base: bool = False) -> Schema:
    """Return the schema of a section; over a base nothing is required but the executables of nodes."""
    keys = tuple(keys)
    required = [key.name for key in keys if key.required and (key.name == "executable" or not over_base)]
    properties = {}
    for key in keys:
        value = _value(key, over_base)
        if over_base or not key.required:
            value = _or_null(value)
        properties[key.name] = value | {"description": _description(key)}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _sweep() -> Schema:
    """Return the schema of a sweep, whose figures are laid over those of its scenario."""
    schema = _section(SWEEP)
    figures = next(key for key in SWEEP if key.name == "figures")
    schema["properties"]["figures"] = _or_null(_value(figures, True)) | {"description": _description(figures)}
    return schema


def _value(key: Key, over_base: bool) -> Schema:
    if key.kind is Kind.SECTION:
        return _section(key.keys, over_base)
    if key.kind is Kind.SECTIONS:
        # other lists than that of the nodes replace the list of the base
        changed = over_base and key.keys is NODES
        item = _section((*NODES, *NODES_OVER_BASE), True) if changed else _section(key.keys)
        return {"type": "array", "items": item}
    if key.kind is Kind.NAMED_SECTIONS:
        figure = {"$ref": "#/definitions/changed_figure" if over_base else "#/definitions/figure"}
        return _mapping(key, _section(key.keys) if key.keys else figure, over_base)
    if key.kind is Kind.TEXT_MAPPING:
        return _mapping(key, _text(key), over_base)
    if key.kind is Kind.NUMBER_MAPPING:
        return _mapping(key, {"type": "number"}, over_base)
    if key.kind is Kind.PARAMETERS:
        return {"$ref": f"#/definitions/{'changed_' * over_base}parameters"}
    if key.kind is Kind.TEXTS:
        return {"type": "array", "items": _text(key), "minItems": 1}
    if key.kind is Kind.VECTOR:
        return {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
    if key.kind in (Kind.NUMBERS, Kind.VALUES):
        kinds = ["number"] if key.kind is Kind.NUMBERS else ["number", "string", "boolean"]
        return {"type": "array", "items": {"type": kinds}, "minItems": 1}
    if key.kind is Kind.BOOLEAN:
        return {"type": "boolean"}
    if key.kind is Kind.NUMBER:
        bounds = {"minimum": key.minimum, "exclusiveMinimum": key.above, "exclusiveMaximum": key.below}
        return {"type": "number"} | {name: bound for name, bound in bounds.items() if bound is not None}
    return _text(key)


def _text(key: Key) -> Schema:
    if key.choices:
        return {"enum": list(key.choices)}
    if key.form is None:
        return {"type": ["string", "number", "boolean"], "pattern": r"\S"}
    whole = {"type": "string", "pattern": f"^({key.form.pattern})$"}
    return whole | {"type": ["string", "integer"]} if key.form.fits("1") else whole


def _mapping(key: Key, value: Schema, over_base: bool) -> Schema:
    names = {"propertyNames": {"pattern": f"^({key.names.pattern})$"}} if key.names else {}
    return {"type": "object", "additionalProperties": _or_null(value) if over_base else value} | names


def _parameters(name: str, *others: Schema) -> Schema:
    scalars: list[Schema] = [{"type": kind} for kind in ("boolean", "number", "string")]
    lists: list[Schema] = [{"type": "array", "items": scalar, "minItems": 1} for scalar in scalars]
    value = {"anyOf": [*scalars, *lists, {"$ref": f"#/definitions/{name}"}, *others]}
    return {"type": "object", "additionalProperties": value}


def _figures() -> Iterable[Schema]:
    """Yield the keys of a figure by its metric, then for a metric that does not exist."""
    yield {"properties": {"metric": {"enum": list(METRICS)}}}
    metrics: dict[tuple[Key, ...], list[str]] = {}
    for name, metric in METRICS.items():
        metrics.setdefault(metric.options, []).append(name)
    for options, names in metrics.items():
        chosen = {"required": ["metric"], "properties": {"metric": {"enum": names}}}
        yield {"if": chosen, "then": _section((*FIGURES, *options))}


def _or_null(value: Schema) -> Schema:
    """Return the schema of a value that may also be empty."""
    if "enum" in value:
        return value | {"enum": [*value["enum"], None]}
    if "$ref" in value:
        return {"anyOf": [value, _NULL]}
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    return value | {"type": [*kinds, "null"]}


def _description(key: Key) -> str:
    meaning = _LINK.sub(lambda link: link[1] or "", key.meaning)
    unit = f" [{key.unit}]" if key.unit else ""
    return f"{meaning}{unit}; default: {key.default}" if key.default else f"{meaning}{unit}"
