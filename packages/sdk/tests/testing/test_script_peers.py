"""Scripted peers: the same page in memory and as a process."""

import signal
import sys
from pathlib import Path

import pytest

from dragoman import Agent, Limits, Turn, connect
from dragoman.errors import BadAnswer, CallFailed, LinkClosed, LocalMistake, PeerDied, VersionMismatch
from dragoman.testing import RawPeer, ScriptedAgent, ScriptedClient, ScriptFailed, normalise, talking_to
from dragoman.transport.memory import memory_pair
from tests.forks import forked

AGENT = """
agent greeter version=3
  can load

on load
  user "Hi"
  say "Hello again"

on prompt "bye"
  say "Bye."
  stop refusal

on prompt
  tool "Greet" id=t
    status completed "done"
  say "Hello " "$text"
"""
CLIENT = """
client
  initialize
  new cwd=/work
  prompt "Ann"
  expect {"params": {"update": {"toolCallId": "t", "sessionUpdate": "tool_call"}}}
  await turn "Hello Ann"
  prompt "bye"
  expect turn "Bye." stop=refusal
  frame {"jsonrpc": "2.0", "id": "load", "method": "session/load", \
"params": {"sessionId": "old", "cwd": "/", "mcpServers": []}}
  expect update user_message_chunk Hi
  expect {"params": {"sessionId": "old", "update": {"content": {"text": "Hello again"}}}}
  expect {"id": "load", "result": {}}
"""


async def test_the_same_passes_in_memory_and_between_processes(tmp_path: Path) -> None:
    agent = ScriptedAgent(AGENT)
    here = await ScriptedClient(CLIENT).talk_to(agent)
    there = await ScriptedClient(CLIENT).talk_to(forked(agent.command(tmp_path)))
    assert normalise(here) == normalise(there)
    assert sorted(normalise(agent.transcript)) == sorted(normalise(here))


async def test_an_agent_keeps_the_transcripts_of_all_its_connections() -> None:
    agent = ScriptedAgent(AGENT)
    assert agent.transcript == []
    for _ in range(2):
        async with talking_to(agent):
            pass
    assert len(agent.transcripts) == 2


async def test_a_client_talks_to_an_agent_of_the_sdk_and_over_any_transport() -> None:
    agent = Agent("sdk")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"Hello {turn.text}")

    story = "client\n  initialize\n  new\n  prompt you\n  expect turn 'x'".replace("'x'", '"Hello you"')
    await ScriptedClient(story).talk_to(agent)
    ours, theirs = memory_pair()
    async with ScriptedAgent(AGENT).serving(theirs):
        await ScriptedClient("client\n  initialize").talk_to(ours)


async def test_names_can_be_given_to_a_story() -> None:
    story = "client\n  initialize\n  new cwd=$folder\n  prompt $who\n  await turn"
    passed = await ScriptedClient(story, names={"folder": "/x/y", "who": "me"}).talk_to(ScriptedAgent(AGENT))
    assert any(b'"cwd":"/x/y"' in frame for _, frame in passed)
    assert any(b'"text":"me"' in frame for _, frame in passed)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "expect update plan",
            r"(?s)line 5: expected the update plan, but came: .*tool_call.*client → agent",
        ),
        ("await update plan within=0.05", "line 5: the update plan did not come within 0.05 seconds"),
        ('await answer {"stopReason": "x"} within=0.05', "did not come"),
        ('call session/nonsense {"a": 1}', "line 5: session/nonsense failed with -32601"),
    ],
)
async def test_a_story_that_goes_another_way_fails_with_its_line(line: str, why: str) -> None:
    story = f"client\n  initialize\n  new\n  prompt Ann\n  {line}"
    with pytest.raises(ScriptFailed, match=why):
        await ScriptedClient(story).talk_to(ScriptedAgent(AGENT))


async def test_a_story_that_takes_too_long_fails_with_its_line() -> None:
    with pytest.raises(ScriptFailed, match=r"line 3: the story took longer than 0\.05 seconds"):
        await ScriptedClient("client\n  initialize\n  wait 1000").talk_to(ScriptedAgent(AGENT), seconds=0.05)


async def test_an_agent_that_is_gone_fails_the_story() -> None:
    with pytest.raises(ScriptFailed, match="line 2"):
        await ScriptedClient("client\n  initialize").talk_to([sys.executable, "-c", ""])


async def test_a_prompt_that_no_rule_is_for_is_refused() -> None:
    story = "client\n  initialize\n  new\n  prompt x\n  expect error -32602 *rule*"
    await ScriptedClient(story).talk_to(ScriptedAgent("agent a"))


async def test_an_agent_refuses_what_makes_no_sense() -> None:
    story = """
    client
      initialize
      line "no JSON"
      expect {"id": null, "error": {"code": -32700}}
      frame {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "", "prompt": []}}
      expect {"id": 1, "error": {"code": -32002}}
      frame {"jsonrpc": "2.0", "id": 2, "method": "session/load", "params": {"sessionId": "?"}}
      expect {"id": 2, "error": {"code": -32601}}
      frame {"jsonrpc": "2.0", "method": "session/prompt", "params": {"sessionId": "session-1", "prompt": []}}
      frame {"jsonrpc": "2.0", "method": "nobody/knows"}
      frame {"jsonrpc": "2.0", "id": 3, "result": "to nobody"}
      frame {"jsonrpc": "2.0", "id": 4, "method": "nobody/knows", "params": [1]}
      expect {"id": 4, "error": {"code": -32601}}
    """
    await ScriptedClient(story).talk_to(ScriptedAgent("on prompt\n  say never"))


async def test_an_agent_can_speak_first() -> None:
    await ScriptedClient("client\n  expect line *model*\n  initialize").talk_to(
        ScriptedAgent('start\n  line "Loading the model"')
    )


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('answer {"protocolVersion": 999}', VersionMismatch),
        ("answer null", BadAnswer),
        ('fail -32000 "Authentication required"', CallFailed),
        ("die", LinkClosed),
    ],
)
async def test_initialize_can_be_answered_in_any_way(line: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        async with talking_to(ScriptedAgent(f"on initialize\n  {line}")):
            pass


async def test_sessions_can_be_answered_in_any_way() -> None:
    agent = ScriptedAgent(
        """
        agent a
          can load
        on new times=1
          say early
          answer
          say late
        on new
          fail -32000 "log in first"
        on load {"sessionId": "gone"}
          fail -32002
        on load
          user "Hi"
          say "Hello again"
        """
    )
    async with talking_to(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        with pytest.raises(CallFailed, match="log in first"):
            await handle.new_session(cwd="/tmp")
        assert [update.content.text for update in session.late] == ["early", "late"]  # type: ignore[union-attr]
        loaded = await handle.load_session("old", cwd="/tmp")
        assert [update.content.text for update in loaded.late] == ["Hi", "Hello again"]  # type: ignore[union-attr]
        with pytest.raises(CallFailed, match="-32002"):
            await handle.load_session("gone", cwd="/tmp")


async def test_a_process_needs_a_folder() -> None:
    with pytest.raises(LocalMistake, match="folder"):
        ScriptedAgent(AGENT).command()


@pytest.mark.bound(20)
@pytest.mark.parametrize(
    ("lines", "returncode", "name"),
    [("die 3", 3, None), ("die SIGKILL", -9, "SIGKILL"), ("die SIGTERM", -15, "SIGTERM"), ("die", 1, None)],
)
async def test_a_process_dies_for_real(lines: str, returncode: int, name: str | None, tmp_path: Path) -> None:
    agent = ScriptedAgent(
        f'on prompt\n  say "last words"\n  complain "why it died"\n  {lines}', folder=tmp_path
    )
    async with connect(forked(agent.command())) as handle:
        session = await handle.new_session(cwd="/tmp")
        turn = session.prompt("go")
        with pytest.raises(PeerDied, match="why it died") as died:
            assert [update async for update in turn] == []
        assert (died.value.returncode, died.value.signal) == (returncode, name)


@pytest.mark.bound(20)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_process_ends_when_it_is_asked_to(number: int, tmp_path: Path) -> None:
    async with RawPeer(forked(ScriptedAgent("on prompt\n  wait 1000").command(tmp_path))) as peer:
        await peer.send({"jsonrpc": "2.0", "id": 1, "method": "_there"})
        await peer.read_line()
        peer.send_signal(number)
        assert await peer.wait() == 0
        assert peer.stderr == ""


async def test_a_process_dies_after_everything_it_said_has_left(tmp_path: Path) -> None:
    agent = ScriptedAgent("on prompt\n  flood 3000 1000\n  say last\n  die SIGKILL", folder=tmp_path)
    story = "client\n  initialize\n  new\n  prompt go\n  await update agent_message_chunk last\n  expect end"
    await ScriptedClient(story).talk_to(forked(agent.command()))


@pytest.mark.bound(20)
async def test_a_process_that_lingers_has_to_be_killed(tmp_path: Path) -> None:
    agent = ScriptedAgent("start\n  linger\non prompt\n  say hello", folder=tmp_path)
    async with connect(forked(agent.command()), limits=Limits(end_seconds=0.5)) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("go")).text == "hello"
        transport = handle.link.transport
    assert transport.tree.returncode == -9  # type: ignore[attr-defined]
