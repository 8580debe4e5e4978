"""Node base_wrench_torque_estimator: ACT stage, a sensor under the base -> joint torques, motor efforts.

Each joint state results in one BaseWrenchEstimate with its stamp. Each desired joint reference results in one joint
reference whose motor efforts produce the desired effort at the links (core: base_wrench). An action calibrates the
sensor.
"""

from __future__ import annotations

from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.base_wrench.parameters import BASE_WRENCH_PARAMETERS
from flexarm_nodes.base_wrench.stage import built_base_wrench
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.ports import JOINTS, MARKERS, STATES, Input, Output, Ports, Role, needed
from flexarm_nodes.node.stage.node import StageNode


class BaseWrenchTorqueEstimator(StageNode):
    """Reads joint states, base wrenches and joint references; publishes estimates and motor efforts.

    A joint state is processed when the wrench of the same stamp has arrived (and the flexible state, if the base motion
    is taken from it), when the next joint state arrives, or after ``sensor_wait``, whichever is first.
    """

    NAME = "base_wrench_torque_estimator"
    HEARS = ("joints",)
    PARAMETERS = BASE_WRENCH_PARAMETERS

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        control, motion = values["control"], values["base_motion"]
        inputs = [
            STATES,
            Input(
                topics.DESIRED_JOINT_REFERENCE,
                JOINTS,
                needed(control),
                f"control {str(control).lower()}",
                (frozenset({"effort"}), frozenset({"position"})),
            ),
            Input(topics.wrench_topic(values["sensor"]), "WrenchStamped", because=f"sensor '{values['sensor']}'"),
        ]
        if motion == "flexible_state":
            inputs.append(Input(topics.FLEXIBLE_STATE, "FlexibleState", because=f"base_motion '{motion}'"))
        gives, role = frozenset({"effort", "friction"}), Role.LEADS if control else Role.SILENT
        return Ports(
            tuple(inputs),
            (
                Output(topics.BASE_WRENCH_ESTIMATE, "BaseWrenchEstimate"),
                Output(topics.JOINT_REFERENCE, JOINTS, role, gives, passes=True),
                MARKERS,
            ),
        )

    build_stage = staticmethod(built_base_wrench)
