"""One tree of errors: who catches what, and what a person reads."""

import inspect

import pytest

from dragoman import errors
from dragoman.errors import (
    BadAnswer,
    CallFailed,
    CallTimeout,
    Cancelled,
    CrashLoop,
    DeadlineExceeded,
    DragomanError,
    ErrorAnswer,
    FirstByteTimeout,
    HandshakeTimeout,
    JournalError,
    LinkClosed,
    LocalMistake,
    LoginRequired,
    NotAdvertised,
    PeerDied,
    RemoteMistake,
    SilenceTimeout,
    SpawnFailed,
    SpawnTimeout,
    TurnOver,
    VersionMismatch,
)
from tests.every import every

BRANCHES = (LocalMistake, RemoteMistake, CallFailed, LinkClosed, DeadlineExceeded, JournalError, ErrorAnswer)


def test_every_error_hangs_on_exactly_one_branch_of_the_tree() -> None:
    classes = [
        kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, BaseException)
    ]
    assert DragomanError in classes
    for kind in classes:
        if kind not in (DragomanError, Cancelled):
            assert sum(issubclass(kind, branch) for branch in BRANCHES) == 1, kind


def test_a_cancel_passes_by_whoever_survives_errors() -> None:
    assert not issubclass(Cancelled, Exception)


@every(
    ("branch", "kinds"),
    [
        (LocalMistake, [SpawnFailed, NotAdvertised, TurnOver]),
        (RemoteMistake, [BadAnswer, VersionMismatch]),
        (CallFailed, [LoginRequired]),
        (LinkClosed, [PeerDied, CrashLoop]),
        (DeadlineExceeded, [SpawnTimeout, HandshakeTimeout, FirstByteTimeout, CallTimeout, SilenceTimeout]),
    ],
)
def test_the_branch_says_who_is_at_fault(
    branch: type[DragomanError], kinds: list[type[DragomanError]]
) -> None:
    assert all(issubclass(kind, branch) for kind in kinds)


def test_an_error_that_hides_another_kind_of_error_is_none_of_ours() -> None:
    # A deadline of ours must not be taken for one that asyncio set, nor a dead peer for an OS error.
    assert not issubclass(DragomanError, (TimeoutError, ConnectionError, OSError))


def test_a_missing_capability_is_named_with_the_method_that_needs_it() -> None:
    error = NotAdvertised("loadSession", "session/load")
    assert (error.capability, error.method) == ("loadSession", "session/load")
    assert "loadSession" in str(error)
    assert "session/load" in str(error)


def test_a_version_mismatch_lists_what_is_spoken() -> None:
    error = VersionMismatch(99, (1, 2))
    assert (error.agent_version, error.supported_versions) == (99, (1, 2))
    assert "99" in str(error)
    assert "1, 2" in str(error)


def test_a_failed_call_names_its_method_when_it_is_known() -> None:
    error = CallFailed(-32603, "Internal error", {"a": 1}, method="session/new")
    assert (error.code, error.message, error.data) == (-32603, "Internal error", {"a": 1})
    assert str(error) == "session/new failed with -32603: Internal error"
    assert str(CallFailed(1, "m")) == "call failed with 1: m"


@every(
    ("error", "text"),
    [
        (PeerDied("agent", returncode=3), "agent ended with exit status 3"),
        (PeerDied("agent", returncode=0), "agent ended with exit status 0"),
        (PeerDied("agent", returncode=-9, signal="SIGKILL"), "agent ended with signal SIGKILL"),
        (PeerDied("agent"), "agent ended with no exit status"),
        (PeerDied("agent", stderr="  \n"), "agent ended with no exit status"),
        (PeerDied("agent", returncode=1, stderr="no key\n\n"), "its last output was:\nno key"),
    ],
)
def test_a_dead_peer_is_reported_with_its_end_and_its_last_words(error: PeerDied, text: str) -> None:
    assert str(error).endswith(text)


@pytest.mark.parametrize(("seconds", "text"), [(30.0, "30 seconds"), (0.25, "0.25 seconds")])
def test_a_deadline_says_what_took_how_long(seconds: float, text: str) -> None:
    error = CallTimeout("session/prompt", seconds)
    assert (error.what, error.seconds) == ("session/prompt", seconds)
    assert str(error) == f"session/prompt took longer than {text}"


def test_an_error_answer_shows_exactly_what_the_peer_gets() -> None:
    error = ErrorAnswer(-32002, "Session not found", {"sessionId": "s"})
    assert (error.code, error.message, error.data) == (-32002, "Session not found", {"sessionId": "s"})
    assert str(error) == "Session not found"


def test_a_login_that_is_missing_keeps_the_agents_answer_and_says_what_would_help() -> None:
    refused = CallFailed(-32000, "Authentication required", {"a": 1}, method="session/new")
    error = LoginRequired(refused, missing="set SOME_KEY", tried_method="key", methods=("key", "browser"))
    assert (error.code, error.method, error.data) == (-32000, "session/new", {"a": 1})
    assert (error.missing, error.tried_method, error.methods) == ("set SOME_KEY", "key", ("key", "browser"))
    assert "set SOME_KEY" in str(error)


def test_a_crash_loop_tells_how_often_and_how_it_ended() -> None:
    error = CrashLoop(PeerDied("agent", returncode=3, stderr="no memory"), deaths=4, seconds=60)
    assert (error.deaths, error.seconds, error.returncode, error.stderr) == (4, 60, 3, "no memory")
    assert "agent, 4 times within 60 seconds" in str(error)
    assert "exit status 3" in str(error)
    late = CrashLoop(HandshakeTimeout("the answer to initialize", 5), deaths=2, seconds=9)
    assert "the answer to initialize took longer" in str(late)
