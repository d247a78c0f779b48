"""A checkpoint: an entry with the state after all entries before it.

To open a session is to know what it has come to. Its whole stream says that, and on a journal of another
machine a year of small turns takes seconds to read. A reading can begin at a checkpoint instead.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct, field

from dragoman.decoders import json_decoder
from dragoman_hub.session.frames import encode_json
from dragoman_hub.session.notes import StreamNote
from dragoman_hub.session.state import (
    ChildSession,
    OpenRequest,
    OpenSteer,
    OpenTurn,
    PromptAnswer,
    QueuedPrompt,
    SessionState,
)

_SAME = (
    *("agent", "cwd", "folders", "agent_session", "process", "bound_at", "loading", "is_incomplete"),
    *(
        "taken_before",
        "agent_answer",
        "last_received",
        "past_process",
        "turn",
        "queue",
        "title",
        "has_failed",
        "turns",
        "parent",
        "children",
        "source",
        "is_unbriefed",
        "successor",
        "steers",
    ),
)
"""What state and checkpoint have under the same names."""


class StoredAnswer(Struct):
    """An answer to a prompt, and its entry."""

    sequence: int
    note: StreamNote


class Checkpoint(Struct, kw_only=True, omit_defaults=True, tag_field="hub", tag="gist"):
    """The state after the entries up to number `upto`."""

    upto: int
    agent: str
    cwd: str
    folders: tuple[str, ...] = ()
    agent_session: str
    process: int = 0
    bound_at: int = 0
    loading: int = 0
    is_incomplete: bool = False
    taken_before: int = 0
    agent_answer: dict[str, Raw] = field(name="made", default_factory=dict)
    last_received: int = field(name="heard", default=0)
    past_process: int = 0
    turn: OpenTurn | None = None
    queue: tuple[QueuedPrompt, ...] = ()
    requests: list[OpenRequest] = []
    answers: list[StoredAnswer] = []
    steers: dict[str, OpenSteer] = {}
    steer_answers: list[StoredAnswer] = []
    has_old_answers: bool = field(name="dropped", default=True)
    """Whether there are answers that are not in this list."""
    latest: dict[str, Raw] = {}
    title: str = ""
    has_failed: bool = field(name="failed", default=False)
    turns: int = 0
    parent: str = ""
    children: dict[str, ChildSession] = {}
    source: str = ""
    is_unbriefed: bool = field(name="unbriefed", default=False)
    successor: str = ""


_decode = json_decoder(Checkpoint).decode


def write_checkpoint(state: SessionState) -> bytes:
    """Return the note for a state that is only the fold of its entries."""
    return encode_json(
        Checkpoint(
            upto=state.last,
            requests=list(state.requests.values()),
            answers=[StoredAnswer(answer.sequence, answer.note) for answer in state.answers.values()],
            steer_answers=[
                StoredAnswer(answer.sequence, answer.note) for answer in state.steer_answers.values()
            ],
            has_old_answers=state.has_old_answers,
            latest={kind.decode(): Raw(frame) for kind, frame in state.latest.items()},
            **{name: getattr(state, name) for name in _SAME},
        )
    )


def read_checkpoint(frame: bytes) -> Checkpoint | None:
    if not frame.startswith(b'{"hub":"gist"'):
        return None
    try:
        return _decode(frame)
    except msgspec.MsgspecError:
        return None  # of a version that we do not know


def state_at(session_id: str, checkpoint: Checkpoint) -> SessionState:
    return SessionState(
        id=session_id,
        last=checkpoint.upto,
        requests={request.sequence: request for request in checkpoint.requests},
        answers={
            answer.note.key: PromptAnswer.read(answer.sequence, answer.note) for answer in checkpoint.answers
        },
        steer_answers={
            answer.note.key: PromptAnswer.read(answer.sequence, answer.note)
            for answer in checkpoint.steer_answers
        },
        has_old_answers=checkpoint.has_old_answers,
        latest={kind.encode(): bytes(frame) for kind, frame in checkpoint.latest.items()},
        **{name: getattr(checkpoint, name) for name in _SAME},
    )
