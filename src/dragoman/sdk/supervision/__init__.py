"""An agent that is watched: deadlines, deaths, restarts, and sessions that outlive a process.

`supervisor` has `supervised` and the agent it gives, `session` and `turn` what is done with it, `events` what
is reported meanwhile, `deadlines` and `restarts` how long and how often. It starts agents and never judges
what they say; a turn that died is never repeated.
"""
