"""Topic names and quality-of-service profiles, defined in one place."""

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

JOINT_STATES = "joint_states"
DYNAMIC_JOINT_STATES = "dynamic_joint_states"
JOINT_COMMANDS = "joint_commands"
ROBOT_DESCRIPTION = "robot_description"
FLEXIBLE_STATE = "flexible_state"
ODOMETRY = "odom"
CARTESIAN_REFERENCE = "cartesian_reference"
PATH_REFERENCE = "path_reference"
SET_POINT = "set_point"
JOINT_REFERENCE = "joint_reference"
RESET_GATE = "~/reset"
COMMANDED_REFERENCE = "commanded_reference"
BASE_REACTION = "base_reaction"
DIAGNOSTICS = "/diagnostics"
TF, TF_STATIC = "/tf", "/tf_static"
CLOCK = "/clock"
SIMULATION_STATUS = "simulation_status"
ADVANCE_SIMULATION = "~/advance"
GO_ON = "~/go_on"
APPLY_PUSH = "~/push"
TRUE_JOINT_STATES = "ground_truth/joint_states"
TRUE_TOOL_POSE = "ground_truth/tool_pose"
TRUE_TOOL_POSE_IN_BASE = "ground_truth/tool_pose_in_base"
DESIRED_JOINT_REFERENCE = "desired_joint_reference"
JOINT_TRAJECTORY = "joint_trajectory"
TRUE_FLEXIBLE_STATE = "ground_truth/flexible_state"
TRUE_CONTACT_WRENCH = "ground_truth/contact_wrench"
TRUE_JOINT_FRICTION = "ground_truth/joint_friction"
STRAIN = "strain"
REDUNDANCY_STATE = "redundancy_state"
FOLLOW_CARTESIAN_PATH = "follow_cartesian_path"
SOLVE_IK = "~/solve_ik"
BEHAVIOR_SET = "behavior_set"
BEHAVIOR_STATUS = "behavior_status"
SET_BEHAVIORS = "~/set_behaviors"
TWIST_COMMAND = "twist_command"
JOINT_VELOCITY_COMMAND = "joint_velocity_command"
JOINT_JOG = "joint_jog"
ZERO_WRENCH = "~/zero_wrench"
MARKERS = "~/markers"
BASE_WRENCH_ESTIMATE = "base_wrench_estimate"
CALIBRATE_BASE_WRENCH = "~/calibrate"
CALIBRATE_TOOL_WRENCH = "~/calibrate_tool_wrench"
FOLLOW_JOINT_TRAJECTORY = "joint_trajectory_follower/follow_joint_trajectory"
FOLLOWED_TRAJECTORY = "joint_trajectory_follower/joint_trajectory"
CONTROLLER_TRAJECTORY = "joint_trajectory_controller/joint_trajectory"


def _reliable(depth: int, durability: DurabilityPolicy = DurabilityPolicy.VOLATILE) -> QoSProfile:
    return QoSProfile(
        reliability=ReliabilityPolicy.RELIABLE, durability=durability, history=HistoryPolicy.KEEP_LAST, depth=depth
    )


# ros2_control's broadcasters and forward command controllers use the system default: reliable, volatile.
CONTROL = _reliable(10)
# A controller needs the newest sample: if it cannot keep up, older samples must not queue in front of it.
NEWEST = _reliable(1)
# Against the clock a sample that was lost is not sent again, as the next one is on its way. Publishers of either
# reliability are heard so, and a tick has no confirmations to send, to wake for and to read.
UNCONFIRMED = QoSProfile(reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=1)
LATCHED = _reliable(1, DurabilityPolicy.TRANSIENT_LOCAL)
MOVING_FRAMES = _reliable(100)
FRAMES = _reliable(100, DurabilityPolicy.TRANSIENT_LOCAL)  # each publisher of static transforms keeps its own
SHARED_DEPTH = 8  # messages that are kept of a topic on which others publish, too: theirs must not replace the newest
# Several changes may arrive between two samples, and none may be lost: if a queue is full, the sender waits.
CHANGES = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_ALL)
# A recorder must not lose a sample even if it lags far behind: the publisher keeps recorded samples that long.
# Commands and joint states are not kept: a subscriber that was blocked must not receive old ones.
EVERY_SAMPLE = _reliable(10000)


def shared(quality: QoSProfile) -> QoSProfile:
    """Return the quality of service of a subscription to a topic on which others publish, too."""
    return QoSProfile(
        reliability=quality.reliability, durability=quality.durability, history=quality.history, depth=SHARED_DEPTH
    )


def command_controller(mode: str) -> str:
    """Return the usual name of the forward command controller for ``effort``, ``velocity`` or ``position``."""
    return f"forward_{mode}_controller"


def command_topic(mode: str) -> str:
    """Return the command topic of that controller."""
    return f"{command_controller(mode)}/commands"


def wrench_topic(sensor: str) -> str:
    """Return the topic of a force/torque sensor: ``base_ft_sensor`` -> ``base_wrench``, ``tool`` -> ``tool_wrench``."""
    return f"{sensor.removesuffix('_ft_sensor').removesuffix('_sensor')}_wrench"


def imu_topic(sensor: str) -> str:
    """Return the topic of an inertial measurement unit: ``tool_imu`` for ``tool_imu`` and for ``tool``."""
    return f"{sensor.removesuffix('_imu')}_imu"
