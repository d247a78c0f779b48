"""A client's conversation over an open transport: the link, the router, and `initialize`.

`connect` loads this module when the agent's process has been started already.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import UNSET

from dragoman.errors import CallTimeout, HandshakeTimeout, VersionMismatch
from dragoman.runtime.limits import Limits
from dragoman.runtime.link import Link
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.schema.steering import steering_way
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.client.client import Client
from dragoman.sdk.client.side import ClientSide
from dragoman.sdk.inbound import read_result
from dragoman.transport.contract import Transport

SUPPORTED = (1,)


def open_conversation(
    transport: Transport, client: Client, limits: Limits, *, on_stray: Callable[[str], None] | None = None
) -> AgentHandle:
    """Start reading the agent's messages; call `handshake` next. Closing the handle's link ends the
    conversation.
    """
    side = ClientSide(client)
    link = Link(transport, side, name=client.link_name, limits=limits)
    link.on_stray = on_stray
    link.is_client = True
    agent = AgentHandle(link, side)
    side.attach(link, agent)
    link.start()
    return agent


async def handshake(agent: AgentHandle, client: Client, limits: Limits) -> None:
    request = v1.InitializeRequest(
        protocol_version=max(SUPPORTED),
        client_info=v1.Implementation(
            name=client.name, version=client.version, title=UNSET if client.title is None else client.title
        ),
        client_capabilities=client.capabilities(),
        meta=client.introduction_meta or UNSET,
    )
    try:
        raw = await agent.link.call("initialize", write(request), deadline=limits.handshake_seconds)
    except CallTimeout as late:
        stray = agent.link.stray.text
        raise HandshakeTimeout("the answer to initialize", late.seconds, stray=stray) from None
    answer = read_result(raw, v1.InitializeResponse, "initialize")
    if answer.protocol_version not in SUPPORTED:
        raise VersionMismatch(answer.protocol_version, SUPPORTED)
    agent.introduce(answer)
    if b"steer" in bytes(raw):  # an extension, which the messages of this version do not know
        agent.steering_way = steering_way(msgspec.json.decode(raw))
    if b"env_var" in bytes(raw):  # a draft of the protocol, which the messages of this version do not know
        from dragoman.sdk.login import read_env_methods

        agent.env_methods = read_env_methods(raw)
