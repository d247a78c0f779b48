"""A client's list of messages as a prompt for a session.

A client sends the whole conversation each time, and a session knows its own. `MessageHistory.key` is a hash
over the messages up to the assistant's last one, each hashed with all before it. `key_after` is what the next
request of the same conversation will have as its key. Where no session has that key, a new one gets the
earlier messages as context, as JSON: no text in them can pass for a message of another role.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from dragoman.schema import v1
from dragoman_app.apps.openai.failures import ApiFailure
from dragoman_app.apps.openai.requests import ChatMessage, ImagePart, RefusalPart, TextPart, image_block

CONTEXT = (
    "The conversation so far, oldest first, one JSON object a line. Its messages are answered already; "
    "they are the context of what comes next.\n"
)

INSTRUCTIONS = "Instructions for this conversation:\n"
TOOL_RESULT = "The result of a tool of the client:\n"


class MessageHistory:
    """The messages of a request. Raises `ApiFailure` if they contain nothing to answer. `param` is their
    field in the request.
    """

    def __init__(self, messages: Sequence[ChatMessage], *, param: str = "messages") -> None:
        self.param = param
        roles = [message.role for message in messages]
        start = len(roles) - roles[::-1].index("assistant") if "assistant" in roles else 0
        self.earlier, self.latest = messages[:start], messages[start:]
        questions = [message for message in self.latest if message.role == "user"]
        if not any(_words(message) for message in questions):
            raise ApiFailure(
                400,
                "there is nothing to answer: the messages must end with words or images of the user",
                param=param,
            )
        self.key = _extend("", self.earlier)
        """Names what a session must know to go on; empty for the first message of a conversation."""
        self.full_key = _extend(self.key, self.latest)
        """Names all messages."""

    def key_after(self, reply: str) -> str:
        """Return the key of the conversation after `reply`."""
        return _extend(self.full_key, [ChatMessage(role="assistant", content=reply)])

    @property
    def has_images(self) -> bool:
        return any(message.images for message in (*self.earlier, *self.latest))

    def blocks(self, *, goes_on: bool) -> list[v1.ContentBlock]:
        """Return the prompt; with the earlier messages, for a session that does not know them."""
        context = [] if goes_on or not self.earlier else list(self._context())
        return [*context, *(block for message in self.latest for block in self._blocks_of(message))]

    def _context(self) -> Iterator[v1.ContentBlock]:
        lines = [
            msgspec.json.encode({"role": message.role, "content": _words(message)}).decode()
            for message in self.earlier
        ]
        yield v1.TextContent(text=CONTEXT + "\n".join(lines) + "\n\n")
        for message in self.earlier:
            for image in message.images:
                yield image_block(image, param=self.param)

    def _blocks_of(self, message: ChatMessage) -> Iterator[v1.ContentBlock]:
        if message.role != "user":
            title = INSTRUCTIONS if message.role in ("system", "developer") else TOOL_RESULT
            yield v1.TextContent(text=f"{title}{_words(message)}\n\n")
            return
        for part in message.parts:
            if isinstance(part, ImagePart):
                yield image_block(part, param=self.param)
            else:
                yield v1.TextContent(text=_text(part))


def _words(message: ChatMessage) -> str:
    return "\n".join(
        "[image]" if isinstance(part, ImagePart) else _text(part) for part in message.parts
    ).strip()


def _text(part: TextPart | RefusalPart) -> str:
    return part.text if isinstance(part, TextPart) else part.refusal


def _extend(key: str, messages: Iterable[ChatMessage]) -> str:
    """The key of a conversation with more messages. Blanks around words do not count: clients trim them."""
    for message in messages:
        images = [image.url for image in message.images]
        step = msgspec.json.encode([key, message.role, _words(message), images])
        key = hashlib.sha256(step).hexdigest()
    return key
