"""The conversation screen: messages, open questions, the input box and the status.

A clock of twenty beats a second draws what has come since the last one, and stands still when nothing moves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import ClassVar, cast

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from dragoman.errors import DragomanError
from dragoman.text.fuzzy import fuzzy_search
from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.conversation import ChatConversation
from dragoman_app.tui.drawing.entries import DrawingContext
from dragoman_app.tui.drawing.status import footer, heading
from dragoman_app.tui.model.entries import CommandOutput
from dragoman_app.tui.model.transcript import Transcript
from dragoman_app.tui.ports import ChatBackend, ChatHost, ChatRequest
from dragoman_app.tui.screen_user import ScreenUser
from dragoman_app.tui.screens.detail import DetailScreen
from dragoman_app.tui.screens.entry import EntryScreen
from dragoman_app.tui.screens.file import FileOpener
from dragoman_app.tui.screens.review import ReviewScreen
from dragoman_app.tui.screens.settings import SettingChoice, SettingsScreen
from dragoman_app.tui.screens.slash_commands import SlashCommands
from dragoman_app.tui.screens.transcript_search import TranscriptSearch
from dragoman_app.tui.text.lines import cut
from dragoman_app.tui.widgets.completions import Completion, Completions
from dragoman_app.tui.widgets.find_bar import FindBar
from dragoman_app.tui.widgets.prompt_box import PromptBox
from dragoman_app.tui.widgets.transcript_view import TranscriptView

BEATS = 20
"""The most drawings per second."""

LIVE = 5
"""The number of drawings between two checks of running commands."""


class ChatScreen(Screen[None]):
    """One conversation at a time; `open` starts another."""

    DEFAULT_CSS = """
    ChatScreen {
        & #heading { height: 1; padding: 0 1; background: $panel; }
        & #queue { height: auto; max-height: 4; padding: 0 1; color: $text-muted; display: none; }
        & #writing { height: auto; padding: 0 1; border-top: solid $primary 40%; }
        & #writing > #mark { width: 2; height: 1; color: $text-primary; text-style: bold; }
        & #footing { height: 1; padding: 0 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", show=False),
        Binding("ctrl+c", "interrupt", "Stop", show=False, priority=True),
        Binding("ctrl+s", "steer", "Steer", show=False, priority=True),
        Binding("ctrl+g", "review", "Review changes", show=False),
        Binding("ctrl+f", "find", "Search", show=False, priority=True),
        Binding("ctrl+e", "open_file", "Open a file", show=False, priority=True),
        Binding("ctrl+t", "thoughts", "Thoughts", show=False),
        Binding("shift+tab", "next_mode", "Next mode", show=False, priority=True),
        Binding("f2", "settings", "Modes and options", show=False),
        Binding("f3", "copy", "Copy the last answer", show=False),
        Binding("f5", "restart", "Start again", show=False),
        Binding("tab", "switch_focus", "Into the conversation", show=False),
        Binding("pageup", "scroll_view(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "scroll_view(1)", "Down", show=False, priority=True),
    ]

    def __init__(self, backend: ChatBackend, request: ChatRequest) -> None:
        super().__init__()
        self.backend = backend
        self.request = request
        self.transcript = Transcript()
        self.conversation = ChatConversation(self.transcript, self._mark)
        self.around = DrawingContext(self._terminal)
        self.view = TranscriptView(self.transcript, self.around)
        self.box = PromptBox(lambda: self.transcript.prompts, self.withdraw)
        self.completions = Completions(self._complete)
        self.find_bar = FindBar()
        self.slash_commands = SlashCommands(self)
        self._search = TranscriptSearch(self.transcript, self.view, self.find_bar, self._earlier)
        self._files = FileOpener(lambda: self.app, lambda: self.conversation.chat, self.start_task)
        self._talking: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        self._clock: Timer | None = None
        self._beat = 0
        self._status_texts: dict[str, Content] = {}
        self._has_changes = True
        self._is_opening = False
        self._was_busy = False

    def compose(self) -> ComposeResult:
        yield Static(id="heading", markup=False)
        yield self.view
        yield self.find_bar
        yield Static(id="queue", markup=False)
        yield self.completions
        with Horizontal(id="writing"):
            yield Static(Content("❯"), id="mark")
            yield self.box
        yield Static(id="footing", markup=False)

    async def on_mount(self) -> None:
        self.transcript.wake = self._mark
        self.around.has_colours = not self.app.no_color
        self.box.chooser = self.completions.take_key
        self._clock = self.set_interval(1 / BEATS, self._look)
        self.box.focus()
        await self.open(self.request)

    def on_resize(self) -> None:
        self._show_state()

    async def on_unmount(self) -> None:
        await self.close()

    # The conversation.

    async def open(self, request: ChatRequest) -> None:
        """Leave the open conversation, and open this one."""
        await self.close()
        self.find_bar.close()
        self.request = request
        self.transcript.clear()
        self.conversation = ChatConversation(self.transcript, self._mark)
        self.around.cwd = request.cwd
        person = ScreenUser(self.app, lambda: self.box.typed_at)
        conversing = self.conversation.converse(self.backend, request, person)
        self._talking = asyncio.create_task(conversing, name="conversation")
        self._talking.add_done_callback(self._on_talk_end)
        self._is_opening = True
        self._host.before_opening()
        self._show_state()
        self._mark()

    async def close(self) -> None:
        candidates = (self._talking, *self._tasks)
        tasks = [task for task in candidates if task not in (None, asyncio.current_task())]
        self._talking = None
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    @property
    def _host(self) -> ChatHost:
        return cast("ChatHost", self.app)

    def _on_talk_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._host.fail(error)

    def start_task(self, doing: Coroutine[object, None, object]) -> None:
        """Start a task that this screen owns."""
        task = asyncio.create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # The clock.

    def _mark(self) -> None:
        if self._has_changes:  # then the clock goes; this is called for each of thousands of updates
            return
        self._has_changes = True
        if self._clock is not None:
            self._clock.resume()

    def _look(self) -> None:
        self._beat += 1
        if self._beat % LIVE == 0:
            self._look_at_commands()
        if self.conversation.state == "starting" and self._beat % BEATS:
            return  # a history may be coming, tens of thousands of updates: only its end is of interest
        self._take_breath()
        had_changes, self._has_changes = self._has_changes, False
        behind = self.view.look()
        self._show_state()
        busy = self.conversation.is_busy or bool(self.conversation.shells) or self._is_apart
        if not (had_changes or behind or busy) and self._clock is not None:
            self._clock.pause()

    def _take_breath(self) -> None:
        """Let the host work when the person does not notice a pause: after opening and after a turn."""
        if self._is_opening and self.conversation.state != "starting":
            self._is_opening = False
            self._host.after_opening()
            if self.request.words:
                self.call_after_refresh(self.find_bar.open, self.request.words)
        if self._was_busy and not self.conversation.is_busy:
            self._host.after_turn()
        self._was_busy = self.conversation.is_busy

    @property
    def _is_apart(self) -> bool:
        """Whether the line below has something to count: the way to the agent is cut, or was."""
        chat = self.conversation.chat
        return self.conversation.away is not None or (chat is not None and chat.behind is not None)

    def _look_at_commands(self) -> None:
        for entry in (*self.transcript.running_terminals(), *self.conversation.shells):
            self.transcript.touch(entry)

    def _show_state(self) -> None:
        """The lines around the conversation, as far as they are different now: each costs a drawing."""
        conversation, width = self.conversation, max(10, self.size.width - 2)
        chat = conversation.chat
        agent, wall = (self.request.agent, "off") if chat is None else (chat.agent, chat.sandbox)
        waiting = [f"⋯ {cut(sanitize_line(text), width - 3)}" for text in list(conversation.queue)[:3]]
        if len(conversation.queue) > len(waiting):
            waiting.append(f"⋯ and {len(conversation.queue) - len(waiting)} more")
        state = {
            "heading": heading(agent, self.request.cwd, self.transcript.facts, width, sandbox=wall),
            "footing": footer(conversation, width),
            "queue": Content("\n".join(waiting)),
        }
        for name, content in state.items():
            before = self._status_texts.get(name)
            if before is None or not content.is_same(before):
                self._status_texts[name] = content
                self.query_one(f"#{name}", Static).update(content, layout=name == "queue")
        self.query_one("#queue").display = bool(waiting)

    def _terminal(self, terminal_id: str) -> CommandOutput | None:
        chat = self.conversation.chat
        return None if chat is None else chat.terminal(terminal_id)

    # Saying something.

    def on_prompt_box_submitted(self, event: PromptBox.Submitted) -> None:
        text = event.text.strip()
        if not text:
            if self.conversation.queue and self.conversation.is_held:
                self.conversation.go_on()
            return
        if text.startswith("!"):
            self.start_task(self.conversation.shell(text[1:].strip()))
        elif self.slash_commands.take(text):
            pass
        elif self.conversation.state in ("failed",):
            self.app.notify(
                "No agent is connected. Press F5 to try again, or Ctrl+O to open another session.",
                markup=False,
            )
            return
        elif not self.conversation.submit(text):
            self.app.notify("Too many prompts are waiting. Send this one later.", markup=False)
            return
        self.box.clear()
        self.completions.offer(())
        self.view.follow()

    async def on_prompt_box_help_wanted(self) -> None:
        await self.app.run_action("help")

    def on_text_area_changed(self) -> None:
        self._seek()

    @work(exclusive=True, group="seek")
    async def _seek(self) -> None:
        """Look for what may stand where the person writes."""
        sought = self.box.sought
        if sought is None:
            self.completions.offer(())
        elif sought.kind == "command":
            commands = self.transcript.facts.commands
            matches = fuzzy_search(sought.query, commands, key=lambda command: command.name)
            self.completions.offer(
                [
                    Completion(
                        f"/{command.name} ", f"/{command.name}", command.description, not command.input
                    )
                    for command in matches
                ]
            )
        elif self.conversation.chat is not None:
            paths = await self.conversation.chat.files(sought.query)
            self.completions.offer(
                [Completion(f'@"{path}" ' if " " in path else f"@{path} ", path) for path in paths]
            )

    def _complete(self, completion: Completion, is_enter: bool) -> None:
        self.box.complete(completion.text)
        if is_enter and completion.is_final:
            self.on_prompt_box_submitted(PromptBox.Submitted(self.box.text))

    # Keys.

    async def action_stop(self) -> None:
        if self.find_bar.display:
            self.find_bar.close()
        elif self.view.has_focus:
            self.box.focus()
        elif self.conversation.is_busy:
            await self.conversation.cancel()

    async def action_interrupt(self) -> None:
        selection = self.get_selected_text() or self.box.selected_text
        if selection:
            self.app.copy_to_clipboard(selection)
            self.clear_selection()
        elif self.conversation.is_busy:
            await self.conversation.cancel()
        elif self.box.text:
            self.box.clear()
        else:
            self.app.notify("Ctrl+Q leaves.", markup=False)

    async def action_steer(self) -> None:
        text = self.box.text.strip()
        if text or self.conversation.queue:
            self.box.clear()
            # The agent may take its time to say that it has it, and may ask something first.
            self.run_worker(self.conversation.steer(text))

    def withdraw(self) -> bool:
        """Put the last queued prompt back into the box; return whether there was one."""
        text = self.conversation.withdraw()
        if text is not None:
            self.box.set_text(text)
        return text is not None

    def write_prompt(self, text: str) -> None:
        """Put a text into the box for the user to continue."""
        self.box.set_text(text)
        self.box.focus()

    async def action_stop_turn(self) -> None:
        await self.conversation.cancel()

    def action_rename(self) -> None:
        hint = "enter sets the title · esc leaves it"
        self.app.push_screen(EntryScreen("Title", value=self.transcript.facts.title, hint=hint), self._rename)

    def _rename(self, title: str | None) -> None:
        chat = self.conversation.chat
        if chat is not None and title:
            self.start_task(self._try(chat.set_title(title), lambda: self._on_title(title)))

    def _on_title(self, title: str) -> None:
        self.transcript.facts.title = title
        self._mark()

    def action_archive(self) -> None:
        chat = self.conversation.chat
        if chat is not None:
            notify = partial(self.app.notify, "The session is archived. To see it: F4, then v.")
            self.start_task(self._try(chat.archive(), notify))

    async def _try(self, act: Awaitable[None], on_done: Callable[[], object]) -> None:
        """Do it, and tell what goes wrong."""
        try:
            await act
        except DragomanError as error:
            self.transcript.note(str(error), "error")
        else:
            on_done()

    def action_review(self) -> None:
        review = self.conversation.review
        if review is None:
            self.app.notify("Nothing has changed on disk in the last turn.", markup=False)
        else:
            self.app.push_screen(ReviewScreen(review, cwd=self.request.cwd))

    def action_rewind(self, words: str) -> None:
        self.start_task(self.slash_commands.rewind(words))

    def action_thoughts(self) -> None:
        self.around.thoughts_open = not self.around.thoughts_open
        self.view.redraw_all()

    def action_copy(self) -> None:
        answer = self.transcript.last_answer
        if answer:
            self.app.copy_to_clipboard(answer)
            self.app.notify("The last answer was copied.", markup=False)

    def action_restart(self) -> None:
        if self.conversation.state == "failed":
            self.start_task(self.open(self.request))
        else:
            self.start_task(self.conversation.restart())

    def action_switch_focus(self) -> None:
        (self.box if self.view.has_focus else self.view).focus()

    def action_scroll_view(self, step: int) -> None:
        (self.view.scroll_page_down if step > 0 else self.view.scroll_page_up)(animate=False)

    # Modes and options.

    def action_settings(self) -> None:
        self.app.push_screen(SettingsScreen(self.transcript.facts), self.change_setting)

    def action_next_mode(self) -> None:
        facts = self.transcript.facts
        modes = [mode.id for mode in facts.modes]
        if modes:
            after = (modes.index(facts.mode) + 1) % len(modes) if facts.mode in modes else 0
            self.change_setting(SettingChoice("mode", modes[after], modes[after]))

    def change_setting(self, setting: SettingChoice | None) -> None:
        if setting is not None:
            self.start_task(self._set(setting))

    async def _set(self, setting: SettingChoice) -> None:
        chat, facts = self.conversation.chat, self.transcript.facts
        if chat is None:
            return
        try:
            if setting.kind == "mode":
                await chat.set_mode(setting.id)
                facts.mode = setting.id
            else:
                await chat.set_option(setting.id, setting.value)
                facts.options = chat.options
        except DragomanError as error:
            self.transcript.note(str(error), "error")
        self._mark()

    # The view.

    def on_transcript_view_earlier_wanted(self) -> None:
        self.start_task(self._earlier())

    async def _earlier(self) -> bool:
        try:
            return await self.conversation.earlier()
        except DragomanError as error:
            self.transcript.note(f"Earlier messages can't be read: {error}", "warning")
            return False

    def action_edge(self, side: int) -> None:
        self.view.action_edge(side)

    # Searching.

    def action_find(self) -> None:
        if self.find_bar.display and self.find_bar.has_focus_within:
            self.find_bar.close()
        else:
            self.find_bar.open()

    def on_find_bar_moved(self, event: FindBar.Moved) -> None:
        self.run_worker(self._search.move(event.words, event.step), exclusive=True, group="search")

    def on_find_bar_closed(self) -> None:
        self._search.end()
        self.box.focus()

    # Files.

    def action_open_file(self) -> None:
        self._files.choose_file()

    def on_transcript_view_places_wanted(self, event: TranscriptView.PlacesWanted) -> None:
        self._files.choose_place(event.places)

    def on_transcript_view_entry_opened(self, event: TranscriptView.EntryOpened) -> None:
        self.app.push_screen(DetailScreen(event.entry, self.around))
