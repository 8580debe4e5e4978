"""`pip install .`: the mathematics and the simulated plant for a plain Python; the nodes and the command need ROS 2."""

from xml.etree import ElementTree

from setuptools import find_packages, setup

manifest = ElementTree.parse("package.xml").getroot()

setup(
    name="flexarm",
    version=manifest.findtext("version"),
    description="Arms that bend and arms on things that bend: mathematics and simulation.",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.10",
    package_dir={"": "src"},
    packages=find_packages("src", include=["flexarm_core*", "flexarm_sim*"]),
    package_data={"flexarm_core": ["py.typed"], "flexarm_sim": ["py.typed"]},
    include_package_data=True,
    install_requires=["numba", "numpy", "scipy", "pin>=2.7", "PyYAML", "toppra", "urdf-parser-py", "xacro"],
    extras_require={"sim": ["mujoco>=3.3.6"], "learning": ["gymnasium>=1.0"], "optimize": ["optuna>=4.0"]},
    # Not empty, so that the scripts of setup.cfg are not taken from there: without ROS 2 they could not start.
    entry_points="[console_scripts]\n",
)
