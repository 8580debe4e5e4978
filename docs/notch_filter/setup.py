from setuptools import setup

setup(
    name="notch_filter",
    version="0.1.0",
    packages=["notch_filter"],
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/notch_filter"]),
        ("share/notch_filter", ["package.xml"]),
    ],
    entry_points={
        "console_scripts": ["notch_filter = flexarm_nodes.start:notch_filter"],
        "flexarm.stages": ["notch_filter = notch_filter.stage:NOTCH_FILTER"],
    },
)
