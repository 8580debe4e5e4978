"""The `flexarm` command: scenarios, runner, metrics, report and checks."""
