"""The same object as in `official_agent`, served by us."""

from __future__ import annotations

from dragoman import serve
from dragoman.sdk.official.adapter import adapt
from tests.interop.python.official_agent import StoryAgent

if __name__ == "__main__":
    serve(adapt(StoryAgent()))
