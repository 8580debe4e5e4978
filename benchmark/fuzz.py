"""The long fuzz campaign: some 4,000 mutants of every kind of input through the readers, and some through the commands.

Commands also get arguments that name places which nothing can be read from, or written to. ``--cases``, ``--commands``,
``--places`` and ``--seed`` change it, ``--json`` prints the table as JSON. Exit status 0: every mutant ended in a clear
error, or was accepted and means something.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import fuzzing


def main() -> int:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=4000)
    parser.add_argument("--commands", type=int, default=45)
    parser.add_argument("--places", type=int, default=44)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    outcomes = fuzzing.run_campaign(options.cases, options.seed) + fuzzing.run_commands(options.commands, options.seed)
    outcomes += fuzzing.run_places(options.places, options.seed)
    table = fuzzing.tabulate(outcomes)
    if options.json:
        print(json.dumps(table, indent=1))
    else:
        print(f"{'kind of input':22}" + "".join(f"{column:>20}" for column in fuzzing.COLUMNS))
        for name, row in table.items():
            print(f"{name:22}" + "".join(f"{row[column]:>20}" for column in fuzzing.COLUMNS))
    for fault in fuzzing.faults(outcomes):
        print(fault, file=sys.stderr)
    return 0 if not any(table["all"][column] for column in fuzzing.MUST_BE_ZERO) else 1


if __name__ == "__main__":
    sys.exit(main())
