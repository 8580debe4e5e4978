"""robot_description text -> RobotDescription (its content) -> ArmModel (dynamics)."""
