"""Ready agents, written against the public face as anybody's would be.

Import from the modules, so that starting one agent pays for that agent alone.
"""
