"""`dragoman run`: one turn with any agent, from one line of shell.

Reading order: `arguments` what may be said, `exits` how it can end, `events` what is reported, `drive` the
order of steps. Each other file holds one idea of these. Nothing here is imported before it is needed: the
parser of every command is made each time that any command starts.
"""
