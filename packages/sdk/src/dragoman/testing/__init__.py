"""Helpers for tests, ours and yours: contract checks, raw and scripted peers, golden transcripts.

The names below are loaded when they are first used: a scripted agent is started as a process many times in a
test run, and the pytest plugin is loaded in every run of whoever installed us.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from dragoman.testing.faults import FAULTS, Variant, faulty
    from dragoman.testing.golden import assert_golden, normalise
    from dragoman.testing.memory_pair import talking_to
    from dragoman.testing.raw_peer import RawPeer
    from dragoman.testing.script.client_verbs import ScriptFailed
    from dragoman.testing.script.script import Script
    from dragoman.testing.script.statements import ScriptError
    from dragoman.testing.script_peers import ScriptedAgent, ScriptedClient
    from dragoman.testing.transcript import RecordingTransport, Transcript, TranscriptFrame
    from dragoman.testing.transports import check_transport

_HOMES = {
    "FAULTS": "faults",
    "TranscriptFrame": "transcript",
    "RawPeer": "raw_peer",
    "RecordingTransport": "transcript",
    "Script": "script.script",
    "ScriptError": "script.statements",
    "ScriptFailed": "script.client_verbs",
    "ScriptedAgent": "script_peers",
    "ScriptedClient": "script_peers",
    "Transcript": "transcript",
    "Variant": "faults",
    "assert_golden": "golden",
    "check_transport": "transports",
    "faulty": "faults",
    "normalise": "golden",
    "talking_to": "memory_pair",
}

__all__ = [
    "FAULTS",
    "RawPeer",
    "RecordingTransport",
    "Script",
    "ScriptError",
    "ScriptFailed",
    "ScriptedAgent",
    "ScriptedClient",
    "Transcript",
    "TranscriptFrame",
    "Variant",
    "assert_golden",
    "check_transport",
    "faulty",
    "normalise",
    "talking_to",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dragoman.testing' has no attribute {name!r}")
    value: object = getattr(_importlib.import_module(f"dragoman.testing.{home}"), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
