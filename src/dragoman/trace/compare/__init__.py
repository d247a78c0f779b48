"""Two recordings compared by what they mean."""

from dragoman.trace.compare.meaning import Difference, compare, meaning

__all__ = ["Difference", "compare", "meaning"]
