"""Messages to a peer whose dialect is still unknown, written so that every possible dialect understands them.

An agent's words become valid v1 without a decision: blocks and capabilities that v1 calls otherwise, codes of
errors that mean something else there. A client's first answer holds the words of every dialect that the
client may speak; v1 lets a reader ignore what it does not know.
"""

from __future__ import annotations

from collections.abc import Container

from msgspec import UNSET

from dragoman.dialect.edge import Edge, Out
from dragoman.dialect.message import Id, Message, Object, answer, as_object, as_text, update_of, with_params

ACPEX = frozenset({"acpex", "acpex-wire"})


def read_undecided(message: Message, request_method: str, candidates: frozenset[str], edge: Edge) -> Message:
    """Read an agent's message as valid v1; `request_method` is the method that it answers, if it is an
    answer.
    """
    if message.method == "session/update":
        return _with_valid_block(message, edge)
    if request_method == "initialize" and message.error is UNSET:
        return _with_capabilities(message)
    # Where it may as well be v1, its codes mean what they mean there: a login is wanted, a session not found.
    if message.is_answer and message.error is not UNSET and candidates & ACPEX and "v1" not in candidates:
        return _with_valid_code(message, request_method, edge)
    return message


def _with_valid_block(message: Message, edge: Edge) -> Message:
    update = update_of(message)
    kind = as_text(update.get("sessionUpdate"))
    if not kind.endswith("_chunk") or as_object(update.get("content")).get("type") in ("text", None):
        return message
    from dragoman.dialect.haven.content import read_block  # few conversations get here

    block = read_block(update["content"], edge)
    if block is update["content"]:
        return message
    return with_params(message, {**as_object(message.params), "update": {**update, "content": block}})


def _with_capabilities(message: Message) -> Message:
    """`capabilities` is what haven calls v1's; a list of tools in it is koog's, and no capability of v1."""
    result = as_object(message.result)
    capabilities = result.get("capabilities")
    if type(capabilities) is not dict or "agentCapabilities" in result or "tools" in capabilities:
        return message
    return answer(message.id, {**result, "agentCapabilities": capabilities})


def _with_valid_code(message: Message, request_method: str, edge: Edge) -> Message:
    from dragoman.dialect.acpex.codes import read_error  # few conversations get here

    error = read_error(
        message.error, request_method, lambda phrase: edge.note_repair(phrase.what, phrase.action)
    )
    return Message("2.0", message.id, UNSET, UNSET, UNSET, error)


def in_words_of(result: Object, candidates: Container[str]) -> Object:
    """The answer to `initialize` for a client that may speak any of these dialects, or v1."""
    fields = result
    if "acpex" in candidates or "acpex-wire" in candidates:
        from dragoman.dialect.acpex.overview import OverviewForm

        theirs = OverviewForm().introduction(result, lambda phrase: None)
        able = {**as_object(theirs.get("agentCapabilities")), **as_object(result.get("agentCapabilities"))}
        fields = {**theirs, **fields, "agentCapabilities": able}
    if "haven" in candidates:
        # v1 leaves them out where there are none; haven always has them.
        fields = {**fields, "capabilities": as_object(result.get("agentCapabilities"))}
    elif "koog" in candidates:
        from dragoman.dialect.koog.client import server_words

        fields = {**fields, **server_words(result)}
    return fields


class FirstAnswer(Edge):
    """The edge for a v1 client that may be koog: koog speaks v1, but expects other fields in the first
    answer.
    """

    def __init__(self, following: Edge, request_id: Id) -> None:
        super().__init__(following.settings, following.ledger)
        self._following = following
        self._request_id = request_id
        self._is_answered = False

    def succeeded_by(self) -> Edge:
        return self._following if self._is_answered else self

    def from_inside(self, message: Message) -> list[Out]:
        if self._is_answered or not message.is_answer or message.id != self._request_id:
            return [("peer", message)]
        self._is_answered = True
        result = as_object(message.result)
        return [("peer", answer(message.id, in_words_of(result, {"koog"})) if result else message)]
