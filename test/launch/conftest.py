"""Fixtures for tests with launch files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from launched import Launched
from live import own_domain


@pytest.fixture
def launch(tmp_path) -> Iterator[Callable[..., Launched]]:
    begun: list[Launched] = []

    def begin(file: str, *arguments: str, prefix: str = "") -> Launched:
        begun.append(Launched(tmp_path, file, *arguments, prefix=prefix))
        return begun[-1]

    with own_domain():
        try:
            yield begin
        finally:
            for each in begun:
                each.end()
