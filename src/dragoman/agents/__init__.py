"""Ready agents, written against the public face as anybody's would be.

Import from the modules, so that starting one agent pays for that agent alone.
"""

VERSION = "0.1.0"
"""What the agents and the command line answer when asked. Reading it from the installed metadata would cost
more than the first answer of an agent does.
"""
