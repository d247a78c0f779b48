"""Whatever a client or an agent says: the edge does not raise, what the client gets is v2, and no request
gets two answers.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect.message import Message, update_of
from tests.dialect.v2.client_play import Play, begun, deviations, judged

CLIENT = """
initialize session/new session/prompt session/resume session/close session/list session/set_config_option
session/cancel $/cancel_request auth/login auth/logout session/delete session/fork tool_call/cancel
session/load
""".split()  # noqa: SIM905
AGENT = """
session/request_permission elicitation/create fs/read_text_file $/cancel_request odd session/update
""".split()  # noqa: SIM905
KINDS = """
user_message_chunk agent_message_chunk tool_call tool_call_update plan usage_update available_commands_update
current_mode_update config_option_update session_info_update notice compaction_update compaction_summary_chunk
""".split()  # noqa: SIM905
NAMES = """
sessionId update content type text toolCallId title status kind locations path line oldText newText options
optionId name outcome prompt cwd mcpServers modes currentModeId availableModes id configOptions currentValue
value configId entries messageId requestId message mode url requestedSchema properties protocolVersion group
replayFrom stopReason usage _meta availableCommands input hint updatedAt used size cost terminal_exit uri
terminal_id terminalId annotations priority resource sessions authMethods toolCall error code data env args
""".split()  # noqa: SIM905
LEAVES: list[Any] = [
    *(None, True, False, 0, 1, 2, -5, 2.5, 2**70, "", "s", "x", "text", "content", "diff", "terminal"),
    *("select", "boolean", "selected", "start", "form", "object", "string", "ask", "resource_link", "stdio"),
]


class Nonsense:
    """Frames that look like frames of this protocol."""

    def __init__(self, seed: int) -> None:
        self._any = Random(seed)

    def value(self, depth: int = 4) -> Any:
        shape = self._any.random()
        if depth == 0 or shape < 0.4:
            return self._any.choice(LEAVES)
        if shape < 0.55:
            return [self.value(depth - 1) for _ in range(self._any.randrange(4))]
        return self.fields(depth)

    def fields(self, depth: int = 4) -> dict[str, Any]:
        return {name: self.value(depth - 1) for name in self._any.sample(NAMES, self._any.randrange(9))}

    def said(self, methods: list[str], request_id: Any) -> Message:
        shape = self._any.randrange(8)
        params = {**self.fields(), "sessionId": "s"} if shape < 7 else self.value()
        if shape == 0:
            return Message("2.0", request_id, result=self.value())
        if shape == 1:
            return Message("2.0", request_id, error=self.value())
        if shape < 4:
            return Message("2.0", method=self._any.choice(methods), params=params)
        return Message("2.0", request_id, self._any.choice(methods), params)

    def update(self) -> Message:
        update = {**self.fields(), "sessionUpdate": self._any.choice(KINDS)}
        return Message("2.0", method="session/update", params={"sessionId": "s", "update": update})

    def step(self, number: int) -> tuple[str, Message]:
        """Ids of requests are new each time; answers are about one of the last few."""
        ids = number if self._any.random() < 0.6 else max(number - self._any.randrange(6), 2)
        if self._any.random() < 0.45:
            message = self.said(CLIENT, ids)
            fresh = Message("2.0", number, message.method, message.params)
            return "client", fresh if message.is_request else message
        return "agent", self.update() if self._any.random() < 0.6 else self.said(
            AGENT, self._any.choice([ids, None])
        )


def talk(seed: int, play: Play, steps: int = 40) -> tuple[dict[Any, str], Counter[Any]]:
    """What the client asked, and how often the agent asked under each id."""
    nonsense = Nonsense(seed)
    asked: dict[Any, str] = {0: "initialize", 1: "session/new"}
    of_agent: Counter[Any] = Counter()
    for number in range(2, steps):
        who, message = nonsense.step(number)
        if who == "client":
            if message.is_request:
                asked[message.id] = str(message.method)
            play.client(message)
        else:
            of_agent[message.id] += message.is_request
            play.agent(message)
    return asked, of_agent


MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "x", "name": "X"}]}


@given(st.integers(0, 2**32), st.booleans())
def test_whatever_is_said_the_client_gets_v2(seed: int, met: bool) -> None:
    play = begun(new={"modes": MODES}) if met else Play()
    asked, _ = talk(seed, play)
    assert deviations(judged(play.to_client, asked)) == []


@given(st.integers(0, 2**32))
def test_no_request_is_answered_twice(seed: int) -> None:
    play = begun()
    asked, of_agent = talk(seed, play)
    to_client = Counter(one.id for one in play.to_client if one.is_answer and one.id is not None)
    assert all(to_client[one] == 1 and one in asked for one in to_client)
    to_agent = Counter(one.id for one in play.to_agent if one.is_answer)
    assert all(to_agent[one] <= of_agent[one] for one in to_agent)


BLOCKS = st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=5)), min_size=1, max_size=3
)


@given(st.lists(st.tuples(BLOCKS, st.sampled_from(["say", "fail", "quiet"])), max_size=6))
def test_prompts_sent_at_once_are_answered_and_said_one_after_the_other(turns: list[tuple[Any, str]]) -> None:
    play = begun()
    for number, (blocks, _) in enumerate(turns):
        play.asks(f"p{number}", "session/prompt", sessionId="s", prompt=blocks)
    for number, (blocks, how) in enumerate(turns):
        prompt = play.to_agent[-1]
        assert (prompt.id, prompt.params["prompt"]) == (f"p{number}", blocks)
        if how == "say":
            play.tells("agent_message_chunk", content={"type": "text", "text": "x"})
        play.fails(prompt.id, -32603) if how == "fail" else play.answers(prompt.id, stopReason="end_turn")
    answered = [one.id for one in play.to_client if str(one.id).startswith("p")]
    assert answered == [f"p{number}" for number in range(len(turns))]
    updates = [update_of(one) for one in play.to_client]
    said = [one["content"] for one in updates if one.get("sessionUpdate") == "user_message"]
    assert said == [blocks for blocks, how in turns if how != "fail"]
