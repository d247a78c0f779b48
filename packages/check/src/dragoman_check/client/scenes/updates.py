"""Sends correct updates: every kind that an agent may send in a turn."""

from __future__ import annotations

from dragoman_check.client.answers import COMMANDS
from dragoman_check.client.profiles import MODE_OPTION, MODEL_OPTION
from dragoman_check.client.turn import StandInTurn, text_block

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="


FURTHER = {"name": "further", "description": "Is there only for a moment"}


async def greeting(turn: StandInTurn) -> None:
    async with turn.stretch("greeting"):
        turn.say("Hello. I am a stand-in, and there is nothing that you need me for.")


async def messages(turn: StandInTurn) -> None:
    """Send message ids, which are compared exactly: `A` is not `a`."""
    async with turn.stretch("messages"):
        turn.update("user_message_chunk", content=text_block("What the user said"), messageId="u")
        turn.update("agent_thought_chunk", content=text_block("Thinking aloud"), messageId="t")
        for message, words in (("a", "One "), ("a", "message. "), ("A", "Another. "), ("a ", "A third.")):
            turn.say(words, messageId=message)
        turn.say(" Without an id, with line\nbreaks, a \U0001f409 and \u2028 in it.")


async def content_blocks(turn: StandInTurn) -> None:
    uri = (turn.folder / "some file.txt").as_uri() if turn.folder.is_absolute() else "file:///some.txt"
    blocks = [
        text_block("For you", annotations={"audience": ["user"], "priority": 0.5}),
        {"type": "image", "data": PIXEL, "mimeType": "image/png", "uri": "https://example.org/pixel.png"},
        {"type": "audio", "data": SILENCE, "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": uri, "name": "some file.txt", "title": "A file", "size": 5},
        {"type": "resource", "resource": {"uri": uri, "text": "inside", "mimeType": "text/plain"}},
        {"type": "resource", "resource": {"uri": "example://blob", "blob": PIXEL, "mimeType": "image/png"}},
    ]
    async with turn.stretch("content blocks"):
        for block in blocks:
            turn.update("agent_message_chunk", content=block)
        turn.update("agent_thought_chunk", content=blocks[3])


async def plans(turn: StandInTurn) -> None:
    """Send plans; each replaces the one before it."""
    first = {"content": "Look", "priority": "high", "status": "in_progress"}
    second = {"content": "Leap", "priority": "low", "status": "pending"}
    async with turn.stretch("plans"):
        turn.update("plan", entries=[first, second])
        turn.update("plan", entries=[{**first, "status": "completed"}, {**second, "priority": "medium"}])
        turn.update("plan", entries=[second])
        turn.update("plan", entries=[])


async def states(turn: StandInTurn) -> None:
    """Send updates about a session itself."""
    async with turn.stretch("states"):
        turn.update("available_commands_update", availableCommands=[*COMMANDS, FURTHER])
        turn.update("available_commands_update", availableCommands=COMMANDS)
        turn.update("current_mode_update", currentModeId="code")
        turn.update(
            "config_option_update", configOptions=[{**MODE_OPTION, "currentValue": "code"}, MODEL_OPTION]
        )
        turn.update("config_option_update", configOptions=[{**MODE_OPTION, "currentValue": "code"}])
        turn.update("session_info_update", title="A title", updatedAt="2026-01-01T00:00:00Z")
        turn.update("session_info_update")
        turn.update("session_info_update", title=None)
        turn.update("usage_update", used=0, size=200_000)
        turn.update("usage_update", used=1000, size=200_000, cost={"amount": 0.01, "currency": "USD"})
    if turn.can("session", "notices"):
        await _notices(turn)
    if turn.can("session", "compaction"):
        await _compactions(turn)


async def _notices(turn: StandInTurn) -> None:
    async with turn.stretch("notices"):
        for severity in ("info", "warning", "error", "critical", "_x"):
            turn.update("notice", severity=severity, title=f"A notice: {severity}", description="Harmless")


async def _compactions(turn: StandInTurn) -> None:
    async with turn.stretch("compactions"):
        turn.update("compaction_update", compactionId="c", status="in_progress")
        turn.update("compaction_summary_chunk", compactionId="c", content=text_block("In short: "))
        turn.update("compaction_update", compactionId="c", status="_paused", summary=[])
        turn.update(
            "compaction_update",
            compactionId="c",
            status="completed",
            summary=[text_block("Short")],
            error=None,
        )
