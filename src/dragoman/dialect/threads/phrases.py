"""Every kind of thing that this dialect loses or repairs, in the ledger's words.

They stand together so that docs/dialects/threads.md can be held against them: it lists these and no others.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Phrase(NamedTuple):
    """What it was, and what became of it."""

    what: str
    done: str


class Lost:
    """What the other side did not get."""

    THOUGHTS: Final = Phrase("thoughts", "left out: the dialect knows messages and read files alone")
    PLANS: Final = Phrase("plans", "left out")
    TOOL_CALLS: Final = Phrase("tool calls that read no file", "left out")
    EMPTY_READS: Final = Phrase("reads whose path or text the agent did not tell", "no entry was made")
    OTHER_UPDATES: Final = Phrase("other updates", "left out")
    OTHER_CONTENT: Final = Phrase("content that is no text", "left out")
    CHUNKS: Final = Phrase("chunks that are no text", "left out: the dialect defines no others")
    ENTRIES: Final = Phrase("entries of an unknown kind", "left out")
    OLD_ENTRIES: Final = Phrase("the oldest entries of a long thread", "forgotten: what is kept has a bound")
    RESUMED_ENTRIES: Final = Phrase(
        "the entries of a thread whose agent does not replay", "the thread is open, its history is empty"
    )
    EARLIER_ENTRIES: Final = Phrase(
        "the entries of a thread from before this conversation", "the agent begins without them"
    )
    ECHOES: Final = Phrase(
        "a user's message told back during its turn", "left out: streamed chunks have no role"
    )
    STOP_REASON: Final = Phrase("a stop reason other than end_turn", "the turn ended; why is not said")
    MODES: Final = Phrase("modes and options of a session", "not shown: the dialect has no way to choose one")
    ERROR_DATA: Final = Phrase("data of an error", "left out: errors have a code and a message")
    PERMISSION: Final = Phrase(
        "a request for permission", "decided by the configured policy, which says no by default"
    )
    WRITES: Final = Phrase("a write to a file", "refused: it was not offered")
    TERMINALS: Final = Phrase("a command for a terminal", "refused: it was not offered")
    ASSISTANT: Final = Phrase("an assistant's message from the client", "refused: v1 has no words for it")
    CANCEL: Final = Phrase("a cancel", "the turn ended here; the agent was not told")
    LATE_CHUNKS: Final = Phrase("what the agent said after a cancel", "left out")
    TAKEN_BACK: Final = Phrase("a request that was taken back", "it went on, and was answered")
    MCP_SERVERS: Final = Phrase("MCP servers of a session", "not handed on")
    MORE_MATCHES: Final = Phrase("that a search found only some files", "the files that were found are told")
    MORE_THREADS: Final = Phrase("threads beyond the hundredth page", "not asked for")
    EXCERPT_VERSIONS: Final = Phrase(
        "the version of a file that cannot be read whole", "made from the part that was read"
    )
    NOTIFICATIONS: Final = Phrase("notifications", "left out: the dialect has none")
    STRAY_ANSWERS: Final = Phrase("answers to nothing", "left out")
    REFUSED_CHUNKS: Final = Phrase("chunks that the peer refused", "nobody else can be told")


class Repaired:
    """What arrived in a form of our making."""

    INTRODUCTION: Final = Phrase(
        "a client without an introduction", "introduced by the interpreter, with its folder"
    )
    AGENT: Final = Phrase("an agent without an introduction", "introduced by the interpreter")
    FOLDER: Final = Phrase(
        "the folder of a session", "kept here: files are lent from it, the agent is not told"
    )
    TIMES: Final = Phrase("threads without a time", "given the time at which they were first seen here")
    TITLES: Final = Phrase("threads without a title", "named by their first message, or called untitled")
    VERSIONS: Final = Phrase("versions of files", "made from the text of the whole file")
    SIZES: Final = Phrase(
        "a range of bytes without the size of its file", "its end is known once less was given than asked"
    )
    HIDDEN: Final = Phrase("whether a search shall find hidden files", "left to the client")
    LINKS: Final = Phrase("links in a prompt", "written as text")
    CODES: Final = Phrase(
        "error codes that v1 gives a meaning of its own",
        "said as an internal error, with the code in its data",
    )
    FAILURES: Final = Phrase(
        "a failing turn, as written", "posted as a message: the agent has no answer to give"
    )
    CREATED: Final = Phrase("a thread that the agent created, as written", "kept here, and listed")
    MESSAGE_ENDS: Final = Phrase(
        "the end of a streamed message, as written",
        "taken to be there when a question is answered and no chunk came in between",
    )


LOST: tuple[Phrase, ...] = tuple(value for value in vars(Lost).values() if isinstance(value, Phrase))
REPAIRED: tuple[Phrase, ...] = tuple(value for value in vars(Repaired).values() if isinstance(value, Phrase))
