"""Agents that die, hang, stop, leave children behind, or never listen."""

from __future__ import annotations

import os
import signal
import sys
import time

from tests.faults.client.agents.bare import END, START, Agent, Message, at, line, main, usual

PROMPT = "session/prompt"
NEW = "session/new"
INITIALIZE = "initialize"
CHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


def sleep_on(*_: object) -> None:
    while True:
        time.sleep(60)


@at(START, "CLI-01")
def exit_at_once(agent: Agent, _: Message) -> None:
    sys.stderr.write("cannot find my configuration\n")
    sys.stderr.flush()
    os._exit(1)


@at(START, "CLI-X18")
def exit_with_many_words(agent: Agent, _: Message) -> None:
    for number in range(20_000):
        sys.stderr.write(f"\x1b[31mline {number} of my last words\n")
    sys.stderr.flush()
    os._exit(3)


@at(PROMPT, "CLI-04")
def close_stdout(agent: Agent, request: Message) -> None:
    os.close(1)
    sleep_on()


@at(INITIALIZE, "CLI-05")
def never_answer(agent: Agent, request: Message) -> None:
    sleep_on()


@at(PROMPT, "CLI-10", "CLI-X08", "CLI-X11", "CLI-X12")
def never_end(agent: Agent, request: Message) -> None:
    agent.say("working")
    agent.note(working=True)
    sleep_on()


@at(PROMPT, "CLI-X25")
def never_be_silent(agent: Agent, request: Message) -> None:
    agent.note(working=True)
    while True:
        agent.say("working\n")
        time.sleep(0.01)


@at(PROMPT, "CLI-X09")
def wait_for_the_cancel(agent: Agent, request: Message) -> None:
    agent.say("working")
    agent.note(working=True)


@at(START, "CLI-07", "CLI-X10", "CLI-X23", "CLI-X16")
def ignore_signals(agent: Agent, _: Message) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


@at(PROMPT, "CLI-X10", "CLI-X23")
def never_end_either(agent: Agent, request: Message) -> None:
    never_end(agent, request)


@at(END, "CLI-07")
def ignore_the_end(agent: Agent, _: Message) -> None:
    sleep_on()


@at(END, "CLI-X16")
def talk_on(agent: Agent, _: Message) -> None:
    block = b"x" * 65536 + b"\n"
    while True:
        try:
            os.write(1, block)
        except OSError:
            time.sleep(0.01)


def start_child(agent: Agent) -> int:
    """A process that is deaf to SIGTERM, with all that we have; its number."""
    command = [sys.executable, "-c", CHILD, agent.report]
    return os.posix_spawn(sys.executable, command, os.environ)


@at(PROMPT, "CLI-08")
def have_a_child(agent: Agent, request: Message) -> None:
    agent.note(child=start_child(agent))
    usual(agent, request)


@at(PROMPT, "CLI-X17")
def leave_a_child_with_the_output(agent: Agent, request: Message) -> None:
    agent.say("all is well")
    start_child(agent)
    os._exit(0)


@at(PROMPT, "CLI-X06")
def daemon(agent: Agent, request: Message) -> None:
    """Away from parent, group, session and folder."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            for fd in (0, 1, 2):
                os.close(fd)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            sleep_on()
        os._exit(0)
    os.wait()
    usual(agent, request)


@at(PROMPT, "CLI-X22")
def many_children(agent: Agent, request: Message) -> None:
    for _ in range(50):
        if os.fork() == 0:
            os.setsid()
            sleep_on()
    usual(agent, request)


@at(NEW, "CLI-11", "CLI-X24")
def tell_environment(agent: Agent, request: Message) -> None:
    agent.note(environment=dict(os.environ))
    usual(agent, request)


@at(START, "CLI-13")
def tell_descriptors(agent: Agent, _: Message) -> None:
    names = map(int, os.listdir("/proc/self/fd"))
    agent.note(descriptors=sorted(fd for fd in names if _is_open(fd)))


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:  # the one that listed the others
        return False
    return True


DEATHS = {"CLI-X01": signal.SIGKILL, "CLI-X02": signal.SIGSEGV, "CLI-X15": signal.SIGSTOP}


@at(PROMPT, *DEATHS)
def die(agent: Agent, request: Message) -> None:
    agent.say("all ")
    os.kill(os.getpid(), DEATHS[sys.argv[1]])


@at(PROMPT, "CLI-X03")
def exit_in_the_turn(agent: Agent, request: Message) -> None:
    agent.say("all ")
    os._exit(0)


@at(NEW, "CLI-X21")
def die_early(agent: Agent, request: Message) -> None:
    os._exit(7)


@at(PROMPT, "CLI-X04")
def close_stdin(agent: Agent, request: Message) -> None:
    os.close(0)
    agent.say("all is well")
    time.sleep(0.3)
    agent.end_turn()
    sleep_on()


@at(PROMPT, "CLI-X20")
def exit_after_the_answer(agent: Agent, request: Message) -> None:
    usual(agent, request)
    os._exit(0)


@at(PROMPT, "CLI-X05")
def complain(agent: Agent, request: Message) -> None:
    agent.note_memory("before")
    block = b"complaint " * 6400
    for _ in range(512):
        os.write(2, block)
    usual(agent, request)


@at(NEW, "CLI-X07")
def stop_listening(agent: Agent, request: Message) -> None:
    """The prompt is larger than a pipe, so that the client is stuck with it."""
    usual(agent, request)
    agent.note(deaf=True)
    sleep_on()


@at(START, "CLI-X19")
def answer_before_the_question(agent: Agent, _: Message) -> None:
    """Says everything at once and leaves: whoever writes to it meets a closed pipe."""
    agent.raw(line({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1}}))
    os._exit(0)


@at(START, "CLI-X26")
def close_stderr(agent: Agent, _: Message) -> None:
    os.close(2)


if __name__ == "__main__":
    main()
