"""Serves an agent class of the official SDK's examples. Arguments: the example's file, and the class."""

from __future__ import annotations

import runpy
import sys

from dragoman import serve
from dragoman.sdk.official.adapter import adapt

if __name__ == "__main__":
    serve(adapt(runpy.run_path(sys.argv[1])[sys.argv[2]]()))
