"""INIT: the capabilities of each side, and whether both respect them."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.wire.envelope import Json
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.manifest import Side
from dragoman_check.recording import Frame
from dragoman_check.replies import frames_from, has_fallen_silent, has_spoken, requests_to, restarts
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.rules.handshake import handshakes, requested_version
from dragoman_check.rules.requests import is_probe, is_ready
from dragoman_check.shapes import method_of, read_frame
from dragoman_check.timeline import is_fair, is_in_use
from dragoman_check.walks import objects

FLAGS = frozenset({"loadSession", "terminal", "fs.readTextFile", "fs.writeTextFile", "mcpCapabilities.acp"})
"""Capabilities that are booleans; all others are objects."""

ALWAYS_READ = ("text", "resource_link")
"""The blocks that every agent accepts."""


def can(conversation: Conversation, side: Side, path: str) -> Json:
    """Return the advertised value of a capability; if a file has several connections, on any of them."""
    parts = path.split(".") if path else []
    value = conversation.agent_can(*parts) if side == "agent" else conversation.client_can(*parts)
    if is_offered(value) or not restarts(conversation):
        return value
    name = "result" if side == "agent" else "params"
    said_so = (getattr(call, name) for call in conversation.calls("initialize", direction="to_agent"))
    later_values = (_at(fields.get(f"{side}Capabilities"), parts) for fields in said_so)
    return next((later_value for later_value in later_values if is_offered(later_value)), value)


def _at(tree: object, parts: list[str]) -> Json:
    for part in parts:
        tree = tree.get(part) if type(tree) is dict else None
    return tree


def peer_of(side: Side) -> Side:
    return "client" if side == "agent" else "agent"


def is_offered(value: object) -> bool:
    """Whether a capability is offered: only true and objects count."""
    return value is True or type(value) is dict


def _frames_with_gate(conversation: Conversation, side: Side) -> Iterator[tuple[Frame, str]]:
    """Frames of a side that need a capability of its peer, with that capability."""
    if (
        conversation.initialize is None
        or conversation.initialize.answer is None
        or not conversation.initialize.has_result
    ):
        return
    for frame in frames_from(conversation, side):
        if frame.method and frame.number > conversation.initialize.answer.number:
            row = method_of(frame, conversation)
            if row is not None and row.capability:
                yield frame, row.capability


@rule("INIT-12", fix="Use only what the peer offered in the handshake: what it left out, it does not have.")
def nothing_is_used_that_was_not_offered(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame, path in _frames_with_gate(conversation, side):
        fine = is_offered(can(conversation, peer_of(side), path))
        yield observe(fine, frame, f"{frame.method} without {path}")


@rule("INIT-13", side="agent", fix="Serve any client, whatever it offers.")
def an_agent_takes_any_client(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        if (
            requested_version(handshake) != 1
            or read_frame(handshake.request, conversation).refusal is not None
        ):
            continue
        if handshake.answer is not None:
            yield observe(
                handshake.has_result,
                handshake.answer,
                "a client with these capabilities is refused",
                handshake.request,
            )
        elif has_fallen_silent(conversation, "agent", handshake.request):
            yield observe(
                False, handshake.request, "the agent sent nothing more to a client with these capabilities"
            )


@rule("INIT-13", side="client", fix="Work with any agent, whatever it offers.")
def a_client_takes_any_agent(conversation: Conversation) -> Iterator[Observation]:
    handshake = conversation.initialize
    if (
        handshake is None
        or handshake.answer is None
        or not handshake.has_result
        or handshake.result.get("protocolVersion") not in (1, 2)
    ):
        return
    if has_spoken(conversation, "client", handshake.answer):
        yield kept(handshake.answer)
    elif conversation.recording.facts.get("exit") not in (None, 0):
        yield observe(
            False, handshake.answer, "the client sent nothing more to an agent with these capabilities"
        )


@rule("INIT-14", fix="Read an object as yes, also an empty one, and null as no.")
def an_object_means_yes_and_null_means_no(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame, path in _frames_with_gate(conversation, side):
        value = can(conversation, peer_of(side), path)
        if path not in FLAGS and type(value) is dict:
            yield kept(frame)
        elif path not in FLAGS and value is None and _is_null(conversation, peer_of(side), path):
            yield observe(False, frame, f"{frame.method} although {path} is null")


@rule("INIT-14", unavoidable=True, fix="Serve what you advertise, or do not advertise it.")
def what_is_advertised_is_served(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        row = method_of(request.request, conversation)
        if (
            row is None
            or not row.capability
            or row.capability in FLAGS
            or not is_ready(conversation, request)
        ):
            continue
        if type(can(conversation, side, row.capability)) is dict and request.answer is not None:
            is_refused = request.code == -32601 or _is_refused_in_use(conversation, request)
            why = f"{row.capability} was advertised, and {request.method} was answered with {request.code}"
            yield observe(not is_refused, request.answer, why, request.request)


def _is_refused_in_use(conversation: Conversation, request: Exchange) -> bool:
    """Whether a request that nothing is wrong with was refused: about a session that this connection uses."""
    methods = ("session/resume", "session/close", "session/delete")
    return (
        request.method in methods
        and is_fair(conversation, request)
        and request.has_error
        and read_frame(request.request, conversation).refusal is None
        and is_in_use(conversation, request)
    )


def _is_null(conversation: Conversation, side: Side, path: str) -> bool:
    """Whether it is named, and null."""
    *folder, name = path.split(".")
    owner = can(conversation, side, ".".join(folder))
    return type(owner) is dict and name in owner and owner[name] is None


@rule("INIT-19", side="agent", fix="Answer initialize with agentCapabilities, also if there are none.")
def the_agent_names_its_capabilities(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        if handshake.has_result:
            has_capabilities = "agentCapabilities" in handshake.result or "capabilities" in handshake.result
            yield observe(has_capabilities, handshake.answer, "agentCapabilities are missing")


@rule("INIT-20", side="client", fix="Send clientCapabilities with initialize, also if there are none.")
def the_client_names_its_capabilities(conversation: Conversation) -> Iterator[Observation]:
    for handshake in handshakes(conversation):
        has_capabilities = "clientCapabilities" in handshake.params or "capabilities" in handshake.params
        yield observe(has_capabilities, handshake.request, "clientCapabilities are missing")


@rule("INIT-21", side="agent", fix="Implement session/new, session/prompt and session/cancel.", versions=(1,))
def the_baseline_is_there(conversation: Conversation) -> Iterator[Observation]:
    for call in conversation.calls("session/new", "session/prompt", direction="to_agent"):
        if call.answer is not None:
            yield observe(call.code != -32601, call.answer, f"{call.method} is unknown", call.request)


@rule(
    "INIT-22",
    side="agent",
    fix="Accept text and resource links in prompts: no capability is needed for them.",
)
def text_and_links_are_taken(conversation: Conversation) -> Iterator[Observation]:
    for prompt in ready_prompts(conversation):
        if "resource_link" in kinds_of(prompt):
            yield from _acceptance(conversation, prompt)


@rule("CONT-08", side="agent", fix="Accept text in prompts.")
def text_is_taken(conversation: Conversation) -> Iterator[Observation]:
    for prompt in ready_prompts(conversation):
        if "text" in kinds_of(prompt) and "resource_link" not in kinds_of(prompt):
            yield from _acceptance(conversation, prompt)


def _acceptance(conversation: Conversation, exchange: Exchange) -> Iterator[Observation]:
    """Whether a prompt was taken; a refusal counts if every agent takes what is in it."""
    plain = (
        all(kind in ALWAYS_READ for kind in kinds_of(exchange))
        and not read_frame(exchange.request, conversation).forgiven
    )
    if exchange.has_result:
        yield kept(exchange.answer)
    elif plain and exchange.code in (-32601, -32602):
        yield observe(False, exchange.answer, "a prompt that every agent takes was refused", exchange.request)


def ready_prompts(conversation: Conversation) -> Iterator[Exchange]:
    """Return readable prompts to an idle session that was opened here.

    A session of an earlier process may be lost although `session/resume` succeeded. That a prompt to it is
    refused says nothing about what is in the prompt.
    """
    since: dict[str, int] = {}  # from when on a session can be prompted
    setups = (
        "session/new",
        "session/load",
        "session/resume",
        "session/close",
        "session/delete",
        "session/prompt",
    )
    for call in conversation.calls(*setups, direction="to_agent"):
        session = (
            call.result.get("sessionId") if call.method == "session/new" else call.params.get("sessionId")
        )
        if type(session) is not str:
            continue
        end = call.answer.number if call.answer is not None else _NEVER
        if call.method == "session/prompt":
            if (
                since.get(session, _NEVER) < call.request.number
                and read_frame(call.request, conversation).refusal is None
            ):
                yield call
            if session in since:
                since[session] = max(since[session], end)
        elif call.method in ("session/close", "session/delete"):
            since.pop(session, None)
        elif call.has_result and (call.method == "session/new" or session in since):
            since[session] = end


_NEVER = 10**12


def kinds_of(exchange: Exchange) -> list[Json]:
    blocks = exchange.params.get("prompt")
    entries = blocks if type(blocks) is list else []
    return [block.get("type") if type(block) is dict else None for block in entries]


@rule("INIT-23", side="client", fix="Implement session/request_permission.")
def every_client_can_be_asked_for_permission(conversation: Conversation) -> Iterator[Observation]:
    for call in conversation.calls("session/request_permission", direction="to_client"):
        if call.answer is not None:
            yield observe(
                call.code != -32601, call.answer, "session/request_permission is unknown", call.request
            )


@rule("INIT-25", "EXT-09", fix="Announce what you add to the protocol under _meta of your capabilities.")
def additions_are_announced(conversation: Conversation, side: Side) -> Iterator[Observation]:
    first = conversation.initialize
    if first is None or not first.has_result:
        return
    said_so = any(
        "_meta" in fields for _, fields in objects(first.result if side == "agent" else first.params)
    )
    methods: set[str] = set()
    for request in requests_to(conversation, side):
        private = request.method.startswith("_") and not is_probe(request.method)
        if private and request.has_result and request.method not in methods:
            methods.add(request.method)
            yield observe(
                said_so,
                request.answer,
                "a private method is served, and _meta announces none",
                request.request,
            )


@rule(
    "INIT-26", side="agent", fix="Write loadSession as a boolean, session features as objects.", versions=(1,)
)
def load_is_a_flag_and_the_rest_are_objects(conversation: Conversation) -> Iterator[Observation]:
    handshake = conversation.initialize
    if handshake is None or not handshake.has_result or type(conversation.agent_can()) is not dict:
        return
    load, features = conversation.agent_can("loadSession"), conversation.agent_can("sessionCapabilities")
    yield observe(load is None or type(load) is bool, handshake.answer, "loadSession is not a boolean")
    if features is not None:
        fine = type(features) is dict and all(
            type(value) in (dict, type(None)) for value in features.values()
        )
        yield observe(fine, handshake.answer, "a member of sessionCapabilities is not an object")
