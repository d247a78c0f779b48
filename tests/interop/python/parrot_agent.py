"""An agent that repeats whichever version it is offered and answers in the first, as fast-agent 0.10 does."""

from __future__ import annotations

import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    version = request["params"]["protocolVersion"]
    result = {"protocolVersion": version, "agentCapabilities": {"loadSession": True}, "authMethods": []}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
