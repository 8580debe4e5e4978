"""Environment variable that, where it is set, makes xacro files refused; see :mod:`flexarm_core.robot.load`."""

NO_XACRO = "FLEXARM_NO_XACRO"
