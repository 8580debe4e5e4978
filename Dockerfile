# flexarm in a ROS 2 installation, tests left out:
#   docker build -t flexarm .                                     # or --build-arg DISTRIBUTION=kilted
#   docker run --rm -it --network host --ipc host flexarm flexarm demo planar
ARG DISTRIBUTION=jazzy
FROM ros:${DISTRIBUTION} AS dependencies
SHELL ["/bin/bash", "-c"]
# What only PyPI has goes into the Python of ROS 2, as rosdep does it, with a pip that the image lacks.
ENV PIP_BREAK_SYSTEM_PACKAGES=1
WORKDIR /workspace
COPY package.xml src/flexarm/
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-pip \
    && rosdep update --rosdistro $ROS_DISTRO \
    && DEBIAN_FRONTEND=noninteractive rosdep install --from-paths src --ignore-src --rosdistro $ROS_DISTRO -y \
    && pip install viser \
    && rm -rf /var/lib/apt/lists/*

FROM dependencies
COPY . src/flexarm
RUN source /opt/ros/$ROS_DISTRO/setup.bash && colcon build --cmake-args -DBUILD_TESTING=OFF
# The image's own entry point sources only ROS 2.
ENTRYPOINT ["/bin/bash", "-c", "source install/setup.bash && export PATH=/workspace/install/flexarm/lib/flexarm:$PATH && exec \"$@\"", "flexarm"]
CMD ["bash"]
