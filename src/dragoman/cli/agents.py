"""`dragoman agent`: starts one of the ready agents.

Standard output is armoured before an agent's code is imported, so that nothing which that code drags in can
print into the conversation.
"""

from __future__ import annotations

import argparse

from dragoman.transport.stdio import claim_stdio


def run_echo(_: argparse.Namespace) -> int:
    claim_stdio()
    from dragoman import serve
    from dragoman.agents.echo import echo_agent

    serve(echo_agent())
    return 0
