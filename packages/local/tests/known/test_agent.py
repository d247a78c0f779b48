from pathlib import Path

from dragoman_local.known.agent import AgentSource, KnownAgent


def test_a_program_that_is_named_by_its_path_is_that_file(tmp_path: Path) -> None:
    real = tmp_path / "real" / "claude"
    real.parent.mkdir()
    real.touch()
    link = tmp_path / "claude"
    link.symlink_to(real)
    named = KnownAgent(name="claude", command=("claude-agent-acp",), source=AgentSource.PATH)
    typed = KnownAgent(name="claude", command=(str(link), "--acp"), source=AgentSource.COMMAND)
    assert (named.identity, typed.identity) == ("claude", str(real))
    assert KnownAgent(name="mine", command=("mine",), source=AgentSource.COMMAND).identity == "mine"
    assert KnownAgent(name="mine", command=("/x/claude",), source=AgentSource.CONFIG).identity == "mine"
