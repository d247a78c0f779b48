"""A recording as one HTML file that needs no server and no network."""

from dragoman.trace.view.page import make_page

__all__ = ["make_page"]
