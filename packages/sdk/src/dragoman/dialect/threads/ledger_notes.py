"""The kinds of loss and repair that this dialect may record in the ledger.

They stand together so that tests/dialect/LOSSES.md can be held against them: it lists these and no others.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialect.ledger import LedgerNote


class Lost:
    """Content that did not reach the other side."""

    THOUGHTS: Final = LedgerNote(
        "lost", "thoughts", "left out: the dialect knows messages and read files alone"
    )
    PLANS: Final = LedgerNote("lost", "plans", "left out")
    TOOL_CALLS: Final = LedgerNote("lost", "tool calls that read no file", "left out")
    EMPTY_READS: Final = LedgerNote(
        "lost", "reads whose path or text the agent did not tell", "no entry was made"
    )
    OTHER_UPDATES: Final = LedgerNote("lost", "other updates", "left out")
    OTHER_CONTENT: Final = LedgerNote("lost", "content that is not text", "left out")
    CHUNKS: Final = LedgerNote("lost", "chunks that are not text", "left out: the dialect defines no others")
    ENTRIES: Final = LedgerNote("lost", "entries of an unknown kind", "left out")
    OLD_ENTRIES: Final = LedgerNote(
        "lost", "the oldest entries of a long thread", "forgotten: what is kept has a bound"
    )
    RESUMED_ENTRIES: Final = LedgerNote(
        "lost",
        "the entries of a thread whose agent does not replay",
        "the thread is open, its history is empty",
    )
    EARLIER_ENTRIES: Final = LedgerNote(
        "lost", "the entries of a thread from before this conversation", "the agent begins without them"
    )
    ECHOES: Final = LedgerNote(
        "lost", "a user's message sent back during its turn", "left out: streamed chunks have no role"
    )
    STOP_REASON: Final = LedgerNote(
        "lost", "a stop reason other than end_turn", "the turn ended; why is not said"
    )
    MODES: Final = LedgerNote(
        "lost", "modes and options of a session", "not shown: the dialect has no way to choose one"
    )
    ERROR_DATA: Final = LedgerNote("lost", "data of an error", "left out: errors have a code and a message")
    PERMISSION: Final = LedgerNote(
        "lost", "a request for permission", "decided by the configured policy, which says no by default"
    )
    WRITES: Final = LedgerNote("lost", "a write to a file", "refused: it was not offered")
    TERMINALS: Final = LedgerNote("lost", "a command for a terminal", "refused: it was not offered")
    ASSISTANT: Final = LedgerNote(
        "lost", "an assistant's message from the client", "refused: v1 has no words for it"
    )
    CANCEL: Final = LedgerNote("lost", "a cancel", "the turn ended here; the agent does not know it")
    LATE_CHUNKS: Final = LedgerNote("lost", "what the agent said after a cancel", "left out")
    TAKEN_BACK: Final = LedgerNote("lost", "a request that was taken back", "it went on, and was answered")
    MCP_SERVERS: Final = LedgerNote("lost", "MCP servers of a session", "not handed on")
    MORE_MATCHES: Final = LedgerNote(
        "lost", "that a search found only some files", "the files that were found are sent"
    )
    MORE_THREADS: Final = LedgerNote("lost", "threads beyond the hundredth page", "not asked for")
    EXCERPT_VERSIONS: Final = LedgerNote(
        "lost", "the version of a file that cannot be read whole", "made from the part that was read"
    )
    NOTIFICATIONS: Final = LedgerNote("lost", "notifications", "left out: the dialect has none")
    STRAY_ANSWERS: Final = LedgerNote("lost", "answers to nothing", "left out")
    REFUSED_CHUNKS: Final = LedgerNote(
        "lost", "chunks that the peer refused", "there is no other peer to send them to"
    )


class RepairNotes:
    """Content that reached the other side in a converted form."""

    INTRODUCTION: Final = LedgerNote(
        "repaired", "a client without an introduction", "introduced by the interpreter, with its folder"
    )
    AGENT: Final = LedgerNote("repaired", "an agent without an introduction", "introduced by the interpreter")
    FOLDER: Final = LedgerNote(
        "repaired", "the folder of a session", "kept here to provide files; the agent does not get it"
    )
    TIMES: Final = LedgerNote(
        "repaired", "threads without a time", "given the time at which they were first seen here"
    )
    TITLES: Final = LedgerNote(
        "repaired", "threads without a title", "named by their first message, or called untitled"
    )
    VERSIONS: Final = LedgerNote("repaired", "versions of files", "made from the text of the whole file")
    SIZES: Final = LedgerNote(
        "repaired",
        "a range of bytes without the size of its file",
        "its end is known once less was given than asked",
    )
    HIDDEN: Final = LedgerNote("repaired", "whether a search shall find hidden files", "left to the client")
    LINKS: Final = LedgerNote("repaired", "links in a prompt", "written as text")
    CODES: Final = LedgerNote(
        "repaired",
        "error codes that v1 gives a meaning of its own",
        "said as an internal error, with the code in its data",
    )
    FAILURES: Final = LedgerNote(
        "repaired", "a failing turn, as written", "posted as a message: the agent has no answer to give"
    )
    CREATED: Final = LedgerNote(
        "repaired", "a thread that the agent created, as written", "kept here, and listed"
    )
    MESSAGE_ENDS: Final = LedgerNote(
        "repaired",
        "the end of a streamed message, as written",
        "taken to be there when a question is answered and no chunk came in between",
    )


LOST: tuple[LedgerNote, ...] = tuple(value for value in vars(Lost).values() if isinstance(value, LedgerNote))
REPAIRED: tuple[LedgerNote, ...] = tuple(
    value for value in vars(RepairNotes).values() if isinstance(value, LedgerNote)
)


CARRIED = frozenset({"user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update"})
"""The updates that become entries."""

_PHRASES = {"agent_thought_chunk": Lost.THOUGHTS, "plan": Lost.PLANS, "plan_update": Lost.PLANS}


def phrase_of(kind: str) -> LedgerNote | None:
    """Return the loss when an update of this kind is dropped; None if it is translated."""
    return None if kind in CARRIED else _PHRASES.get(kind, Lost.OTHER_UPDATES)
