"""YAML files held against a schema, with problems by file and line."""
