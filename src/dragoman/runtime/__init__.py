"""Running conversations: one (`Link`), two joined (`Relay`), and the owners of what they start."""

from dragoman.runtime.limits import Limits
from dragoman.runtime.link import Link
from dragoman.runtime.router import Answer, RefusingRouter, Router

__all__ = ["Answer", "Limits", "Link", "RefusingRouter", "Router"]
