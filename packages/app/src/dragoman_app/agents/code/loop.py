"""The conversation with the model in one turn: ask, run the requested tools, send their results, ask again.

It ends when the model calls for nothing more, or with the protocol's reason for ending otherwise: too many
tokens, too many requests, a refusal. Whatever way it ends, the history stays one that a model takes; after a
refusal it is as it was before the prompt, as the protocol has it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic_ai.messages import (
    BinaryContent,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from dragoman import StopTurn
from dragoman.schema import v1
from dragoman_app.agents.code.compaction import Compaction
from dragoman_app.agents.code.cost import spend
from dragoman_app.agents.code.history import ModelHistory, interrupted_result
from dragoman_app.agents.code.model_request import ModelFailed, ModelRequests
from dragoman_app.agents.code.models import ModelClient, RequestOffer
from dragoman_app.agents.code.permission import PLAN
from dragoman_app.agents.code.tool_calls import CallResult, ModelCall, ToolCallRunner
from dragoman_app.agents.code.tools.tool import CoderTool

if TYPE_CHECKING:
    from typing import Literal

    from dragoman import KitTurn
    from dragoman_app.agents.code.conversation import CoderConversation

DONE = frozenset({"stop", "tool_call", None})


class TurnLoop:
    """Runs one turn."""

    def __init__(
        self,
        turn: KitTurn[CoderConversation],
        model: ModelClient,
        *,
        system: str,
        tools: Sequence[CoderTool[Any]],
    ) -> None:
        self._turn = turn
        self._model = model
        self._system = system
        self._calling = ToolCallRunner(turn, tools)
        self._message_id = ""
        self._asking = ModelRequests(model, hear=self._hear, tell=self._tell)
        self._compacting = Compaction(turn, model)

    @property
    def _history(self) -> ModelHistory:
        return self._turn.session.conversation.history

    async def run(self) -> None:
        """Run to the end of the turn."""
        history = self._history
        before = len(history)
        content = content_of(self._turn.prompt, images=self._model.takes_images)
        prompt = UserPromptPart(content=content)
        history.add(ModelRequest(parts=[prompt]))
        try:
            await self._converse(prompt)
        except StopTurn as stop:
            if stop.reason == "refusal":
                history.cut(min(before, len(history)))
            raise
        finally:
            history.break_off(self._asking.partial_text)

    async def _converse(self, prompt: UserPromptPart) -> None:
        while True:
            self._add_steering()
            response = await self._answer(prompt)
            if refusal := (response.provider_details or {}).get("refusal"):
                await self._hear("text", str(refusal))
            calls = self._take_response(response)
            if not calls and self._add_steering():
                continue
            if not calls:
                return
            results: dict[str, CallResult] = {}
            try:
                results = await self._calling([model_call(part) for part in calls])
            finally:
                results = results or self._calling.results
                returns = [
                    tool_return(part, results[part.tool_call_id])
                    for part in calls
                    if part.tool_call_id in results
                ]
                rest = [part for part in calls if part.tool_call_id not in results]
                self._history.add(ModelRequest(parts=[*returns, *map(interrupted_result, rest)]))

    def _add_steering(self) -> bool:
        """What the user has said since the last request goes into the next one; whether that is anything."""
        messages = self._turn.take_steering()
        for message in messages:
            self._turn.session.conversation.attach(message.prompt)
            content = content_of(message.prompt, images=self._model.takes_images)
            self._history.add(ModelRequest(parts=[UserPromptPart(content=content)]))
        return bool(messages)

    async def _answer(self, prompt: UserPromptPart) -> ModelResponse:
        """The next response; a conversation that has become too long is compacted for it."""
        if self._compacting.is_due:
            await self._compacting.run(prompt)
        for attempt in (1, 2):
            self._turn.count_request()
            self._message_id = str(uuid4())
            await self._turn.session.flush()  # what the model is about to know must outlive us
            try:
                response = await self._asking(
                    self._history.messages, self._offer(), thinking=str(self._turn.session["thinking"])
                )
            except ModelFailed as error:
                if error.fault.kind == "refused":
                    await self._hear("text", error.fault.words)
                    raise StopTurn("refusal") from None
                if error.fault.kind != "too_long" or attempt == 2:
                    raise error.fault.answer() from None
                await self._compacting.run(prompt)
            else:
                await spend(self._turn, response, self._model)
                return response
        raise AssertionError("the second attempt returns or raises")

    def _take_response(self, response: ModelResponse) -> list[ToolCallPart]:
        """Keep a response; the calls that it makes, or the end of the turn."""
        self._asking.partial_text = ""  # from here on it is part of the history
        if response.finish_reason == "content_filter":
            raise StopTurn("refusal")
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        if response.finish_reason == "length":
            # The last call is half a call, and nobody knows which of the others hang on it.
            response.parts = [part for part in response.parts if not isinstance(part, ToolCallPart)]
            calls = []
        if response.parts:
            self._history.add(response)
        if response.finish_reason == "length":
            raise StopTurn("max_tokens")
        return calls

    def _offer(self) -> RequestOffer:
        is_planning = self._turn.session.mode_id == PLAN
        tools = [tool for tool in self._calling.tools.values() if not (is_planning and tool.changes)]
        mode = (
            "You are planning only: you cannot change files or run commands. End with a plan for the user."
            if is_planning
            else ""
        )
        return RequestOffer(
            fixed_text=self._system, changing=mode, tools=[tool_definition(tool) for tool in tools]
        )

    async def _hear(self, kind: Literal["text", "thought"], text: str) -> None:
        if kind == "text":
            await self._turn.say(text, message_id=self._message_id)
        else:
            await self._turn.think(text, message_id=f"{self._message_id}-thought")

    async def _tell(self, words: str) -> None:
        await self._turn.notice(words, severity="warning")
        self._message_id = str(uuid4())  # what is said after it is another message


def tool_definition(tool: CoderTool[Any]) -> ToolDefinition:
    """Return a tool in the form of the model layer."""
    return ToolDefinition(
        name=tool.name, description=tool.description, parameters_json_schema=tool.schema, strict=False
    )


def model_call(part: ToolCallPart) -> ModelCall:
    """Return the tool call in a part of a response."""
    try:
        arguments: dict[str, Any] | None = part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        arguments = None
    return ModelCall(id=part.tool_call_id, name=part.tool_name, arguments=arguments)


def tool_return(part: ToolCallPart, result: CallResult) -> ToolReturnPart:
    """Return the result of a call in the form for the model."""
    pictures = [
        BinaryContent(data=picture.data, media_type=picture.media_type) for picture in result.pictures
    ]
    return ToolReturnPart(
        tool_name=part.tool_name,
        content=[result.text, *pictures] if pictures else result.text,
        tool_call_id=part.tool_call_id,
        outcome=result.outcome,
    )


# What the user sent, as the model gets it: words, pictures, and what was attached.
#
# An attached text goes in whole while it is short; the rest of a long one is there for the tool `fetch`. A
# link is told by its name and address: the model reads it when it wants to. A picture goes to models that
# take pictures, and is told in words to others, so that nobody believes it was seen.

ATTACHED = 24_000
"""The most characters of an attached text in the prompt."""


def content_of(blocks: Sequence[v1.ContentBlock], *, images: bool) -> list[UserContent]:
    """Return the content of the prompt, block by block in order."""
    return [item for block in blocks if (item := _item(block, images=images)) is not None]


def _item(block: v1.ContentBlock, *, images: bool) -> UserContent | None:
    match block:
        case v1.TextContent(text=text):
            return text
        case v1.ImageContent(data=data, mime_type=kind):
            return _binary(data, kind) if images else f"[A picture ({kind}) that you cannot see.]"
        case v1.ResourceLink(uri=uri, name=name):
            return f'<link name="{escape(name)}" uri="{escape(uri)}"/>'
        case v1.EmbeddedResource(resource=v1.TextResourceContents(uri=uri, text=text)):
            return _attachment_text(uri, text)
        case v1.EmbeddedResource(resource=v1.BlobResourceContents(uri=uri, blob=blob, mime_type=kind)):
            if images and isinstance(kind, str) and kind.startswith("image/"):
                return _binary(blob, kind)
            return f"[The attachment {uri} is not text, and is not shown.]"
        case _:
            return None


def _attachment_text(uri: str, text: str) -> str:
    more = ""
    if len(text) > ATTACHED:
        more = f"\n[{len(text) - ATTACHED} more characters; the tool fetch has them]"
    return f'<attachment uri="{escape(uri)}">\n{text[:ATTACHED]}{more}\n</attachment>'


def _binary(data: str, kind: str) -> UserContent:
    try:
        return BinaryContent(data=base64.b64decode(data, validate=True), media_type=kind)
    except (binascii.Error, ValueError):
        return "[A picture that cannot be decoded.]"
