"""Does to files of the current folder what one JSON text says: the hand of agents and of their commands.

It imports the standard library alone, and runs as `python -c` too, with the JSON as its argument.
"""

import base64
import json
import os
import sys


def apply(act: "dict[str, object]") -> None:
    for old, new in act.get("renames", []):  # type: ignore[attr-defined]
        os.makedirs(os.path.dirname(new) or ".", exist_ok=True)
        os.rename(old, new)
    for path, thing in act.get("writes", {}).items():  # type: ignore[attr-defined]
        if os.path.lexists(path) and (thing is None or "link" in thing or os.path.islink(path)):
            os.remove(path)
        if thing is None:
            continue
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        if "link" in thing:
            os.symlink(thing["link"], path)
            continue
        data = thing["text"].encode() if "text" in thing else base64.b64decode(thing["bytes"])
        with open(path, "wb") as file:
            file.write(data)
        if "mode" in thing:
            os.chmod(path, thing["mode"])


if __name__ == "__main__":
    apply(json.loads(sys.argv[1]))
