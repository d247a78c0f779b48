"""Imports the modules of a protocol version when their first name is used.

A version has hundreds of types, and making them takes longer than a small agent needs to start; most
programs use a few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def loader(package: str, topics: Mapping[str, Sequence[str]], names: dict[str, Any]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose modules, `topics`, hold these names. `names` is its
    namespace.
    """
    homes = {name: topic for topic, members in topics.items() for name in members}

    def load(name: str) -> Any:
        topic = homes.get(name)
        if topic is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{topic}")
        for known in topics[topic]:
            names[known] = getattr(module, known)
        return names[name]

    return load
