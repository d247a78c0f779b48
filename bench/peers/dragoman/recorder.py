"""What it costs to record what passes through a tap, with secrets hidden: real text, in blocks of 64 frames.

Printed as JSON: by the size of the text, the microseconds of the processor for each frame.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from dragoman_check.trace.tap.recorder import TapRecorder
from dragoman_check.trace.tap.secrets import SecretFilter
from texts import prose

SIZES = {20: 20_000, 1024: 2_000}
TOGETHER = 64
ENVIRONMENT = {"API_KEY": "abcdefgh1234", "HOME": "/home/somebody"}


def frame(text: str) -> bytes:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    params = {"sessionId": "sess_0123456789abcdef", "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def measure(size: int, count: int) -> float:
    frames = [frame(text) for text in prose(count, size)]
    blocks = [b"".join(frames[first : first + TOGETHER]) for first in range(0, count, TOGETHER)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tap.ndjson")
        recorder = TapRecorder(path, name="bench", secrets=SecretFilter(ENVIRONMENT), full=1 << 40, keep=1)
        start = time.process_time()
        for block in blocks:
            recorder.record("to_client", block)
        recorder.flush()
        used = time.process_time() - start
        assert recorder.entries == count
        recorder.close()
    return used / count * 1e6


if __name__ == "__main__":
    print(json.dumps({size: measure(size, count) for size, count in SIZES.items()}))
