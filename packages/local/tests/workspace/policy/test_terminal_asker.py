import asyncio
import re

import pytest
from msgspec.structs import replace

from dragoman_local.workspace.policy.act_view import view_of
from dragoman_local.workspace.policy.decision import PolicyDecision
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_local.workspace.policy.terminal import TerminalAsker
from tests.workspace.policy.makers import OFFERED, command, option
from tests.workspace.policy.typist import Terminal, terminal


def asked(line: str = "make test") -> PermissionPrompt:
    act = command(line)
    decision = PolicyDecision(outcome="ask", rule="built in", why="no rule")
    return PermissionPrompt(act=act, decision=decision, view=view_of(act), options=tuple(OFFERED))


def asker(at: Terminal) -> TerminalAsker:
    return TerminalAsker(at.lines, write=at.write)


async def test_a_number_chooses_an_option() -> None:
    with terminal("2") as at:
        assert await asker(at).ask(asked()) == "once"
    assert "make test" in at.shown
    keys = r"y \(allow once\), a \(always allow\), n \(reject\)"
    assert re.search(rf"Asked at \d\d:\d\d\. Choose {keys}, 1-4, or q to choose nothing: ", at.shown)
    assert "  2) [allow once] once\n" in at.shown
    assert "  4) [always reject] never\n" in at.shown


async def test_nothing_is_chosen_by_an_empty_line_or_by_words() -> None:
    with terminal("", "yes", "0", "5", "99999999999999999999", "²", "0000019", "3") as at:
        assert await asker(at).ask(asked()) == "no"
    assert at.shown.count("Choose one of these letters or numbers:") == 7


@pytest.mark.parametrize(("key", "chosen"), [("y", "once"), ("A", "always"), ("n", "no")])
async def test_one_key_allows_once_or_for_good_or_refuses(key: str, chosen: str) -> None:
    with terminal(key) as at:
        assert await asker(at).ask(asked()) == chosen


async def test_a_key_that_could_mean_two_options_means_neither() -> None:
    options = (option("all", "allow_once", "Yes"), option("x", "allow_once", "Yes, this"), OFFERED[-1])
    with terminal("y", "2") as at:
        assert await asker(at).ask(replace(asked(), options=options)) == "x"


@pytest.mark.parametrize(("lines", "ends"), [(["q"], False), ([], True), (["x"], True)])
async def test_q_and_the_end_of_input_choose_nothing(lines: list[str], *, ends: bool) -> None:
    with terminal(*lines, ends=ends) as at:
        assert await asker(at).ask(asked()) is None


async def test_what_an_agent_calls_its_options_cannot_touch_the_terminal() -> None:
    act = command("make")
    decision = PolicyDecision(outcome="ask", rule="", why="")
    options = (option("x", "allow_once", "\x1b[2JNo\n 9) Yes"),)
    with terminal("1") as at:
        asking = PermissionPrompt(act=act, decision=decision, view=view_of(command("make")), options=options)
        assert await asker(at).ask(asking) == "x"
    assert "1) [allow once] ␛[2JNo␊ 9) Yes" in at.shown


async def test_a_padded_name_makes_no_second_menu() -> None:
    name = "Yes" + " " * 77 + "2) No, and stop  [reject once]" + "\u00a0" * 200 + "3) x"
    options = (option("x", "allow_once", name), option("n", "reject_once", "No"))
    decision = PolicyDecision(outcome="ask", rule="", why="")
    with terminal("2") as at:
        asking = PermissionPrompt(
            act=command("make"),
            decision=decision,
            view=view_of(command("make")),
            options=options,
        )
        assert await asker(at).ask(asking) == "n"
    menu = [line for line in at.shown.partition("In: ")[2].split("\n") if line.startswith("  ")]
    assert menu == ["  1) [allow once] Yes 2) No, and stop [reject once] 3) x", "  2) [reject] No"]


async def test_questions_wait_for_each_other_and_may_be_taken_back() -> None:
    with terminal() as at:
        one = asker(at)
        first = asyncio.create_task(one.ask(asked("make first")))
        second = asyncio.create_task(one.ask(asked("make second")))
        await at.until("make first")
        assert "make second" not in at.shown
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert "question is closed" in at.shown
        at.type("2")
        assert await second == "once"
