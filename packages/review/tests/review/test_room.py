"""What the room shows to others."""

import subprocess
import sys

import dragoman_review as room


def test_every_name_that_is_promised_is_there() -> None:
    assert sorted(room._HOMES) == sorted(room.__all__)
    assert all(getattr(room, name) is not None for name in room.__all__)


def test_a_worker_pays_for_no_event_loop() -> None:
    show = "import sys, dragoman_review.worker; print('asyncio' in sys.modules, 'subprocess' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
