"""Environments for learning: runs of scenarios as environments of Gymnasium.

Importing this registers them: ``gymnasium.make("flexarm_tools.learning:flexarm/PlanarReach-v0")`` does.
"""

from flexarm_core.errors import ConfigError

try:
    import gymnasium
except ImportError as error:
    raise ConfigError("environments need Gymnasium: python3 -m pip install gymnasium") from error

ENVIRONMENTS = {
    "flexarm/Scenario-v0": "flexarm_tools.learning.environment:ScenarioEnv",
    "flexarm/PlanarReach-v0": "flexarm_tools.learning.planar_reach:PlanarReach",
}
for _name, _place in ENVIRONMENTS.items():
    gymnasium.register(_name, entry_point=_place)
