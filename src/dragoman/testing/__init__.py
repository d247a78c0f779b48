"""What helps in testing: contract checks, raw and scripted peers, golden transcripts; for us and users."""

from dragoman.testing.faults import FAULTS, Variant, faulty
from dragoman.testing.golden import assert_golden, normalised
from dragoman.testing.raw_peer import RawPeer
from dragoman.testing.recording import RecordingTransport
from dragoman.testing.script.expecting import ScriptFailed
from dragoman.testing.script.script import Script
from dragoman.testing.script.statements import ScriptError
from dragoman.testing.scripted import ScriptedAgent, ScriptedClient
from dragoman.testing.talking import talking_to
from dragoman.testing.transcript import Passed, Transcript
from dragoman.testing.transports import check_transport

__all__ = [
    "FAULTS",
    "Passed",
    "RawPeer",
    "RecordingTransport",
    "Script",
    "ScriptError",
    "ScriptFailed",
    "ScriptedAgent",
    "ScriptedClient",
    "Transcript",
    "Variant",
    "assert_golden",
    "check_transport",
    "faulty",
    "normalised",
    "talking_to",
]
