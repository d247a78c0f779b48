"""A whole text of Markdown, as the terminal draws it."""

from textual.content import Content

from dragoman.text.markdown import normalize, parse
from dragoman_app.tui.text.markdown import draw_blocks


def markdown(text: str, width: int) -> list[Content]:
    return draw_blocks(parse(normalize(text)), width)
