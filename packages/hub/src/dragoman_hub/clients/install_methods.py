"""`_dragoman/hub/agents/…`: an administrator installs agents of the list, and removes them."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from msgspec import Raw

from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman.wire.codes import invalid_request
from dragoman.wire.envelope import JsonObject
from dragoman_hub.agents.installation import AgentInstaller
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.clients.request_checks import named_agent
from dragoman_hub.gate.table import FORBIDDEN, PassedParams

NOBODY = "this hub was started without settings, so it knows no agents but those that it was given"
T = TypeVar("T")


class InstallMethods:
    """The five methods; the gate has checked scopes, and the token's agents."""

    def __init__(self, hub: ClientHub) -> None:
        self._hub = hub

    async def registry(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`agents/registry`: agents that can be added, and added ones; nothing is downloaded."""
        installer, may_use = self._hub.installer, client.grant.may_use
        if installer is None:
            return {"made": "", "origin": "", "agents": [], "installed": [], "refusal": NOBODY, "job": None}
        found = await _mistakes(installer.listed(set(self._hub.pool.seats)))
        return {
            **found,
            "agents": [agent for agent in found["agents"] if may_use(agent["name"])],
            "installed": [agent for agent in found["installed"] if may_use(agent["name"])],
            "refusal": installer.refusal,
            "job": self._job(client),
        }

    async def install(self, client: HubClient, params: PassedParams) -> JsonObject:
        """`agents/install`: start the plan; `agents/install/status` reports the progress."""
        agent, plan = named_agent(params), client.text(params, "plan")
        installer = await self._installer(client, "install", agent)
        job = await _mistakes(installer.begin(agent, plan=plan, by=client.grant.name))
        if job is not None:
            self._hub.owner.start(installer.run(job))
        return {"job": self._job(client)}

    async def status(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`agents/install/status`: the running installation, or the last one."""
        return {"job": self._job(client)}

    async def cancel(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`agents/install/cancel`: answered when the incomplete files are removed."""
        if self._hub.installer is not None and self._job(client) is not None:
            await self._hub.installer.cancel()
        return {"job": self._job(client)}

    async def uninstall(self, client: HubClient, params: PassedParams) -> JsonObject:
        """`agents/uninstall`: remove an agent with all its versions."""
        agent = named_agent(params)
        installer = await self._installer(client, "uninstall", agent)
        pool = self._hub.pool
        version = await _mistakes(
            installer.remove(agent, by=client.grant.name, end=lambda: pool.dismiss(agent))
        )
        return {"removed": bool(version), "version": version}

    async def _installer(self, client: HubClient, act: str, agent: str) -> AgentInstaller:
        installer = self._hub.installer
        if installer is None:
            raise _refused(NOBODY)
        if installer.refusal:
            await _mistakes(
                installer.write_down(
                    act, agent[:80], f"{act} {agent[:80]}", by=client.grant.name, is_allowed=False
                )
            )
            raise _refused(installer.refusal)
        return installer

    def _job(self, client: HubClient) -> JsonObject | None:
        job = None if self._hub.installer is None else self._hub.installer.job
        return None if job is None or not client.grant.may_use(job.agent) else job.describe()


async def _mistakes(work: Awaitable[T]) -> T:
    """Its result; what cannot be done is told to the client."""
    try:
        return await work
    except LocalMistake as mistake:
        raise invalid_request(str(mistake)) from None


def _refused(why: str) -> ErrorAnswer:
    return ErrorAnswer(FORBIDDEN, f"Forbidden: {why}", {"setting": "agent_installs"})
