"""Lines that go by what the client has said, in its prompt or meanwhile, and files that are really made."""

from pathlib import Path

import pytest

from dragoman.testing import ScriptedAgent, ScriptedClient, ScriptError
from tests.testing.script.script_turn import play


async def test_numbers_may_be_what_the_prompt_says() -> None:
    agent = """
    on prompt "flood $count $size"
      flood $count $size
      repeat $count
        wait $size
    on prompt
      flood "$text"
    """
    story = """
    client
      initialize
      new
      prompt "flood 2 0"
      expect turn "0 1 "
      prompt "flood 2"
      expect error -32603 *
    """
    with pytest.raises(ScriptError, match="line 7: 'flood 2' is not a whole number"):
        await ScriptedClient(story).talk_to(ScriptedAgent(agent))


async def test_a_line_can_wait_for_a_message() -> None:
    await play(
        "say before\nuntil _go\nsay after",
        "expect update agent_message_chunk before\nnotify _other\nnotify _go\nexpect turn after",
    )
    await play("until _go", "cancel\nexpect stop cancelled")


async def test_files_can_be_written_behind_the_back_of_the_client(tmp_path: Path) -> None:
    agent = """
    on prompt
      save made "first $text\\n"
      append "$cwd/made" second
      save missing/made x
        failed
          say "not made"
      append missing/made x
    """
    story = """
    client
      initialize
      new cwd="$folder"
      prompt go
      expect update agent_message_chunk "not made"
      expect error -32603 "*append did not work"
    """
    await ScriptedClient(story, names={"folder": str(tmp_path)}).talk_to(ScriptedAgent(agent))
    assert (tmp_path / "made").read_text() == "first go\nsecond"
