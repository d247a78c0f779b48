"""An agent for tests of cuts: answers each numbered notification with three numbered ones, padded."""

import json
import sys

sent = 0
for line in sys.stdin:
    heard = json.loads(line)["params"]["number"]
    for part in range(3):
        sent += 1
        params = {"number": sent, "heard": heard, "part": part, "padding": "x" * (heard * 37 % 700)}
        print(json.dumps({"jsonrpc": "2.0", "method": "count", "params": params}), flush=True)
