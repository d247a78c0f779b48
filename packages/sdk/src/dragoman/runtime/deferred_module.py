"""A stand-in for a module, which imports it when its first attribute is used.

asyncio takes longer to import than everything else that a program imports of the SDK. What is needed before
anything runs names asyncio in few places, most of them an `except` clause:

    if TYPE_CHECKING:
        import asyncio
    else:
        asyncio = DeferredModule("asyncio")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class DeferredModule:
    """Replaces a module until it is used. Names that were looked up become attributes."""

    def __init__(self, name: str) -> None:
        self._module_name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._module_name), name)
        setattr(self, name, value)
        return value
