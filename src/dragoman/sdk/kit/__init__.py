"""The agent kit: durable sessions, and what goes with them, over a plain `Agent`.

    agent = Agent("notes")
    kit = Kit(agent, conversation=Chat, modes=Modes("ask", "edit"))

    @kit.prompt
    async def reply(turn: KitTurn[Chat]) -> None:
        await turn.say(turn.session.conversation.answer(turn.text))

    serve(agent)

`kit` is the declaration; `session` and `turn` are what handlers meet; `log` stores, `sessions` and `recall`
bring back; `settings`, `commands` and `usage` are one idea each; `mounts` runs the MCP servers of a client;
`local` is the agent's own confined files and commands.
"""
