"""Makes the end of a fork cheap: what it shares with its fork server is not taken apart.

When an interpreter ends it clears every module. A fork of a server that has imported thousands of them would
copy their memory to do so, which takes ten times as long as a short command. Whoever forks imports this
module first. Each fork then ends as an interpreter ends, with what it has imported and made itself.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys

_KEPT = ("__main__", "builtins", "sys")
_shared: dict[str, object] = {}


def _remember() -> None:
    _shared.update(sys.modules)


def _leave_shared_modules() -> None:
    """Behind everything else that is done at the end, because it was registered first."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_shared))  # for ever
    for name, module in _shared.items():
        if name not in _KEPT and sys.modules.get(name) is module:
            del sys.modules[name]


atexit.register(_leave_shared_modules)
os.register_at_fork(after_in_child=_remember)
