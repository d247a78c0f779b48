"""Each verb, played: a scripted agent on one side and a scripted client that expects exactly what comes."""

import re
from pathlib import Path

import pytest

from dragoman.testing import ScriptedAgent, ScriptedClient, ScriptError, ScriptFailed
from dragoman.testing.script.verbs import VERBS
from tests.testing.script.script_turn import play


async def test_say_think_and_user_are_chunks() -> None:
    await play(
        """
        think hm
        user "I said"
        say one "two $text"
        """,
        """
        expect update agent_thought_chunk hm
        expect update user_message_chunk "I said"
        expect update agent_message_chunk one
        expect update agent_message_chunk "two go"
        expect stop end_turn
        """,
    )


async def test_a_plan_has_entries_with_a_status() -> None:
    await play(
        """
        plan a
          in_progress b
          completed "c $text"
        """,
        """
        expect {"params": {"update": {"sessionUpdate": "plan", "entries": [ \
{"content": "a", "status": "pending"}, \
{"content": "b", "status": "in_progress"}, {"content": "c go", "status": "completed"}]}}}
        expect stop end_turn
        """,
    )


async def test_a_tool_call_is_announced_and_goes_through_its_states() -> None:
    await play(
        """
        tool "Read it" kind=read id=t-1
          status in_progress
          say meanwhile
          status completed "what it read"
        tool Other
        """,
        """
        expect {"params": {"update": {"sessionUpdate": "tool_call", "toolCallId": "t-1", "kind": "read"}}}
        expect {"params": {"update": {"toolCallId": "t-1", "status": "in_progress"}}}
        expect update agent_message_chunk meanwhile
        expect {"params": {"update": {"toolCallId": "t-1", "status": "completed", \
"content": [{"content": {"text": "what it read"}}]}}}
        expect {"params": {"update": {"title": "Other", "toolCallId": "$other", "status": "pending"}}}
        expect {"params": {"update": {"toolCallId": "$other", "status": "completed"}}}
        expect stop end_turn
        """,
    )


async def test_any_update_notification_and_request_can_be_sent() -> None:
    await play(
        """
        update {"sessionUpdate": "made_up", "n": 1}
        notify _my/note {"of": "$session"}
        notify _my/other
        call _my/question {"a": 1} as=it
        say "$it"
        """,
        """
        expect update made_up
        expect notification _my/note {"of": "$session"}
        expect {"method": "_my/other"}
        expect request _my/question {"a": 1}
        answer "forty-two"
        expect turn "forty-two"
        """,
    )


async def test_a_flood_is_that_many_chunks() -> None:
    passed = await play("flood 500 10", "await stop end_turn")
    chunks = [frame for _, frame in passed if b"agent_message_chunk" in frame]
    assert len(chunks) == 500
    assert b'"499 ......"' in chunks[-1]


ASK = """
ask "Delete it" kind=delete
  allowed
    say allowed
  rejected
    say rejected
  cancelled
    say cancelled
  failed
    say failed
"""


@pytest.mark.parametrize(
    ("reply", "branch"),
    [
        ("allow", "allowed"),
        ("reject", "rejected"),
        ('answer {"outcome": {"outcome": "cancelled"}}', "cancelled"),
        ('answer {"outcome": {"outcome": "selected", "optionId": "made up"}}', "failed"),
        ('answer {"outcome": {"outcome": "approved", "optionId": "allow_once"}}', "failed"),
        ('answer {"outcome": {"optionId": "allow_once"}}', "failed"),
        ('answer {"outcome": []}', "failed"),
        ("answer {}", "failed"),
        ("fail -32603", "failed"),
    ],
)
async def test_a_permission_is_asked_for_and_the_script_goes_on_by_the_answer(
    reply: str, branch: str
) -> None:
    await play(
        ASK,
        f"""
        expect request session/request_permission {{"toolCall": {{"title": "Delete it", "kind": "delete"}}}}
        {reply}
        expect turn {branch}
        """,
    )


async def test_a_script_can_offer_options_of_its_own() -> None:
    await play(
        """
        ask Sure
          option allow_always "Always" id=yes
          allowed
            say yes
        """,
        """
        expect request session/request_permission {"options": [{"optionId": "yes", "kind": "allow_always"}]}
        allow
        expect turn yes
        """,
    )


async def test_files_are_read_and_written_at_the_client() -> None:
    await play(
        """
        read /project/a line=2 limit=5 as=text
        write /project/b "copy of $text"
        read /missing
          failed
            say "$code $message"
        """,
        """
        expect request fs/read_text_file {"path": "/project/a", "line": 2, "limit": 5}
        answer {"content": "the text"}
        expect request fs/write_text_file {"path": "/project/b", "content": "copy of the text"}
        answer {}
        expect request fs/read_text_file
        fail -32002 "no such file"
        expect turn "-32002 no such file"
        """,
    )


async def test_a_command_is_run_in_a_terminal_that_is_released() -> None:
    await play(
        """
        run ls -l as=output
        say "$output"
        """,
        """
        expect request terminal/create {"command": "ls", "args": ["-l"]}
        answer {"terminalId": "t"}
        expect request terminal/wait_for_exit {"terminalId": "t"}
        answer {"exitCode": 0}
        expect request terminal/output {"terminalId": "t"}
        answer {"output": "a file", "truncated": false}
        expect request terminal/release {"terminalId": "t"}
        answer {}
        expect turn "a file"
        """,
    )


async def test_a_failed_call_without_a_branch_fails_the_turn() -> None:
    await play(
        "read /a\nsay never",
        """
        expect request fs/read_text_file
        fail -32002 "no such file"
        expect error -32603 "*no such file"
        """,
    )


async def test_waiting_and_repeating() -> None:
    await play("repeat 3\n  say $n\n  wait 0.001", "expect turn 123")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("stop refusal", "expect stop refusal"),
        ('answer {"stopReason": "made_up"}', "expect stop made_up"),
        ("answer", "expect stop end_turn"),
        ('fail -32000 "log in" {"why": 1}', 'expect {"error": {"code": -32000, "data": {"why": 1}}}'),
        ("fail -1", "expect error -1"),
        ("answer null", "expect answer null"),
        ("answer 1.5", 'expect {"result": 1.5}'),
        ("answer words", 'expect {"result": "words"}'),
        ('answer "$text"', 'expect {"result": "go"}'),
    ],
)
async def test_an_answer_leaves_when_its_line_is_played(line: str, answer: str) -> None:
    await play(f"{line}\nsay afterwards", f"{answer}\nexpect update agent_message_chunk afterwards")


async def test_a_request_can_be_left_without_an_answer() -> None:
    with pytest.raises(ScriptFailed, match=r"did not come within 0.05"):
        await play("say a\nunanswered", "expect update agent_message_chunk a\nexpect answer within=0.05")


async def test_a_cancel_ends_a_turn_that_does_not_wait_for_it() -> None:
    await play(
        "say a\nwait 1000\nsay never",
        "expect update agent_message_chunk a\ncancel\nexpect stop cancelled",
    )


async def test_a_cancel_in_the_same_block_as_the_prompt_counts() -> None:
    await play("wait 1000", "cancel\nexpect stop cancelled")


async def test_a_cancel_can_be_waited_for() -> None:
    await play(
        "say a\nuntil cancelled\nsay b\nstop end_turn",
        "expect update agent_message_chunk a\ncancel\nexpect turn b",
    )


async def test_a_cancel_can_be_ignored() -> None:
    await play(
        "deaf\nsay a\nread /x\nsay b",
        """
        expect update agent_message_chunk a
        cancel
        expect request fs/read_text_file
        answer {"content": ""}
        expect update agent_message_chunk b
        expect stop cancelled
        """,
    )


async def test_one_request_can_be_cancelled_by_its_id() -> None:
    await play(
        "wait 1000",
        'notify $/cancel_request {"requestId": "$last"}\nexpect stop cancelled',
    )


async def test_frames_lines_and_bytes_are_sent_as_they_are() -> None:
    passed = await play(
        r"""
        frame {"jsonrpc": "2.0", "id": "$id", "result": "twice"}
        frame [1, null]
        frame true
        line "a banner $text"
        raw "{\"half\":"
        raw " 1}\n"
        raw hex=ff0a
        """,
        """
        expect {"id": "$last", "result": "twice"}
        expect [1, null]
        expect true
        expect line "a banner go"
        expect {"half": 1}
        expect line "\ufffd"
        expect stop end_turn
        """,
    )
    assert b"\xff" in [frame for _, frame in passed]


async def test_dying_ends_the_connection_after_what_was_said() -> None:
    await play(
        "flood 1000 100\nsay last\ndie 3\nsay never", "await update agent_message_chunk last\nexpect end"
    )


async def test_hanging_up_ends_the_connection() -> None:
    await play("say last\nclose", "expect update agent_message_chunk last\nexpect end")


async def test_a_stalled_agent_hears_and_says_nothing() -> None:
    with pytest.raises(ScriptFailed, match=r"did not come within 0.1"):
        await play("say a\nstall", "expect update agent_message_chunk a\ncancel\nexpect answer within=0.1")


async def test_an_agent_that_stalls_for_a_while_comes_back() -> None:
    await play("stall 0.05\nsay a", "expect turn a")


async def test_complaints_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    await play('complain "about $text"\nlinger', "expect turn")
    assert capsys.readouterr().err == "about go\n"


async def test_a_client_answers_by_rules_beside_its_story() -> None:
    await play(
        "read /a as=a\nsay $a\nread /b as=b\nsay $b\n" + ASK,
        "expect turn onetwoallowed",
        rules="""
        on fs/read_text_file {"path": "/a"}
          answer {"content": "one"}
        on fs/read_text_file
          answer {"content": "two"}
        on session/request_permission
          allow
        """,
    )


async def test_a_rule_of_a_client_without_an_answer_chooses_nothing() -> None:
    await play(ASK, "expect turn cancelled", rules="on session/request_permission")


async def test_a_line_that_makes_no_sense_where_it_is_played_is_reported() -> None:
    agent = ScriptedAgent("on initialize\n  say hello")
    story = 'client\n  call initialize {"protocolVersion": 1}\n    failed\n      wait 0'
    with pytest.raises(ScriptError, match="line 2: there is no session"):
        await ScriptedClient(story).talk_to(agent)


async def test_permission_can_only_be_given_when_it_was_asked_for() -> None:
    with pytest.raises(ScriptError, match="line 6: no permission was asked for"):
        await play("say a", "allow")


def test_every_verb_is_tried_here() -> None:
    """Adding a verb without a test would go unnoticed otherwise."""
    text = " ".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    words = re.findall(r"[a-z]+", text.replace("\\n", " "))
    assert VERBS.keys() - set(words) == set()
