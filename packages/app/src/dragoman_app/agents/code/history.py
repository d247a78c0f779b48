"""The model's messages of a conversation, stored with the session so that loading restores them.

Each message is remembered as it is made, so a process that dies loses nothing that was complete. What is
stored is pydantic-ai's own form; it is read when the first prompt comes, because that takes the library. A
call that got no result, because its turn was cut short, is given one that says so: models refuse a
conversation with a call that nobody answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

if TYPE_CHECKING:
    from dragoman import KitSession

CUT_SHORT = "This call was cut short before it had a result. Part of what it does may have happened."


class ModelHistory:
    """The messages of one session."""

    def __init__(self, session: KitSession[Any]) -> None:
        self._session = session
        self.messages = list(_replay(session.memories))
        self._answer_calls()

    def __len__(self) -> int:
        return len(self.messages)

    def add(self, message: ModelMessage) -> None:
        self.messages.append(message)
        self._session.remember({"message": _plain([message])[0]})

    def cut(self, length: int) -> None:
        """Remove all messages after the first `count`."""
        if length < len(self.messages):
            del self.messages[length:]
            self._session.remember({"cut": length})

    def replace(self, messages: Sequence[ModelMessage]) -> None:
        """Continue with these messages instead of all earlier ones."""
        self.messages = list(messages)
        self._session.forget()
        for message in _plain(self.messages):
            self._session.remember({"message": message})

    def break_off(self, text: str) -> None:
        """Handle a turn that ended in the middle: keep the model's output, and add a result for each open
        call.
        """
        last = self.messages[-1] if self.messages else None
        if text and isinstance(last, ModelRequest):
            self.add(ModelResponse(parts=[TextPart(content=text)]))
        self._answer_calls()

    def _answer_calls(self) -> None:
        last = self.messages[-1] if self.messages else None
        if isinstance(last, ModelResponse) and (calls := list(_calls(last))):
            self.add(ModelRequest(parts=[interrupted_result(call) for call in calls]))


def interrupted_result(call: ToolCallPart) -> ToolReturnPart:
    """Return the result of a call that was interrupted."""
    return ToolReturnPart(
        tool_name=call.tool_name, content=CUT_SHORT, tool_call_id=call.tool_call_id, outcome="interrupted"
    )


def as_text(messages: Sequence[ModelMessage]) -> str:
    """Return the conversation as plain text, for the model's summary."""
    return "\n\n".join(line for message in messages for line in _lines(message))


def _lines(message: ModelMessage) -> Iterator[str]:
    for part in message.parts:
        match part:
            case UserPromptPart(content=content):
                yield f"User: {content if isinstance(content, str) else _words(content)}"
            case TextPart(content=content):
                yield f"Assistant: {content}"
            case ToolCallPart(tool_name=name):
                yield f"Assistant called {name}: {part.args_as_json_str()}"
            case ToolReturnPart(tool_name=name):
                yield f"{name} answered: {part.model_response_str()}"
            case _:
                pass  # thoughts are gone by the next turn anyway


def _words(content: Sequence[Any]) -> str:
    return "\n".join(item if isinstance(item, str) else "[attachment]" for item in content)


def _calls(response: ModelResponse) -> Iterator[ToolCallPart]:
    return (part for part in response.parts if isinstance(part, ToolCallPart))


def _plain(messages: Sequence[ModelMessage]) -> list[Any]:
    plain: list[Any] = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return plain


def _replay(memories: Sequence[Any]) -> list[ModelMessage]:
    messages: list[Any] = []
    for memory in memories:
        match memory:
            case {"message": message}:
                messages.append(message)
            case {"cut": int(length)}:
                del messages[length:]
            case _:
                pass  # somebody else's, or a later version's
    return ModelMessagesTypeAdapter.validate_python(messages)
