"""YAML files checked against a schema; problems are reported by file and line."""
