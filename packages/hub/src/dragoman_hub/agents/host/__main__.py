"""The agent host's process: `python -m dragoman_hub.agents.host SOCKET [--NAME VALUE]… -- COMMAND…`; see
`host_process`. Only `launcher` starts it.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # asyncio and hashlib bring OpenSSL along where it can be had: a fifth of the memory of a process that
    # needs nothing of it.
    sys.modules.update(dict.fromkeys(("ssl", "_hashlib")))  # type: ignore[arg-type]  # None: not to be had

from dragoman_hub.agents.host.host_process import main, run_host

if __name__ == "__main__":
    # Everything is closed and removed by now; taking the interpreter apart would only take time.
    os._exit(main(sys.argv[1:], run_host))
