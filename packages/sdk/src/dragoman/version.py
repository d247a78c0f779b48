"""The version of the distribution, in the one place where it is written; the build reads it from here.

Reading it from the installed metadata would take longer than the first answer of an agent.
"""

VERSION = "0.1.0"
