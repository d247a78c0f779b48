import pytest
from textual.app import App, ComposeResult

from dragoman.schema import v1
from dragoman_app.tui.drawing.entries import DrawingContext
from dragoman_app.tui.model.transcript import Transcript
from dragoman_app.tui.widgets.transcript_view import TranscriptView

pytestmark = pytest.mark.bound(60)


class Shown(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.transcript = Transcript()
        self.view = TranscriptView(self.transcript, DrawingContext(lambda name: None))

    def compose(self) -> ComposeResult:
        yield self.view

    def say(self, text: str) -> None:
        self.transcript.hear(v1.AgentMessageChunk(content=v1.TextContent(text=text)))
        self.view.look()


async def test_a_line_that_did_not_change_is_made_once_and_one_that_did_is_made_anew() -> None:
    app = Shown()
    async with app.run_test(size=(40, 12)):
        app.say("settled\n\nopen")
        first, last = app.view.render_line(0), app.view.render_line(2)
        assert "settled" in first.text
        app.say(" and more")
        assert app.view.render_line(0) is first
        assert "open and more" in app.view.render_line(2).text
        assert app.view.render_line(2) is not last
        app.view.cursor = app.transcript.entries[0]
        assert app.view.render_line(0) is not first
        app.view.cursor = None
        app.say("\n\n" + "\n\n".join(f"line {number}" for number in range(20)))  # the screen moves on
        assert "line 19" in app.view.render_line(app.view.size.height - 1).text
        app.view.scroll_to(y=0, animate=False, force=True)
        assert "settled" in app.view.render_line(0).text
