"""Writes a page from parameter tables: `python -m flexarm_nodes.docs.parameters FILE [STAGE...]`.

Without stages it is docs/parameters.md with the nodes of the suite; with them, a page on stages of other packages.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from flexarm_core.behavior_impedance.registry import OWN
from flexarm_nodes.behavior_impedance.parameters import kind_row, setting_rows
from flexarm_nodes.node.parameters import ARM_PARAMETERS, Parameter
from flexarm_nodes.registry import NODES, parameters_of

PAGE: dict[str, tuple[Parameter, ...]] = {"every node": ARM_PARAMETERS}
for _name in NODES:
    _title = f"{_name} (beside those of its stages, under their names)" if _name == "control_loop" else _name
    PAGE[_title] = parameters_of(_name)
    if _name == "behavior_impedance_controller":
        PAGE["behaviors"] = (kind_row("<name>"),)
        PAGE |= {f"behaviors of kind {kind.KIND}": setting_rows("<name>", kind) for kind in OWN}
HEAD = """# Parameters

Generated from the nodes' parameter tables by `python -m flexarm_nodes.docs.parameters docs/parameters.md`; a test
compares both. *Live* parameters may change while the node is active and take effect with the next sample. The node
reads the others when it is configured. Parameters marked *start* name files: set them when the node starts; later
changes can only clear them or restore the initial value.
"""


def markdown(tables: Mapping[str, tuple[Parameter, ...]] = PAGE, head: str = HEAD) -> str:
    """Return the page for parameter tables by node."""
    parts = [head]
    for name, rows in tables.items():
        parts.append(f"## {name}\n\n| parameter | type | default | unit | range | live | meaning |\n{'|---' * 7}|")
        parts += [_row(row) for row in rows]
        parts.append("")
    return "\n".join(parts)


def _row(row: Parameter) -> str:
    allowed = ", ".join(row.choices)
    if row.lower is not None or row.upper is not None:
        allowed = (
            f"{'-inf' if row.lower is None else f'{row.lower:g}'} to {'inf' if row.upper is None else f'{row.upper:g}'}"
        )
    default = f"`{row.default}`" if row.default != "" else ""
    changes = "yes" if row.live else "start" if row.at_start else ""
    unit, meaning = row.unit.replace("|", "or"), row.description.replace("|", "\\|")
    return f"| `{row.name}` | {row.kind} | {default} | {unit} | {allowed} | {changes} | {meaning} |"


if __name__ == "__main__":
    added = {name: parameters_of(name) for name in sys.argv[2:]}
    page = markdown(added, "# Parameters\n") if added else markdown()
    Path(sys.argv[1]).write_text(page, encoding="utf-8")
