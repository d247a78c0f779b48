"""CONT: content blocks, in prompts, messages and the output of tools."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.conversation import Conversation, update_of
from dragoman_check.manifest import Side
from dragoman_check.recording import Frame
from dragoman_check.replies import frames_from
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.rules.capabilities import ready_prompts
from dragoman_check.shapes import read_frame

CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
TOOLS = ("tool_call", "tool_call_update")
KINDS = ("text", "image", "audio", "resource_link", "resource")
NEEDS: dict[str, str] = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
"""Blocks that a prompt may contain only if the agent has a prompt capability."""

UNOBSERVED: dict[str, str] = {
    "CONT-03": "how a client displays text cannot be seen on the wire",
    "CONT-09": "a preference; a link may be the better choice for many reasons",
    "CONT-11": "whether content came from an MCP server cannot be seen on the wire",
}


def blocks(frame: Frame) -> Iterator[tuple[str, Json]]:
    """Return the content blocks of a frame, of any kind, each with its place."""
    if frame.method == "session/prompt":
        yield from _items("$.prompt", frame.params.get("prompt"))
    elif frame.method == "session/update":
        update = update_of(frame)
        if update.get("sessionUpdate") in CHUNKS and "content" in update:
            yield "$.update.content", update["content"]
        elif update.get("sessionUpdate") in TOOLS:
            yield from _of_tool("$.update", update)
    elif frame.method == "session/request_permission":
        call = frame.params.get("toolCall")
        yield from _of_tool("$.toolCall", call if type(call) is dict else {})


def _items(path: str, value: object) -> Iterator[tuple[str, Json]]:
    for at, item in enumerate(value if type(value) is list else ()):
        yield f"{path}[{at}]", item


def _of_tool(path: str, call: JsonObject) -> Iterator[tuple[str, Json]]:
    for place, item in _items(f"{path}.content", call.get("content")):
        if type(item) is dict and item.get("type") == "content" and "content" in item:
            yield f"{place}.content", item["content"]


def _blocks_of_kinds(
    conversation: Conversation, side: Side, *kinds: str
) -> Iterator[tuple[Frame, str, JsonObject]]:
    """The blocks of some kinds that a side sends."""
    for frame in frames_from(conversation, side):
        for path, block in blocks(frame) if frame.method else ():
            if type(block) is dict and block.get("type") in kinds:
                yield frame, path, block


def _lacks(block: JsonObject, **kinds: tuple[type, ...]) -> str:
    """The first member that is not of one of its types."""
    return next((name for name, types in kinds.items() if type(block.get(name)) not in types), "")


TEXT = (str,)
MAYBE_TEXT = (str, type(None))


@rule("CONT-01", fix="Send blocks of the five types: text, image, audio, resource_link, resource.")
def a_block_has_a_type(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame in frames_from(conversation, side):
        for path, block in blocks(frame) if frame.method else ():
            if type(block) is not dict:
                yield observe(False, frame, f"{path} is not an object")
                continue
            kind = block.get("type")
            # A kind that begins with an underscore is somebody's own.
            if type(kind) is not str or not kind.startswith("_"):
                yield observe(kind in KINDS, frame, f"{path}.type is not one of the five")


@rule("CONT-02", fix="Give a text block a text.")
def a_text_block_has_text(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame, path, block in _blocks_of_kinds(conversation, side, "text"):
        yield observe(type(block.get("text")) is str, frame, f"{path}.text is not a string")


@rule("CONT-04", fix="Give images and sounds base64 data and a mimeType.")
def pictures_and_sounds_are_base64(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame, path, block in _blocks_of_kinds(conversation, side, "image", "audio"):
        missing = _lacks(block, data=TEXT, mimeType=TEXT)
        if not missing and block["type"] == "image":
            missing = _lacks(block, uri=MAYBE_TEXT)
        if missing:
            yield observe(False, frame, f"{path}.{missing} is not a string")
        else:
            yield observe(_is_base64(block["data"]), frame, f"{path}.data is not base64")


def _is_base64(text: str) -> bool:
    try:
        b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


@rule("CONT-05", fix="Give a resource link a uri and a name.")
def a_link_has_an_address_and_a_name(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame, path, block in _blocks_of_kinds(conversation, side, "resource_link"):
        wrong = _lacks(
            block,
            uri=TEXT,
            name=TEXT,
            title=MAYBE_TEXT,
            description=MAYBE_TEXT,
            mimeType=MAYBE_TEXT,
            size=(int, type(None)),
        )
        yield observe(not wrong, frame, f"{path}.{wrong} is missing or of the wrong type")


@rule("CONT-06", fix="Give a resource its uri, and either text or blob.")
def a_resource_has_text_or_bytes(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame, path, block in _blocks_of_kinds(conversation, side, "resource"):
        inner = block.get("resource")
        if type(inner) is not dict or type(inner.get("uri")) is not str:
            yield observe(False, frame, f"{path}.resource has no uri")
            continue
        halves = [name for name in ("text", "blob") if type(inner.get(name)) is str]
        fine = bool(halves) and (halves != ["blob"] or _is_base64(inner["blob"]))
        yield observe(fine, frame, f"{path}.resource has neither text nor base64 bytes")


@rule(
    "CONT-07",
    side="client",
    fix="Put images, sounds and resources only into prompts for agents that take them.",
)
def prompts_hold_what_the_agent_takes(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None or not conversation.initialize.has_result:
        return
    inside = ("session", "prompt") if conversation.version == 2 else ("promptCapabilities",)
    for call in conversation.calls("session/prompt", direction="to_agent"):
        for path, block in blocks(call.request):
            kind = block.get("type") if type(block) is dict else None
            if type(kind) is str and kind in NEEDS:
                can = conversation.agent_can(*inside, NEEDS[kind])
                why = f"{path} is of type {kind}, and the agent did not offer {NEEDS[kind]}"
                yield observe(can is True or type(can) is dict, call.request, why)


@rule("CONT-10", fix="Write annotations as the schema has them: audience, lastModified, priority.")
def annotations_are_well_formed(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame, path, block in _blocks_of_kinds(conversation, side, *KINDS):
        notes = block.get("annotations")
        if notes is not None:
            yield observe(_are_notes(notes), frame, f"{path}.annotations are malformed")


def _are_notes(notes: object) -> bool:
    if type(notes) is not dict:
        return False
    audience = notes.get("audience")
    people = audience is None or (
        type(audience) is list and all(reader in ("user", "assistant") for reader in audience)
    )
    return people and not _lacks(notes, lastModified=MAYBE_TEXT, priority=(int, float, type(None)))


@rule("CONT-10", side="agent", fix="Drop annotations that you cannot read, and keep the block.")
def broken_annotations_do_no_harm(conversation: Conversation) -> Iterator[Observation]:
    for prompt in ready_prompts(conversation):
        deviations = read_frame(prompt.request, conversation).forgiven
        if any(".annotations" in deviation.path for deviation in deviations):
            if prompt.has_result:
                yield kept(prompt.answer)
            elif prompt.code == -32602:
                yield observe(
                    False, prompt.answer, "a prompt was refused because of its annotations", prompt.request
                )
