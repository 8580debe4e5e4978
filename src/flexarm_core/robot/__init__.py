"""robot_description -> RobotDescription (what the text says) -> ArmModel (dynamics)."""
