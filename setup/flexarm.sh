#!/usr/bin/env bash
# The flexarm command with the overlay sourced; `make setup` puts it into .venv/bin.
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
exec "$root/setup/run" "$root/install/flexarm/lib/flexarm/flexarm" "$@"
