"""Responses that are kept, so that a client can go on with one by its id, read it again, or delete it.

They are kept in memory alone, bounded in number and in bytes: those that were used longest ago go first, and
all of them go with the process. A response belongs to the owner of the token it was made with. It keeps what
its own request brought and what the agent answered, and the id of the response before it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence

import msgspec
from msgspec import Struct

from dragoman_app.apps.openai.failures import ApiFailure
from dragoman_app.apps.openai.requests import ChatMessage

MOST_RESPONSES = 10_000
MOST_BYTES = 64 * 1024 * 1024


class StoredResponse(Struct, frozen=True, kw_only=True):
    """A response that can be continued."""

    id: str
    owner: Hashable
    previous_id: str | None
    instructions: str | None
    """What the session was told last; it need not be told again."""
    messages: Sequence[ChatMessage]
    """What was new in its request, and the answer."""
    session_id: str
    body: bytes
    """The response as it was sent."""

    @property
    def size(self) -> int:
        """Bytes that it takes, roughly."""
        return len(self.body) + len(msgspec.json.encode(self.messages)) + 500


class StoredResponses:
    """All of them, the one that was used longest ago first."""

    def __init__(self, *, most_responses: int = MOST_RESPONSES, most_bytes: int = MOST_BYTES) -> None:
        self._responses: OrderedDict[str, StoredResponse] = OrderedDict()
        self._bytes = 0
        self._most_responses = most_responses
        self._most_bytes = most_bytes

    def add(self, response: StoredResponse) -> None:
        """Keep it; others may have to go."""
        self._responses[response.id] = response
        self._bytes += response.size
        while len(self._responses) > self._most_responses or self._bytes > self._most_bytes:
            self._remove(next(iter(self._responses)))

    def find(self, response_id: str, *, owner: Hashable) -> StoredResponse | None:
        """The response of this id, if it is kept and belongs to this owner."""
        response = self._responses.get(response_id)
        return response if response is not None and response.owner == owner else None

    def delete(self, response: StoredResponse) -> None:
        """Forget it. What came after it can only go on while its session is open."""
        self._remove(response.id)

    def conversation(self, response: StoredResponse) -> list[ChatMessage]:
        """All messages up to the answer of this response. Raises `ApiFailure` if some are not kept."""
        chain = [response]
        while chain[-1].previous_id is not None:
            previous = self.find(chain[-1].previous_id, owner=response.owner)
            if previous is None:
                raise previous_not_found(chain[-1].previous_id)
            chain.append(previous)
        for link in reversed(chain):
            self._responses.move_to_end(link.id)
        return [message for link in reversed(chain) for message in link.messages]

    def _remove(self, response_id: str) -> None:
        self._bytes -= self._responses.pop(response_id).size


def previous_not_found(response_id: str) -> ApiFailure:
    """Said of a response to go on with, in the words that clients of the API know."""
    return ApiFailure(
        400,
        f"the previous response {response_id[:100]!r} is not kept here: it was made with `store` false or "
        "another token, was deleted, or the server was started anew. Send the whole conversation as `input`",
        param="previous_response_id",
        code="previous_response_not_found",
    )
