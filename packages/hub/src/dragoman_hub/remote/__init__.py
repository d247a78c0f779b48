"""Agents on other machines and in containers: copies Dragoman there, and keeps the connection to them.

Here: `place` names where an agent lives, `reach` how to get there, `bundle` what we bring along, `line` the
transport that survives cuts. There: `bootstrap` unpacks, `attach` finds or starts the agent host, `lender`
stands before the agent. docs/ssh.md tells the story from a user's side.
"""
