"""The conversation on the screen: draws only the visible and new entries.

Only the end of a conversation is laid out at first; what stands above is laid out when somebody scrolls
there, and fetched if it is not here yet (`EarlierWanted`). Who reads the end stays at the end; who reads
above is not moved by what comes below.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.visual import Visual

from dragoman.text.cells import cell_width
from dragoman_app.tui.drawing.entries import DrawingContext, DrawnEntry, gap_between
from dragoman_app.tui.model.entries import PlannedSteps, SpeechEntry, ToolEntry, TranscriptEntry
from dragoman_app.tui.model.transcript import Transcript
from dragoman_app.tui.text.find import Hit, highlight_words, spans_of
from dragoman_app.tui.text.lines import plain
from dragoman_app.tui.text.places import FilePlace, place_at, places_of

SCREENS = 2
"""The screens of text to lay out at a time."""

MUCH = 40
"""The number of new entries from which on intermediate drawings are skipped."""

MOST = 1500
"""The most entries to keep laid out while the reader is at the end."""

MOST_STRIPS = 1000
"""The most drawn lines to keep: some screens of text."""


class TranscriptView(ScrollView, can_focus=True):
    """Shows a `Transcript`. The owner of the clock calls `look`."""

    DEFAULT_CSS = """
    TranscriptView {
        height: 1fr;
        padding: 0 0 0 1;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        scrollbar-background: $background;
        scrollbar-color: $foreground 20%;
        overflow-x: hidden;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,k", "cursor(-1)", "Up"),
        ("down,j", "cursor(1)", "Down"),
        ("enter,space", "fold", "Fold"),
        ("o", "open", "Open"),
        ("f", "files", "Files that it names"),
        ("g", "edge(-1)", "To the beginning"),
        ("G", "edge(1)", "Jump to the end"),
        ("slash", "screen.find", "Search"),
        ("b", "app.board", "Board"),
    ]

    cursor: reactive[TranscriptEntry | None] = reactive(None)

    class EarlierWanted(Message):
        """The user scrolled to the beginning of the loaded entries."""

    class EntryOpened(Message):
        """The user wants to see all of an entry."""

        def __init__(self, entry: TranscriptEntry) -> None:
            super().__init__()
            self.entry = entry

    class PlacesWanted(Message):
        """The user wants to see the files in an entry, or a clicked one."""

        def __init__(self, places: Sequence[FilePlace]) -> None:
            super().__init__()
            self.places = places

    def __init__(self, transcript: Transcript, around: DrawingContext) -> None:
        self._strips: dict[int, tuple[Content, Strip]] = {}  # by the line, and good for this content of it
        super().__init__()
        self.transcript = transcript
        self.around = around
        self._drawn_entries: list[DrawnEntry] = []
        self._start = 0  # the entry that the first of them is for
        self._tops: list[int] = [0]  # the first line of each, and the end
        self._asked_at = -1
        self._words = ""  # what is searched for
        self._follows = True  # its reader is at the end, and stays there

    # Keeping up.

    def look(self) -> bool:
        """Draw the changes; return whether there is more to draw soon."""
        if not self.size.width:
            return True
        change = self.transcript.take_changes()
        if change.cut or change.added_before:
            self._shift(change.cut, change.added_before)
        changed_places = [
            at for at in (self._redraw(change.touched_entries), self._append()) if at is not None
        ]
        if changed_places or change.cut:
            self._settle(min(changed_places, default=0))
        if change.added_before and self.scroll_offset.y < self.size.height:
            self.show_earlier()  # whoever waits at the top waits for this
        return any(drawing.is_behind for drawing in self._drawn_entries[-MUCH:])

    def redraw_all(self) -> None:
        """Draw all entries again after a change of a common setting."""
        self._strips.clear()
        self._lay_out(None if self._follows else self._entry_at(self.scroll_offset.y))
        self._settle(0)

    @property
    def _room(self) -> int:
        return max(self.scrollable_content_region.width, 8)

    def _make(self, at: int) -> DrawnEntry:
        entries = self.transcript.entries
        before = entries[at - 1] if at else None
        return DrawnEntry(entries[at], self._room, self.around, gap=gap_between(before, entries[at]))

    def _shift(self, cut: int, added_count: int) -> None:
        """Entries came or went at the beginning of the conversation."""
        self._start += added_count - cut
        if self._start < 0:
            removed_count = min(-self._start, len(self._drawn_entries))
            height = self._tops[removed_count]
            del self._drawn_entries[:removed_count]
            self._start = 0
            self._settle(0)
            self.scroll_to(y=max(0, self.scroll_offset.y - height), animate=False, force=True)

    def _redraw(self, touched_entries: set[TranscriptEntry]) -> int | None:
        """Draw again what changed; the place of the first of them."""
        lowest = None
        for at, drawing in enumerate(self._drawn_entries):
            if (drawing.entry in touched_entries or drawing.is_behind) and drawing.draw():
                lowest = at if lowest is None else lowest
        return lowest

    def _append(self) -> int | None:
        """Lay out what is new; the place of the first that is."""
        entries = self.transcript.entries
        there = len(self._drawn_entries)
        known_count = self._start + there
        if known_count >= len(entries):
            return None
        # So much at once that nobody sees what is between, or too much to keep: begin anew at the end.
        is_much = len(entries) - known_count > MUCH or there > MOST
        if not there or (is_much and self._follows):
            self._lay_out(None)
            return 0
        self._drawn_entries += [self._make(at) for at in range(known_count, len(entries))]
        return there

    def _lay_out(self, top: TranscriptEntry | None) -> None:
        """Anew: from an entry to the end, or enough of the end."""
        entries = self.transcript.entries
        self._start, self._drawn_entries, self._tops = len(entries), [], [0]
        self._draw_above(top)

    def _draw_above(self, top: TranscriptEntry | None = None) -> int:
        """Some screens full above what is laid out, and at least up to this entry; how many lines."""
        drawn_entries: list[DrawnEntry] = []
        height = 0
        is_found = top is None
        while self._start and not (is_found and height > SCREENS * self.size.height):
            self._start -= 1
            drawn_entries.append(self._make(self._start))
            height += len(drawn_entries[-1].lines)
            is_found = is_found or drawn_entries[-1].entry is top
        self._drawn_entries[:0] = reversed(drawn_entries)
        return height

    def _settle(self, lowest: int) -> None:
        """Where everything stands from this entry on."""
        del self._tops[lowest + 1 :]
        total = self._tops[-1]
        for drawing in self._drawn_entries[lowest:]:
            total += len(drawing.lines)
            self._tops.append(total)
        self.virtual_size = Size(self._room, total)
        if self._follows:
            self.scroll_end(animate=False, immediate=True, force=True, x_axis=False)
        self.refresh()

    # Scrolling.

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._follows = new_value >= self.max_scroll_y
        if new_value < self.size.height and new_value < old_value:
            self.show_earlier()

    def show_earlier(self) -> None:
        """Lay out more entries above; request more if there are none."""
        if self._start == 0:
            if self.transcript.entries and self._asked_at != len(self.transcript.entries):
                self._asked_at = len(self.transcript.entries)
                self.post_message(self.EarlierWanted())
            return
        height = self._draw_above()
        self._tops = [0]
        at = self.scroll_offset.y + height
        self._settle(0)
        self.scroll_to(y=at, animate=False, force=True)

    def follow(self) -> None:
        """Scroll to the end, and stay there."""
        self._follows = True
        self.scroll_end(animate=False, immediate=True, force=True, x_axis=False)

    def on_resize(self, event: Resize) -> None:
        self.redraw_all()

    # Choosing.

    def action_cursor(self, step: int) -> None:
        entries = [drawing.entry for drawing in self._drawn_entries]
        if not entries:
            return
        at = entries.index(self.cursor) + step if self.cursor in entries else len(entries) - 1
        if at < 0 and self._start:
            self.show_earlier()
            return
        self.cursor = entries[max(0, min(at, len(entries) - 1))]
        self._reveal(self.cursor)

    def action_fold(self) -> None:
        if self.cursor is not None:
            self.fold(self.cursor)

    def action_open(self) -> None:
        if self.cursor is not None:
            self.post_message(self.EntryOpened(self.cursor))

    def action_files(self) -> None:
        if self.cursor is not None:
            self.post_message(self.PlacesWanted(places_of(self.cursor)))

    def action_edge(self, side: int) -> None:
        if side > 0:
            self.follow()
        else:
            self.scroll_home(animate=False, force=True)
            self.show_earlier()

    def fold(self, entry: TranscriptEntry) -> None:
        """Fold or unfold an entry, if possible."""
        if isinstance(entry, SpeechEntry) and entry.who == "thought":
            is_open = self.around.thoughts_open if entry.is_open is None else entry.is_open
            entry.is_open = not is_open
        elif isinstance(entry, ToolEntry):
            entry.is_open = {None: True, True: False, False: None}[entry.is_open]
        elif isinstance(entry, PlannedSteps):
            entry.is_open = entry.is_open is False
        else:
            return
        self.transcript.touch(entry)

    def on_click(self, event: Click) -> None:
        content_offset = event.get_content_offset(self)
        y = self.scroll_offset.y + event.y
        entry = self._entry_at(y)
        if entry is None:
            return
        place = None if content_offset is None else _place_at_cell(self._content(y).plain, content_offset.x)
        if place is not None:
            self.post_message(self.PlacesWanted([place]))
            return
        if entry is self.cursor:
            self.fold(entry)
        self.cursor = entry

    def watch_cursor(self) -> None:
        self._strips.clear()
        self.refresh()

    def on_blur(self) -> None:
        self.cursor = None

    def show_hit(self, hit: Hit, words: str) -> bool:
        """Show these words of an entry on the screen, unfolded and marked; False if the shown lines do not
        have them.
        """
        if all(drawing.entry is not hit.entry for drawing in self._drawn_entries):
            self._lay_out(hit.entry)
            self._settle(0)
        rows = self._rows_with(hit.entry, words)
        if not rows and hit.entry.is_open is not True:
            hit.entry.is_open = True
            hit.entry.touch()
            self._redraw({hit.entry})
            self._settle(0)
            rows = self._rows_with(hit.entry, words)
        at = next(at for at, drawing in enumerate(self._drawn_entries) if drawing.entry is hit.entry)
        row = rows[min(hit.number, len(rows) - 1)] if rows else 0
        self._follows = False
        self.scroll_to(y=max(0, self._tops[at] + row - self.size.height // 3), animate=False, force=True)
        self.mark_words(words)
        return bool(rows)

    def mark_words(self, words: str) -> None:
        """Mark these words wherever they are shown; an empty text removes the marks."""
        self._words = words
        self._strips.clear()
        self.refresh()

    def _rows_with(self, entry: TranscriptEntry, words: str) -> list[int]:
        """The row of each time that an entry's lines have the words."""
        drawing = next(drawing for drawing in self._drawn_entries if drawing.entry is entry)
        return [row for row, line in enumerate(drawing.lines) for _ in spans_of(line.plain, words)]

    def _reveal(self, entry: TranscriptEntry) -> None:
        at = next(at for at, drawing in enumerate(self._drawn_entries) if drawing.entry is entry)
        top, end = self._tops[at], self._tops[at + 1]
        height = self.size.height
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)
        elif end > self.scroll_offset.y + height:
            self.scroll_to(y=min(top, end - height), animate=False, force=True)

    def _entry_at(self, y: int) -> TranscriptEntry | None:
        at = bisect_right(self._tops, y) - 1
        return self._drawn_entries[at].entry if 0 <= at < len(self._drawn_entries) else None

    # Drawing.

    def render_line(self, y: int) -> Strip:
        """Return a cached line if possible: most lines of a scrolling screen were on the previous one, and
        building a strip is the slow part.
        """
        y += self.scroll_offset.y
        content = self._content(y)
        before = self._strips.get(y)
        if before is not None and before[0] is content:
            return before[1]
        if len(self._strips) > MOST_STRIPS:
            self._strips.clear()
        strip = self._strip(content, y)
        self._strips[y] = (content, strip)
        return strip

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    def _strip(self, content: Content, y: int) -> Strip:
        width = self.scrollable_content_region.width
        style = self.visual_style
        if self._words:
            content = highlight_words(content, self._words)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(y)) is not None:
            content = content.stylize("reverse", span[0], len(content) if span[1] == -1 else span[1])
        strips = Visual.to_strips(self, content, width, 1, style, apply_selection=False, pad=True)
        strip = strips[0] if strips else Strip.blank(width, style.rich_style)
        return strip.apply_offsets(0, y)  # so that the mouse can select it

    # Selecting with the mouse.

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        lines = (line.plain.rstrip() for drawing in self._drawn_entries for line in drawing.lines)
        return selection.extract("\n".join(lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self._strips.clear()
        self.refresh()

    def _content(self, y: int) -> Content:
        at = bisect_right(self._tops, y) - 1
        if not 0 <= at < len(self._drawn_entries):
            is_middle = not self._drawn_entries and y == self.size.height // 2
            return plain("No messages yet.".center(self._room), "dim") if is_middle else Content("")
        drawing, row = self._drawn_entries[at], y - self._tops[at]
        if drawing.entry is self.cursor and row == drawing.gap:
            return drawing.lines[row].stylize("reverse", 0, 1)
        return drawing.lines[row]


def _place_at_cell(text: str, x: int) -> FilePlace | None:
    """The place of a file that stands in this cell of a line."""
    cells = 0
    for index, character in enumerate(text):
        cells += cell_width(character)
        if cells > x:
            return place_at(text, index)
    return None
