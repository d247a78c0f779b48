"""How connections without `await` begin and end: deadlines, deaths, loops, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dragoman.blocking import Client, Limits, connect
from dragoman.errors import (
    CallTimeout,
    HandshakeTimeout,
    LinkClosed,
    LocalMistake,
    PeerDied,
    SilenceTimeout,
    SpawnFailed,
    VersionMismatch,
)
from dragoman.schema.v1 import AgentMessageChunk, ReadTextFileRequest, ReadTextFileResponse, TextContent
from dragoman.sdk.client.side import ClientSide
from dragoman.testing.pace import patience
from tests.blocking.ends import ROOT, connected, forked_command
from tests.forks import forked
from tests.transport.programs import alive, python, shell

RAW = """
import json, sys
def answer(line, result):
    request = json.loads(line)
    print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": result}}), flush=True)
answer(sys.stdin.readline(), {{"protocolVersion": {version}, "agentCapabilities": {{}}}})
{rest}
"""
"""An agent without any SDK: it answers `initialize`, and then does as it likes."""


def raw(rest: str = "sys.stdin.read()", *, version: int = 1) -> list[str]:
    return python(RAW.format(rest=rest, version=version))


# Deadlines.


def test_a_call_has_a_deadline() -> None:
    with (
        connect(forked_command(), cwd=ROOT, limits=Limits(call_seconds=0.2)) as agent,
        pytest.raises(CallTimeout, match=r"_hang took longer than 0\.2 seconds"),
    ):
        agent.call("_hang")


def test_a_call_may_have_a_deadline_of_its_own() -> None:
    with connect(forked_command(), cwd=ROOT) as agent:
        began = time.monotonic()
        with pytest.raises(CallTimeout):
            agent.call("_hang", deadline=0.1)
        assert time.monotonic() - began < patience(10)
        assert agent.call("_double", 4) == 8


def test_a_silent_agent_ends_its_turn() -> None:
    with connect(forked_command(), cwd=ROOT, limits=Limits(end_seconds=0.2)) as agent:
        session = agent.new_session(cwd="/")
        with pytest.raises(SilenceTimeout):
            list(session.prompt("ignore 5", silence=0.2))


def test_initialize_has_a_deadline() -> None:
    began = time.monotonic()
    with (
        pytest.raises(HandshakeTimeout),
        connect(python("import sys; sys.stdin.read()"), limits=Limits(handshake_seconds=0.2)),
    ):
        pass
    assert time.monotonic() - began < patience(10)


def test_another_version_of_the_protocol_is_refused() -> None:
    with pytest.raises(VersionMismatch), connect(raw(version=7)):
        pass


# Deaths.


def test_a_death_in_a_turn_is_told_with_status_and_last_words() -> None:
    with connected() as agent:
        session = agent.new_session(cwd="/")
        with pytest.raises(PeerDied) as death:
            list(session.prompt("die 7"))
        assert death.value.returncode == 7
        assert death.value.stderr.endswith("out of ink\n")
        with pytest.raises(PeerDied):
            agent.call("_double", 1)


def test_a_death_at_the_start_is_told_with_status_and_last_words() -> None:
    with (
        pytest.raises(PeerDied, match=r"exit status 3; .*\nno config"),
        connect(shell("echo no config >&2; exit 3")),
    ):
        pass


def test_a_program_that_prints_something_else_than_the_protocol_is_quoted() -> None:
    with (
        pytest.raises(PeerDied, match=r"exit status 0; it printed text that is not ACP:\nusage: .*\nmore"),
        connect(shell("echo 'usage: agent [-h]'; echo more")),
    ):
        pass


def test_a_death_by_signal_is_told_with_its_name() -> None:
    with pytest.raises(PeerDied, match="SIGSEGV"), connect(shell("kill -s SEGV $$")):
        pass


def test_a_program_that_hangs_up_and_lives_on_is_ended() -> None:
    rest = "import os, time; os.close(1); time.sleep(1000)"
    with connect(raw(rest)) as agent, pytest.raises(PeerDied, match="hung up"):
        agent.call("_anything")


def test_a_dead_program_whose_output_somebody_else_holds_is_noticed(tmp_path: Path) -> None:
    # The holder hides: it lost its mark, its parent, its session and its group.
    holder = "exec env -u DRAGOMAN_TREE setsid sh -c 'sleep 3 & echo $! > pid'"
    rest = f"import os; os.system({holder!r}); os._exit(4)"
    with connect(raw(rest), cwd=tmp_path) as agent:
        with pytest.raises(PeerDied) as death:
            agent.call("_anything")
        assert death.value.returncode == 4
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_what_cannot_be_started_says_why() -> None:
    with pytest.raises(SpawnFailed, match="no such program"), connect("no-such-program --acp"):
        pass


def test_a_connection_that_was_left_answers_nobody() -> None:
    with connect(forked_command(), cwd=ROOT) as agent:
        pass
    with pytest.raises(LinkClosed):
        agent.call("_double", 1)


def test_many_threads_that_wait_are_all_told_of_a_death() -> None:
    told: list[str] = []
    with connect(forked_command(), cwd=ROOT) as agent:

        def wait() -> None:
            try:
                agent.call("_hang")
            except PeerDied:
                told.append("dead")

        threads = [threading.Thread(target=wait) for _ in range(5)]
        for thread in threads:
            thread.start()
        with pytest.raises(PeerDied):
            list(agent.new_session(cwd="/").prompt("die 1"))
        for thread in threads:
            thread.join()
    assert told == ["dead"] * 5


# Pipes that are full.


def test_an_agent_that_writes_before_it_reads_and_a_large_message_do_not_wait_for_each_other() -> None:
    rest = """
line = json.dumps({"jsonrpc": "2.0", "method": "_noise", "params": "n" * 1000})
for line_number in range(2000):
    print(line)
sys.stdout.flush()
answer(sys.stdin.readline(), len(sys.argv))
sys.stdin.read()
"""
    heard: list[str] = []
    client = Client()
    client.extension("_noise")(heard.append)
    with connect(raw(rest), client=client) as agent:
        assert agent.call("_large", "x" * 2_000_000) == 1
    assert heard == ["n" * 1000] * 2000


def test_a_large_notification_does_not_wait_for_an_agent_that_writes_first() -> None:
    rest = """
line = json.dumps({"jsonrpc": "2.0", "method": "_noise", "params": "n" * 1000})
for line_number in range(2000):
    print(line)
sys.stdout.flush()
size = len(sys.stdin.readline())
answer(sys.stdin.readline(), size > 2_000_000)
sys.stdin.read()
"""
    with connect(raw(rest)) as agent:
        agent.notify("_large", "x" * 2_000_000)
        assert agent.call("_size") is True


def test_ten_thousand_updates_come_in_order() -> None:
    with connect(forked_command(), cwd=ROOT) as agent:
        turn = agent.new_session(cwd="/").prompt("count 10000")
        following = 0
        for update in turn:
            assert isinstance(update, AgentMessageChunk)
            assert update.content == TextContent(text=f"{following} ")
            following += 1
    assert following == 10_000


# Loops.


async def test_it_works_inside_a_running_loop() -> None:
    with connect(forked_command(), cwd=ROOT) as agent:
        assert agent.new_session(cwd="/").prompt("count 3").result.text == "0 1 2 "


async def test_it_works_in_a_thread_beside_a_running_loop() -> None:
    def converse() -> str:
        with connect(forked_command(), cwd=ROOT) as agent:
            return agent.new_session(cwd="/").prompt("count 3").result.text

    assert await asyncio.to_thread(converse) == "0 1 2 "


async def test_async_handlers_run_inside_a_running_loop_too() -> None:
    client = Client()

    @client.read_text_file
    async def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        await asyncio.sleep(0)
        return ReadTextFileResponse(content=request.path)

    with connect(forked_command(), cwd=ROOT, client=client) as agent:
        assert agent.new_session(cwd="/").prompt("reads 2").result.text == "/0,/1"


# Nothing is left.


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_nothing_is_left_behind() -> None:
    def converse() -> None:
        with connected() as agent:
            assert agent.call("_double", 1) == 2

    converse()  # what is loaded once stays
    files, threads = open_files(), threading.active_count()
    for _ in range(3):
        converse()
    assert open_files() == files
    assert threading.active_count() == threads


def test_nothing_is_left_behind_by_a_start_that_failed() -> None:
    files, threads = open_files(), threading.active_count()
    for _ in range(3):
        with pytest.raises(SpawnFailed), connect("no-such-program"):
            pass
    assert open_files() == files
    assert threading.active_count() == threads


def test_the_whole_tree_of_an_agent_ends_with_its_connection(tmp_path: Path) -> None:
    rest = """
import subprocess
answer(sys.stdin.readline(), subprocess.Popen(["sleep", "1000"]).pid)
sys.stdin.read()
"""
    with connect(raw(rest), cwd=tmp_path) as agent:
        child = agent.call("_child")
        assert alive(child)
    assert not alive(child)


def test_what_an_agent_complains_about_is_shown_as_it_comes() -> None:
    shown: list[bytes] = []
    rest = (
        "sys.stderr.write('careful'); sys.stderr.flush(); answer(sys.stdin.readline(), 1); sys.stdin.read()"
    )
    with connect(raw(rest), on_stderr=shown.append) as agent:
        assert agent.call("_anything") == 1
    assert b"".join(shown) == b"careful"


def test_a_blocking_call_inside_the_loop_that_would_serve_it_is_refused() -> None:
    from dragoman.sdk.sync.run import ProgramThreads, Runner

    async def nothing() -> None:
        return None

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(LocalMistake):
            Runner(loop, threading.current_thread(), ProgramThreads())(nothing())

    asyncio.run(main())


def test_the_blocking_face_can_be_used_without_the_other_one() -> None:
    program = (
        "import dragoman.blocking as b; print(sorted(b.__all__) == sorted(set(dir(b)) & set(b.__all__)))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "True\n"


def test_the_examples_talk_to_each_other() -> None:
    script = ROOT / "examples" / "blocking_client.py"
    shown = subprocess.run(
        forked([sys.executable, str(script)]),
        capture_output=True,
        text=True,
        check=True,
        timeout=patience(20),
    )
    lines = len(script.read_text(encoding="utf-8").splitlines())
    assert shown.stdout == f"{script} has {lines} lines.\n(end_turn)\n"


def test_texts_are_what_the_agent_says_and_nothing_else() -> None:
    with connect(forked([sys.executable, str(ROOT / "examples" / "echo_agent.py")])) as agent:
        turn = agent.new_session(cwd="/tmp").prompt("Hello")
        assert "".join(turn.texts()) == "You said: Hello"
        assert turn.result.text == "You said: Hello"


# Two threads.

TWO_AT_ONCE = """
answer(sys.stdin.readline(), {"sessionId": "s"})
waiting = sys.stdin.readline()
print(json.dumps({"jsonrpc": "2.0", "method": "_somebody_waits"}), flush=True)
prompt = json.loads(sys.stdin.readline())
content = {"type": "text", "text": "hello"}
update = {"sessionUpdate": "agent_message_chunk", "content": content}
note = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
end = {"jsonrpc": "2.0", "id": prompt["id"], "result": {"stopReason": "end_turn"}}
sys.stdout.write(json.dumps(note) + "\\n" + json.dumps(end) + "\\n")
sys.stdout.flush()
sys.stdin.readline()
answer(waiting, 1)
sys.stdin.read()
"""


def test_an_answer_is_known_only_after_the_updates_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread reads for another, and is slow to hand over what it read."""
    usual = ClientSide.on_block_end

    def slow(side: ClientSide, size: int) -> None:
        time.sleep(0.2)  # the other thread would use it to go on without its update
        usual(side, size)

    monkeypatch.setattr(ClientSide, "on_block_end", slow)
    client, waits = Client("two"), threading.Event()

    @client.extension("_somebody_waits")
    def somebody_waits(_: object) -> None:
        waits.set()

    with connect(raw(TWO_AT_ONCE), client=client) as agent:
        session = agent.new_session(cwd="/")
        reading = threading.Thread(target=agent.call, args=("_wait",))
        reading.start()
        waits.wait()  # from now on it reads for everybody
        assert session.prompt("x").result.text == "hello"
        agent.notify("_go_on")
        reading.join()


# Ends that come from outside.

WAITS = """
import os, sys, threading
from dragoman.blocking import connect
print(os.getpid(), flush=True)
try:
    with connect(sys.argv[1:], on_stderr=lambda text: print(text.decode(), flush=True)) as agent:
        agent.call("_never")
except KeyboardInterrupt:
    print([thread.name for thread in threading.enumerate()], flush=True)
"""

BEFORE_THE_ANSWER = "import os, sys; print(os.getpid(), file=sys.stderr, flush=True); sys.stdin.read()"
IN_A_CALL = "print(__import__('os').getpid(), file=sys.stderr, flush=True); sys.stdin.read()"


@pytest.mark.parametrize("program", [python(BEFORE_THE_ANSWER), raw(IN_A_CALL)], ids=["hello", "call"])
def test_ctrl_c_while_waiting_leaves_no_thread_and_no_process(program: list[str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITS, *program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as script:
        assert script.stdout is not None
        waiting, agent = int(script.stdout.readline()), int(script.stdout.readline())
        os.kill(waiting, signal.SIGINT)
        assert script.stdout.read().split("\n")[-2] == "['MainThread']"
    assert script.returncode == 0
    assert not alive(agent)


ASKS = """
from dragoman.blocking import Agent, Client, connect
from dragoman.errors import CallFailed
agent, client = Agent("asks"), Client("person")
@agent.prompt
def ask(turn):
    try:
        turn.read_text_file("/x")
    except CallFailed:  # it hears of the interruption, unless the connection ends before
        pass
@client.read_text_file
def read(request):
    print("asked", flush=True)
    input()
try:
    with connect(agent, client=client) as handle:
        handle.new_session(cwd="/").prompt("go").result
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_reaches_a_handler_that_asks_a_person() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ASKS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as script:
        assert script.stdout is not None
        assert script.stderr is not None
        assert script.stdout.readline() == "asked\n"
        script.send_signal(signal.SIGINT)
        assert script.stdout.read() == "interrupted\n"
        assert script.stderr.read() == ""
    assert script.returncode == 0


def test_a_fork_of_the_process_says_that_it_has_no_connection() -> None:
    with connect(forked_command(), cwd=ROOT) as agent:
        child = os.fork()
        if not child:
            with contextlib.suppress(LinkClosed):
                agent.call("_double", 1)
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert agent.call("_double", 2) == 4


def test_leaving_ends_the_calls_of_other_threads() -> None:
    errors: list[LinkClosed] = []
    ticks = threading.Event()
    client = Client()
    client.extension("_tick")(lambda _: ticks.set())

    def hang() -> None:
        try:
            agent.call("_hang")
        except LinkClosed as error:
            errors.append(error)

    with connect(forked_command(), cwd=ROOT, client=client) as agent:
        waiting = threading.Thread(target=hang)
        waiting.start()
        assert ticks.wait(patience(5))
    waiting.join(patience(5))
    assert len(errors) == 1


def test_a_function_for_stderr_that_blocks_holds_up_nothing() -> None:
    began, open_gate = threading.Event(), threading.Event()

    def show(_: bytes) -> None:
        began.set()
        open_gate.wait(patience(5))

    rest = "sys.stderr.write('x'); sys.stderr.flush(); answer(sys.stdin.readline(), 1); sys.stdin.read()"
    with connect(raw(rest), on_stderr=show) as agent:
        assert began.wait(patience(5))
        assert agent.call("_anything") == 1
        open_gate.set()
