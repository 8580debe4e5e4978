"""message_class: find the Python class of a message type by its name."""

from __future__ import annotations

import importlib
from typing import Any

from flexarm_core.errors import ConfigError


def message_class(type_name: str) -> Any:
    """Return the class of ``PACKAGE/msg/NAME``.

    Raises:
        ConfigError: the type is not installed, or is not a message.
    """
    package, kind, name = [*type_name.split("/"), "", ""][:3]
    if kind != "msg" or type_name.count("/") != 2:
        raise ConfigError(f"'{type_name}' is not of the form PACKAGE/msg/NAME")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"message type '{type_name}' is not installed: source the workspace that holds package '{package}'"
        ) from error
