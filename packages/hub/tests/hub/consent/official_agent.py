"""The same agent as `puppet.py` on the official Python SDK."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from acp import Client, InitializeResponse, NewSessionResponse, PromptResponse, RequestError, run_agent
from acp.schema import AllowedOutcome, EnvVariable, PermissionOption, ToolCallStart, ToolCallUpdate

from tests.hub.consent.puppet import OPTIONS, Evidence, steps_in, tool_call, wait_for


class OfficialPuppet:
    """Its turns run side by side: the SDK starts a task for each request."""

    client: Client

    def __init__(self) -> None:
        self.sessions = 0
        self.calls = 0
        self.cancelled: set[str] = set()

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        self.sessions += 1
        return NewSessionResponse(session_id=f"official-{self.sessions}")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.cancelled.add(session_id)

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> PromptResponse:
        self.cancelled.discard(session_id)
        first, *steps = steps_in("".join(block.text for block in prompt))
        here, is_permitted = Path(first["here"]), False
        self.calls += 1
        number = f"official-call-{self.calls}"
        for step in steps:
            if "announce" in step:
                start = {"sessionUpdate": "tool_call", **tool_call(step["announce"], number)}
                update = ToolCallStart.model_validate(start)
                await self.client.session_update(session_id=session_id, update=update)
            elif "ask" in step:
                is_permitted = await self._ask(session_id, step, number)
            elif "wait" in step:
                await asyncio.to_thread(wait_for, step["wait"])
            elif "own" in step["do"]:
                if is_permitted:
                    Evidence(here, step["mark"]).keep_text(step["do"]["own"])
            else:
                evidence = Evidence(here, step["mark"])
                try:
                    await self._do(session_id, step["do"], evidence)
                except RequestError as error:
                    evidence.refuse(f"{error} {error.data}")
                evidence.keep()
        return PromptResponse(stop_reason="cancelled" if session_id in self.cancelled else "end_turn")

    async def _ask(self, session_id: str, step: dict[str, Any], number: str) -> bool:
        call = {"toolCallId": number} if step["is_bare"] else tool_call(step["ask"], number)
        answer = await self.client.request_permission(
            session_id=session_id,
            tool_call=ToolCallUpdate.model_validate(call),
            options=[PermissionOption.model_validate(option) for option in OPTIONS],
        )
        return isinstance(answer.outcome, AllowedOutcome) and answer.outcome.option_id in ("yes", "always")

    async def _do(self, session_id: str, act: dict[str, Any], evidence: Evidence) -> None:
        if "write" in act:
            await self.client.write_text_file(session_id=session_id, path=act["write"], content=act["text"])
        elif "read" in act:
            answer = await self.client.read_text_file(session_id=session_id, path=act["read"])
            evidence.keep_text(answer.content)
        else:
            command, *words = act["run"]
            env = [EnvVariable(name=name, value=value) for name, value in act.get("env", {}).items()]
            terminal = await self.client.create_terminal(
                session_id=session_id, command=command, args=words, cwd=act["cwd"], env=env
            )
            named = {"session_id": session_id, "terminal_id": terminal.terminal_id}
            await self.client.wait_for_terminal_exit(**named)
            await self.client.release_terminal(**named)


async def main() -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(100))  # one for each turn that waits
    await run_agent(OfficialPuppet())  # type: ignore[arg-type]


if __name__ == "__main__":
    asyncio.run(main())
