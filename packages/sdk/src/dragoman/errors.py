"""Every error that Dragoman raises on purpose: one tree, one page.

It is split by who is at fault. `LocalMistake` is ours or our caller's, `RemoteMistake` is the peer's,
`CallFailed` is simply the peer's answer, `LinkClosed` means that nobody is there any more,
`DeadlineExceeded` that somebody was too slow, and `JournalError` that the disk did not do what it should.
`ErrorAnswer` is different in kind: a handler raises it to say which error the peer shall get.
"""

from __future__ import annotations

from typing import Any


class DragomanError(Exception):
    """The root of the tree."""


class LocalMistake(DragomanError):
    """Our own program requested something impossible."""


class InvalidValue(LocalMistake):
    """A value that the protocol does not allow was about to be sent. Nothing was sent."""

    def __init__(self, argument: str, value: Any, why: str) -> None:
        try:
            text = repr(value)
        # Nested too deeply, or of a class whose repr fails: the reason is told all the same.
        except Exception:  # noqa: BLE001
            text = f"of the class {type(value).__name__}"
        text = text if len(text) <= 80 else f"{text[:80]}…"
        super().__init__(f"{argument} is {text}; it {why}")
        self.argument = argument
        self.value = value
        self.why = why
        """What is allowed instead."""


class InvalidHandler(LocalMistake):
    """A function was registered that could never be called as a handler."""


class SpawnFailed(LocalMistake):
    """A program could not be started at all."""


class NotAdvertised(LocalMistake):
    """The peer has not advertised this capability; using it would break the protocol."""

    def __init__(self, capability: str, method: str) -> None:
        super().__init__(f"{method} needs the capability {capability}, which the peer did not advertise")
        self.capability = capability
        self.method = method


class TurnOver(LocalMistake):
    """A message was sent in a turn that has already been answered."""


class RemoteMistake(DragomanError):
    """The peer broke the protocol."""


class BadAnswer(RemoteMistake):
    """The peer's answer does not have the form that the method requires."""


class VersionMismatch(RemoteMistake):
    """The peer chose a protocol version that we do not speak."""

    def __init__(self, agent_version: int, supported_versions: tuple[int, ...]) -> None:
        versions = ", ".join(map(str, supported_versions))
        super().__init__(
            f"the agent answered with protocol version {agent_version}; this client speaks {versions}"
        )
        self.agent_version = agent_version
        self.supported_versions = supported_versions


class CallFailed(DragomanError):
    """The peer answered our request with an error."""

    def __init__(self, code: int, message: str, data: Any = None, *, method: str = "") -> None:
        super().__init__(f"{method or 'call'} failed with {code}: {message}")
        self.code = code
        self.message = message
        self.data = data
        self.method = method


class LoginRequired(CallFailed):
    """The agent requires a login, and every method that works without a person failed or is not available."""

    def __init__(
        self,
        refusal: CallFailed,
        *,
        missing: str,
        tried_method: str | None = None,
        why: str = "",
        methods: tuple[str, ...] = (),
    ) -> None:
        super().__init__(refusal.code, f"{refusal.message} ({missing})", refusal.data, method=refusal.method)
        self.reason = refusal.message
        """The agent's own words."""
        self.why = why
        """Why the method that was tried did not help."""
        self.missing = missing
        """What would help, in words for a person."""
        self.tried_method = tried_method
        """The id of the auth method that was tried."""
        self.methods = methods
        """The ids of all that the agent offers."""


class LinkClosed(DragomanError):
    """The conversation is over; it can't send or receive messages any more."""


class PeerDied(LinkClosed):
    """The peer's process ended (or hung up) while we still needed it."""

    def __init__(
        self,
        what: str,
        *,
        returncode: int | None = None,
        signal: str | None = None,
        stderr: str = "",
        stray: str = "",
    ) -> None:
        self.what = what
        self.returncode = returncode
        self.signal = signal
        self.stderr = stderr
        self.stray = stray
        """Lines that it wrote where the protocol belongs, and that are not JSON."""
        stray_note = f"; it printed text that is not ACP:\n{stray.rstrip()}" if stray.strip() else ""
        tail = f"; its last output was:\n{stderr.rstrip()}" if stderr.strip() else ""
        super().__init__(f"{what} ended with {self.how}{stray_note}{tail}")

    @property
    def how(self) -> str:
        """Return the signal or the exit status that ended the process."""
        if self.signal:
            return f"signal {self.signal}"
        return "no exit status" if self.returncode is None else f"exit status {self.returncode}"

    def with_stray(self, stray: str) -> PeerDied:
        """Return the same error, with the output that the peer printed before its end."""
        return PeerDied(
            self.what, returncode=self.returncode, signal=self.signal, stderr=self.stderr, stray=stray
        )


class CrashLoop(PeerDied):
    """The peer ended too often in a short time, and is not started again."""

    def __init__(self, last: DragomanError, *, deaths: int, seconds: float) -> None:
        died = last if isinstance(last, PeerDied) else None
        super().__init__(
            f"{died.what if died else 'the agent'}, {deaths} times within {seconds:g} seconds and at last,",
            returncode=died.returncode if died else None,
            signal=died.signal if died else None,
            stderr=died.stderr if died else str(last),
            stray=died.stray if died else "",
        )
        self.last = last
        """How it ended the last time."""
        self.deaths = deaths
        self.seconds = seconds


class AgentFailed(LinkClosed):
    """An agent of a hub ended or could not be started: one line with the reason, and details for programs."""

    def __init__(self, message: str, details: dict[str, Any]) -> None:
        super().__init__(message)
        self.details = details


class DeadlineExceeded(DragomanError):
    """An operation took longer than its deadline."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f"{what} took longer than {seconds:g} seconds")
        self.what = what
        self.seconds = seconds


class SpawnTimeout(DeadlineExceeded):
    """A program did not start in time."""


class HandshakeTimeout(DeadlineExceeded):
    """`initialize` was not answered in time."""

    def __init__(self, what: str, seconds: float, *, stray: str = "") -> None:
        stray_note = f" (it printed text that is not ACP:\n{stray.rstrip()}\n)" if stray.strip() else ""
        super().__init__(f"{what}{stray_note}", seconds)
        self.stray = stray
        """Lines that the agent wrote where the protocol belongs, and that are not JSON."""


class FirstByteTimeout(DeadlineExceeded):
    """No frame arrived after a prompt within the time limit."""


class CallTimeout(DeadlineExceeded):
    """A call was not answered in time."""


class SilenceTimeout(DeadlineExceeded):
    """No frame arrived within a turn for too long."""


class JournalError(DragomanError):
    """Stored frames could not be written or read."""


class JournalFull(JournalError):
    """The journal has no room for more; nothing that was acknowledged before is lost."""


class JournalBusy(JournalError):
    """Another process has the journal open, or locked it for too long."""


class JournalUncertain(JournalError):
    """No answer came in time, or the disk failed at the last step: the operation may have been done."""


class JournalGone(JournalError):
    """The journal's file was deleted or replaced while it was open; reopen it before you write."""


class JournalClosed(JournalError):
    """The journal is closed, or was never opened."""


class NotAJournal(JournalError):
    """The file is not a journal, or a later version of Dragoman made it; it is left unchanged."""


class NoSuchStream(JournalError):
    """The journal has no stream of that name."""

    def __init__(self, stream: str) -> None:
        super().__init__(f"the journal has no stream {stream!r}")
        self.stream = stream


class StreamMoved(JournalError):
    """Another writer has appended to the stream meanwhile; nothing was written."""

    def __init__(self, stream: str, expected_last: int, last: int) -> None:
        super().__init__(f"stream {stream!r} ends at {last}, not at {expected_last}: somebody else writes it")
        self.stream = stream
        self.expected_last = expected_last
        self.last = last


class KeyTaken(JournalError):
    """Another writer has set the key meanwhile, or it already has a value; nothing was written."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} was written by somebody else")
        self.key = key


class Elsewhere(JournalError):
    """The session is served by another node."""

    def __init__(self, session: str, node: str) -> None:
        super().__init__(f"session {session} is served by node {node}")
        self.session = session
        self.node = node


class NobodyListens(JournalError):
    """No process is subscribed to the subject."""

    def __init__(self, subject: str) -> None:
        super().__init__(f"nobody listens to {subject}")
        self.subject = subject


class JournalDamaged(JournalError):
    """The data on disk differs from the written data. Everything before the damage has been returned.

    `sequence` is the last good entry of `stream` before the damage, where that is known.
    """

    def __init__(self, why: str, *, stream: str | None = None, sequence: int | None = None) -> None:
        where = "" if stream is None else f"stream {stream!r}: "
        super().__init__(f"{where}{why}")
        self.why = why
        self.stream = stream
        self.sequence = sequence


class BadTranscript(JournalError):
    """A line of a file is not a line of a transcript."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line = line
        self.why = why


class Cancelled(BaseException):
    """Raised in a plain `def` handler, in its current or next call, when the peer has cancelled the request.

    It is what `asyncio.CancelledError` is to a coroutine, and like that no `Exception`, so that code which
    survives errors does not survive this by accident. Let it pass; clean up in `finally`.

        try:
            turn.say("working")
        except Cancelled:
            remove_temporary_files()
            raise
    """


class ErrorAnswer(DragomanError):
    """Raised by a handler: answer the peer's request with exactly this error.

    Its text is sent to the peer, so it must hold nothing secret. Any other exception becomes a plain
    internal error.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
