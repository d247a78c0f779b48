"""Lines that are read at leisure leave a column free before the bar that scrolls them."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.content import Content

from dragoman_app.tui.widgets.lines_view import LinesView

SCREEN = (40, 10)


@pytest.mark.parametrize(("count", "width"), [(3, 40), (30, 38)])
async def test_words_do_not_touch_the_bar(count: int, width: int) -> None:
    widths: list[int] = []

    def lines(room: int) -> list[Content]:
        widths.append(room)
        return [Content("x" * room)] * count

    class LinesApp(App[None]):
        def compose(self) -> ComposeResult:
            yield LinesView(lines)

    async with LinesApp().run_test(size=SCREEN) as pilot:
        await pilot.pause()
    assert widths[-1] == width, widths
