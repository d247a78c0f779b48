"""The version number of the distribution and all packages; the build reads it from here.

Reading it from the installed metadata would take longer than the first answer of an agent.
"""

VERSION = "0.1.0"

PACKAGES = ("dragoman", "dragoman_local", "dragoman_check", "dragoman_review", "dragoman_hub", "dragoman_app")
"""Our packages with this version, one for each box."""
