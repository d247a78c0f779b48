"""Installs agents: the available agents, the installed ones, and how each is installed.

`registry` reads lists of agents in the form of the public ACP agent registry, `store` knows what is
installed, `archives` and `packages` bring files here and check them, `installer` does the whole. Nothing here
asks anybody: whoever calls it has shown the plan and has an answer.
"""
