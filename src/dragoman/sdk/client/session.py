"""A session as the client sees it: prompts go in, typed updates come out in order."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any

from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.sdk.client.prompt import PromptTurn
from dragoman.sdk.growing_output import supersedes
from dragoman.sdk.listening import listen
from dragoman.sdk.writing import as_block

if TYPE_CHECKING:
    import asyncio

    from dragoman.sdk.client.agent_handle import AgentHandle


class Sizes:
    """Follows a queue that others take from; it is told how long the queue is."""

    __slots__ = ("_count", "_runs", "total")

    def __init__(self) -> None:
        self.total = 0
        self._count = 0
        self._runs: deque[list[int]] = deque()  # how many, and how large each; the oldest first

    def add(self, count: int, each: int) -> None:
        if count:
            self._runs.append([count, each])
            self._count += count
            self.total += count * each

    def forget_all_but(self, length: int, *, newest: bool = False) -> None:
        """The queue is this long now: the oldest have left it, or the newest."""
        while self._count > length:
            run = self._runs[-1 if newest else 0]
            gone = min(run[0], self._count - length)
            run[0] -= gone
            self._count -= gone
            self.total -= gone * run[1]
            if not run[0]:
                self._runs.pop() if newest else self._runs.popleft()


LATE_UPDATES = 10_000
"""Updates outside any turn that are kept for whoever looks at `late`; the oldest go first."""

LATE_BYTES = 8 * 1024 * 1024
"""The same in bytes on the wire; one update is kept however large it is."""


class Session:
    """Made by `new_session`, `load_session`, `resume_session` or `fork_session`.

        session = await agent.new_session(cwd="/project")
        result = await session.prompt("Fix the failing test")
        await session.close()

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup
    """

    __slots__ = (
        "_late",
        "_late_sizes",
        "agent",
        "arrived",
        "cancelling",
        "closed",
        "config_options",
        "cwd",
        "id",
        "listener",
        "modes",
        "strayed",
        "turn",
    )

    def __init__(self, agent: AgentHandle, session_id: str, *, cwd: str) -> None:
        self.agent = agent
        self.id = session_id
        self.cwd = cwd
        self.modes: v1.SessionModeState | None = None
        self.config_options: Sequence[v1.SessionConfigOption] = ()
        self._late: deque[v1.SessionUpdate] | None = None
        self._late_sizes: Sizes | None = None
        self.listener: asyncio.Event | None = None
        self.turn: PromptTurn | None = None
        self.cancelling = False
        self.closed = False
        self.arrived: list[v1.SessionUpdate] = []
        """Updates of the block that is being read; the client side appends here and hands over at the
        block's end.
        """
        self.strayed: list[v1.SessionUpdate] = []
        """The same for updates that belong to no turn that is being read."""

    @property
    def late(self) -> deque[v1.SessionUpdate]:
        """Updates that arrived outside any turn: before the first, between two, or after an answer."""
        if self._late is None:
            self._late = deque(maxlen=LATE_UPDATES)
        return self._late

    def listen(self) -> AsyncGenerator[v1.SessionUpdate, None]:
        """Each update outside any turn, those in `late` first, until the agent is gone or this session is
        closed. Whoever listens takes them.
        """
        return listen(self)

    def prompt(
        self, *content: str | v1.ContentBlock, silence: float | None = None, keep_text: bool = True
    ) -> PromptTurn:
        """One turn. Iterate over it for the updates, or await it for the result; nothing is sent before
        that. Whoever shows updates as they come, and may get very many, has no use for all text again at the
        end: `keep_text=False`.
        """
        blocks = [as_block(block, f"content[{at}]") for at, block in enumerate(content)]
        return PromptTurn(self, blocks, silence=silence, keep_text=keep_text)

    async def cancel(self) -> None:
        """Stop the running turn. Open permission requests are answered with `cancelled`."""
        self.cancelling = self.turn is not None
        self.agent.side.cancel_permissions(self.id)
        self.agent.link.notify("session/cancel", write(v1.CancelNotification(session_id=self.id)))
        self.agent.link.outbox.flush()

    async def set_mode(self, mode_id: str) -> None:
        """Change how the agent works (`session/set_mode`); `modes` lists what there is."""
        request = v1.SetSessionModeRequest(session_id=self.id, mode_id=mode_id)
        await self.agent.ask("session/set_mode", request, v1.SetSessionModeResponse, lane=self.id)

    async def set_config_option(self, config_id: str, value: str | bool) -> Sequence[v1.SessionConfigOption]:
        """Change one option; the answer, and `config_options` from now on, is the whole list."""
        request: dict[str, Any] = {"sessionId": self.id, "configId": config_id, "value": value}
        if isinstance(value, bool):
            request["type"] = "boolean"
        answer = await self.agent.ask(
            "session/set_config_option", request, v1.SetSessionConfigOptionResponse, lane=self.id
        )
        self.config_options = answer.config_options
        return answer.config_options

    async def close(self) -> None:
        """Free the session at the agent; a running turn is cancelled."""
        self.agent.side.cancel_permissions(self.id)
        request = v1.CloseSessionRequest(session_id=self.id)
        await self.agent.ask("session/close", request, v1.CloseSessionResponse, lane=self.id)
        self.leave()

    def leave(self) -> None:
        """Use it no more, without telling the agent."""
        self.closed = True
        self.agent.side.forget(self)
        self.wake_listener()

    @property
    def backlog(self) -> int:
        """Bytes of updates that the reader of the running turn has not taken yet."""
        return 0 if self.turn is None else self.turn.backlog

    def inlet(self) -> list[v1.SessionUpdate]:
        """Where an update goes that arrives now."""
        turn = self.turn
        return self.strayed if turn is None or not turn.listens else self.arrived

    def hand_over(self, each: float) -> None:
        """A block has been read; its updates for this session, about `each` bytes on the wire, go to whom
        they concern.
        """
        if self.arrived:
            arrived, self.arrived = self.arrived, []
            assert self.turn is not None
            self.turn.take(arrived, int(each * len(arrived)))
        if self.strayed:
            strayed, self.strayed = self.strayed, []
            self.keep(strayed, int(each))

    def keep(self, updates: Sequence[v1.SessionUpdate], each: int) -> None:
        """These are late, or came before anybody knew this session."""
        late = self.late
        sizes = self._late_sizes = self._late_sizes or Sizes()
        sizes.forget_all_but(len(late))  # somebody may have taken some
        fresh = _without_superseded(late, updates)
        sizes.forget_all_but(len(late), newest=True)
        late.extend(fresh)
        sizes.add(len(fresh), each)
        sizes.forget_all_but(len(late))  # they may be too many
        while sizes.total > LATE_BYTES and len(late) > 1:
            late.popleft()
            sizes.forget_all_but(len(late))
        self.wake_listener()

    def wake_listener(self) -> None:
        """Whoever listens looks again: there is an update, or the end."""
        if self.listener is not None:
            self.listener.set()


def _without_superseded(
    late: deque[v1.SessionUpdate], updates: Sequence[v1.SessionUpdate]
) -> Sequence[v1.SessionUpdate]:
    """Growing output is sent again and again, each time whole: only the last of it is kept. Asked for every
    block of a replay, so it looks closer only where two reports of progress follow each other.
    """
    progress = v1.ToolCallProgress
    types = list(map(type, updates))
    superseded = set()
    at = -1
    for _ in range(types.count(progress)):
        at = types.index(progress, at + 1)
        before = updates[at - 1] if at else late[-1] if late else None
        if type(before) is progress and supersedes(updates[at], before):
            superseded.add(at - 1)
    if -1 in superseded:
        late.pop()
    return [one for at, one in enumerate(updates) if at not in superseded] if superseded else updates
