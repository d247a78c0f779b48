"""The agent of the story, written for the official Python SDK and run by it.

A prompt's first word is an order. It runs under 0.12.1 and 1.0.0rc3 alike, because models are given their
discriminators.
"""

from __future__ import annotations

import asyncio
from typing import Any

from acp import (
    Client,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    run_agent,
)
from acp.schema import (
    AgentCapabilities,
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    ClientCapabilities,
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnvVariable,
    Implementation,
    PermissionOption,
    PlanEntry,
    PromptCapabilities,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UserMessageChunk,
)

OPTIONS = [
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="always", name="Always", kind="allow_always"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


def text(words: str) -> TextContentBlock:
    return TextContentBlock(type="text", text=words)


class StoryAgent:
    """Without the SDK's `Agent` as its base, which would demand every method of it.

    One session's mode and model are everybody's: the story has but one.
    """

    def __init__(self) -> None:
        self.mode = "plain"
        self.model = "small"
        self.notes: list[str] = []
        self.stopped = asyncio.Event()

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **kwargs: Any
    ) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=protocol_version,
            agent_info=Implementation(name="story", version="1"),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
            ),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        modes = [SessionMode(id="plain", name="Plain"), SessionMode(id="loud", name="Loud")]
        return NewSessionResponse(
            session_id="s-1",
            modes=SessionModeState(current_mode_id=self.mode, available_modes=modes),
            config_options=[self.config()],
        )

    def config(self) -> SessionConfigOptionSelect:
        values = [SessionConfigSelectOption(value=v, name=v.title()) for v in ("small", "large")]
        return SessionConfigOptionSelect(
            type="select", id="model", name="Model", current_value=self.model, options=values
        )

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> LoadSessionResponse:
        if session_id != "stored":
            raise RequestError.resource_not_found(session_id)
        earlier = UserMessageChunk(session_update="user_message_chunk", content=text("earlier"))
        await self.client.session_update(session_id, earlier)
        await self.say(session_id, "answered")
        return LoadSessionResponse()

    async def set_session_mode(
        self, session_id: str, mode_id: str, **kwargs: Any
    ) -> SetSessionModeResponse | None:
        self.mode = mode_id
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **kwargs: Any
    ) -> SetSessionConfigOptionResponse | None:
        self.model = str(value)
        return SetSessionConfigOptionResponse(config_options=[self.config()])

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        order, _, rest = prompt[0].text.partition(" ")
        stop = await getattr(self, f"do_{order}")(session_id, rest, prompt)
        return PromptResponse(stop_reason=stop or "end_turn")

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self.stopped.set()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method != "story/shout":
            raise RequestError.method_not_found(f"_{method}")
        return {"text": params["text"].upper()}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.notes.append(params["text"])

    # The orders.

    async def say(self, session_id: str, words: str) -> None:
        chunk = AgentMessageChunk(session_update="agent_message_chunk", content=text(words))
        await self.client.session_update(session_id=session_id, update=chunk)

    async def do_stream(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        thought = AgentThoughtChunk(session_update="agent_thought_chunk", content=text("hm"))
        await self.client.session_update(session_id, thought)
        entries = [
            PlanEntry(content="think", priority="high", status="completed"),
            PlanEntry(content="answer", priority="medium", status="in_progress"),
        ]
        await self.client.session_update(session_id, AgentPlanUpdate(session_update="plan", entries=entries))
        for word in ("one ", "two ", "three"):
            await self.say(session_id, word)

    async def do_tool(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        call, title = f"call-{rest}", f"Do it ({rest})"
        start = ToolCallStart(
            session_update="tool_call", tool_call_id=call, title=title, kind="edit", status="pending"
        )
        await self.client.session_update(session_id, start)
        asked = ToolCallUpdate(tool_call_id=call, title=title, kind="edit", status="pending")
        answer = await self.client.request_permission(session_id, asked, OPTIONS)
        allowed = answer.outcome.outcome == "selected" and answer.outcome.option_id in ("yes", "always")
        chosen = answer.outcome.option_id if answer.outcome.outcome == "selected" else "nothing"
        if allowed:
            await self.progress(session_id, call, status="in_progress")
        await self.progress(session_id, call, status="completed" if allowed else "failed")
        await self.say(session_id, f"{chosen} was chosen")

    async def progress(self, session_id: str, call: str, **fields: Any) -> None:
        update = ToolCallProgress(session_update="tool_call_update", tool_call_id=call, **fields)
        await self.client.session_update(session_id, update)

    async def do_read(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        try:
            answer = await self.client.read_text_file(session_id=session_id, path=rest, line=2, limit=1)
        except RequestError as error:
            await self.say(session_id, f"error {error.code}")
        else:
            await self.say(session_id, answer.content)

    async def do_write(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        path, _, content = rest.partition(" ")
        await self.client.write_text_file(session_id=session_id, path=path, content=content)
        await self.say(session_id, "written")

    async def do_run(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        start = ToolCallStart(
            session_update="tool_call", tool_call_id="call-run", title="Run", kind="execute"
        )
        await self.client.session_update(session_id, start)
        env = [EnvVariable(name="STORY", value="1")]
        created = await self.client.create_terminal(
            session_id=session_id, command="echo", args=["hello"], env=env, cwd="/story", output_byte_limit=99
        )
        shown = TerminalToolCallContent(type="terminal", terminal_id=created.terminal_id)
        await self.progress(session_id, "call-run", content=[shown])
        ended = await self.client.wait_for_terminal_exit(session_id, created.terminal_id)
        output = await self.client.terminal_output(session_id, created.terminal_id)
        await self.client.kill_terminal(session_id, created.terminal_id)
        await self.client.release_terminal(session_id, created.terminal_id)
        await self.progress(session_id, "call-run", status="completed")
        await self.say(session_id, f"{output.output} {ended.exit_code}")

    async def do_wait(self, session_id: str, rest: str, prompt: list[Any]) -> str:
        await self.say(session_id, "waiting")
        await self.stopped.wait()
        return "cancelled"

    async def do_refuse(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        raise RequestError.auth_required()

    async def do_crash(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        raise RuntimeError("the key is sk-story")

    async def do_future(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        """Something that no version knows yet; the SDK has no face for that."""
        update = {"sessionUpdate": "from_the_future", "when": 2030}
        connection: Any = self.client
        await connection._conn.send_notification(
            "session/update", {"sessionId": session_id, "update": update}
        )
        await self.say(session_id, "and back")

    async def do_extend(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        await self.client.ext_notification("story/hint", {"text": "psst"})
        answer = await self.client.ext_method("story/ask", {"question": "why"})
        await self.say(session_id, f"{answer['answer']}, {', '.join(self.notes)}")

    async def do_elicit(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        name = ElicitationStringPropertySchema(type="string", title="Name")
        form = ElicitationFormSessionMode(
            session_id=session_id,
            requested_schema=ElicitationSchema(properties={"name": name}, required=["name"]),
        )
        answer = await self.client.create_elicitation("Who are you?", form)
        given = answer.content["name"] if answer.action == "accept" and answer.content else "nobody"
        await self.say(session_id, f"Hello {given}")

    async def do_blocks(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        await self.say(session_id, " ".join(block.type for block in prompt))

    async def do_settings(self, session_id: str, rest: str, prompt: list[Any]) -> None:
        await self.say(session_id, f"{self.mode} {self.model}")


if __name__ == "__main__":
    agent: Any = StoryAgent()
    asyncio.run(run_agent(agent, use_unstable_protocol=True))
