"""A scripted agent's turn, played to a scripted client that expects exactly what comes."""

from textwrap import dedent, indent

from dragoman.testing import ScriptedAgent, ScriptedClient, Transcript


async def play(agent: str, client: str, *, rules: str = "", can: str = "load") -> Transcript:
    """Play the lines of an agent's turn to a client that has already opened a session."""
    script = f"agent tester\n  can {can}\non prompt\n{indent(dedent(agent), '  ')}"
    story = (
        f"{dedent(rules)}\nclient\n  initialize\n  new cwd=/work\n  prompt go\n{indent(dedent(client), '  ')}"
    )
    return await ScriptedClient(story).talk_to(ScriptedAgent(script))
