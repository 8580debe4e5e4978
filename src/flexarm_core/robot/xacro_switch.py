"""Name of the environment variable that, if set, rejects xacro files; see :mod:`flexarm_core.robot.load`."""

NO_XACRO = "FLEXARM_NO_XACRO"
