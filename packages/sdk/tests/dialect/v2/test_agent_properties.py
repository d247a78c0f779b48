"""Whatever is said by either side, the edge never fails, and each request gets exactly one answer."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from dragoman.dialect.edge import EdgeSettings
from dragoman.dialect.message import Message
from tests.dialect.v2.agent_stage import Stage, text

KINDS = """
user_message user_message_chunk agent_message agent_message_chunk agent_thought state_update tool_call_update
tool_call_content_chunk terminal_update terminal_output_chunk plan_update plan_removed config_option_update
available_commands_update session_info_update usage_update notice compaction_update
""".split()  # noqa: SIM905
METHODS = """
initialize session/new session/load session/resume session/fork session/prompt session/set_mode session/close
session/set_config_option session/list session/cancel $/cancel_request session/update elicitation/create
session/request_permission authenticate client_tools/offer _x
""".split()  # noqa: SIM905
NAMES = """
sessionId update content messageId toolCallId terminalId status kind state stopReason options plan entries
configOptions configId type text title _meta requestId subject toolCall changes patch locations data output
exitStatus mcpServers protocolVersion capabilities session mcp stdio result outcome optionId prompt
""".split()  # noqa: SIM905
WORDS = [
    "s",
    "c",
    "t",
    "m",
    "running",
    "idle",
    "text",
    "diff",
    "terminal",
    "content",
    "select",
    "boolean",
    "selected",
    "git_patch",
    "add",
    "items",
    "diff --git a b\n",
]

LEAVES: list[Any] = [None, True, 0, 1, -5, 2.5, "", 2**70, *WORDS, *KINDS]


class Nonsense:
    """Frames that look like frames of this protocol; a strategy would take a minute for them."""

    def __init__(self, random: Random) -> None:
        self._any = random

    def value(self, depth: int = 3) -> Any:
        shape = self._any.random()
        if depth == 0 or shape < 0.4:
            return self._any.choice(LEAVES)
        if shape < 0.55:
            return [self.value(depth - 1) for _ in range(self._any.randrange(4))]
        return self.fields(depth)

    def fields(self, depth: int = 3) -> dict[str, Any]:
        names = self._any.sample(NAMES, self._any.randrange(7))
        return {name: self.value(depth - 1) for name in names}

    def frame(self) -> Message:
        id, shape = self._any.choice([1, 2, 3, "a", None, 2**70]), self._any.randrange(8)
        if shape == 0:
            return Message("2.0", id=id, result=self.value())
        if shape == 1:
            return Message("2.0", id=id, error=self.value())
        if shape < 5:
            update = {"sessionUpdate": self._any.choice(KINDS), **self.fields()}
            return Message("2.0", method="session/update", params={"sessionId": "s", "update": update})
        method = self._any.choice(METHODS)
        params = {"sessionId": "s", **self.fields()} if shape < 7 else self.value()
        return Message("2.0", id if shape % 2 else UNSET, method, params)


@given(st.integers(0, 2**32), st.booleans())
def test_no_frame_of_anybody_makes_it_fail(seed: int, lends: bool) -> None:
    random = Random(seed)
    nonsense = Nonsense(random)
    stage = Stage(open=True, capabilities={"terminal": lends}, settings=EdgeSettings(client_tools=lends))
    steps = [stage.edge.from_inside, stage.edge.from_peer, stage.edge.from_peer, stage.edge.from_host]
    for _ in range(25):
        for toward, out in random.choice(steps)(nonsense.frame()):
            assert toward in ("inside", "peer", "host")
            assert isinstance(out, Message)
    stage.edge.peer_ended()


STEPS = st.sampled_from(
    ["prompt", "list", "new", "cancel", "answer", "fail", "run", "idle", "say", "withdraw", "close"]
)


@given(st.lists(STEPS, max_size=25), st.randoms(use_true_random=False))
def test_each_request_gets_exactly_one_answer(steps: list[str], random: Any) -> None:
    stage = Stage(open=True)
    asked: list[int] = []
    open_at_agent: list[dict[str, Any]] = []
    for number, step in enumerate(steps, 10):
        take(stage, step, number, asked, random.choice(open_at_agent) if open_at_agent else None)
        heard = {frame["id"]: frame for frame in stage.ways["peer"] if "id" in frame}
        answered = {frame["id"] for frame in stage.ways["inside"] if "method" not in frame}
        open_at_agent = [
            frame for id, frame in heard.items() if id not in stage_answered(stage) and id not in answered
        ]
    stage.agent_ends()
    told = Counter(frame["id"] for frame in stage.ways["inside"] if "method" not in frame)
    assert told == Counter(asked)


def stage_answered(stage: Stage) -> set[Any]:
    """The ids that the agent has answered."""
    found: set[Any] = stage.__dict__.setdefault("answered", set())
    return found


def take(stage: Stage, step: str, number: int, asked: list[int], waiting: dict[str, Any] | None) -> None:
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "prompt": ("session/prompt", {"sessionId": "s", "prompt": [text(str(number))]}),
        "list": ("session/list", {}),
        "new": ("session/new", {"cwd": "/pond", "mcpServers": []}),
        "close": ("session/close", {"sessionId": "s"}),
    }
    if step in calls:
        method, params = calls[step]
        asked.append(number)
        stage.client(number, method, **params)
    elif step in ("answer", "fail") and waiting is not None:
        stage_answered(stage).add(waiting["id"])
        if step == "fail":
            stage.agent_answers(waiting["id"], error={"code": -32603, "message": "no"})
        else:
            stage.agent_answers(
                waiting["id"], {"messageId": f"u{waiting['id']}", "sessionId": "t", "sessions": []}
            )
    elif step == "cancel":
        stage.client_tells("session/cancel", sessionId="s")
    elif step == "withdraw" and asked:
        stage.client_tells("$/cancel_request", requestId=asked[-1])
    elif step == "say":
        stage.updates("user_message", messageId=f"u{number - 1}", content=[text("echo")])
    else:
        stage.state("running" if step == "run" else "idle", stopReason="end_turn")
