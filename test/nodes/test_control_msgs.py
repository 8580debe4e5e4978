"""control_msgs: the interfaces that are generated where it is not installed speak to nodes that have the real ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_share_directory
from control_msgs.action import FollowJointTrajectory

from flexarm_tools.bag.frames import TF_HASH

# Type hashes (REP-2011) of control_msgs 5.8.0, made with rosidl 4.6.6 from its .action and .msg files:
# github.com/ros-controls/control_msgs, branch jazzy, commit f901df2662f22a39a06aa04a85a34602c47e3cc0.
PUBLISHED = {
    "action/FollowJointTrajectory": "RIHS01_738ebcb7a2d7cfa42f9f1001cc99ce3a4383d1cfe508015d9be8485e4b1c66f6",
    "msg/DynamicJointState": "RIHS01_18024c98a62697680f581108eeed40b28fb4542fa0ac5a8e36f56c62b6813d26",
    "msg/InterfaceValue": "RIHS01_74a12144ef6b7af67533195cb30f7f607d3301b66950208a72d280695f3e190c",
    "msg/JointComponentTolerance": "RIHS01_739ea7566931944d33830fa10f1bf5e7a7fbdc3172bce7a7eaac642bd6e3ffa4",
    "msg/JointJog": "RIHS01_ba249455a20f70168a1acb7bf43b776b72ff1f7eb5fc4cfea443f749e963c6e7",
    "msg/JointTolerance": "RIHS01_c254f9cece0f3b733017b6990fd46d1326e25242d6b8844398c97d9a88e7d648",
}


def test_type_hashes_are_those_of_the_published_package():
    share = Path(get_package_share_directory("control_msgs"))
    if hasattr(FollowJointTrajectory.Feedback(), "index"):
        pytest.skip("control_msgs of a later distribution has more fields")
    for name, published in PUBLISHED.items():
        told = json.loads((share / f"{name}.json").read_text(encoding="utf-8"))["type_hashes"]
        found = {one["type_name"]: one["hash_string"] for one in told}
        assert found[f"control_msgs/{name}"] == published


def test_the_type_hash_of_transforms_is_that_of_the_published_package():
    share = Path(get_package_share_directory("tf2_msgs"))
    told = json.loads((share / "msg/TFMessage.json").read_text(encoding="utf-8"))["type_hashes"]
    assert {one["type_name"]: one["hash_string"] for one in told}["tf2_msgs/msg/TFMessage"] == TF_HASH
