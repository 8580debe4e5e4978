# What pixi sources: the package, once it is built.
if [ -e install/setup.sh ]; then . install/setup.sh; fi
