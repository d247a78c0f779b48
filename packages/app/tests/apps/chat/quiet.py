"""Somebody who is asked and listens, without a screen."""

from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman_app.tui.model.entries import SpeechEntry
from dragoman_app.tui.model.transcript import Transcript
from dragoman_app.tui.ports import ChatEvent, FormAnswer, FormPrompt, PermissionQuestion


class Quiet:
    """A person and a listener who keep what they hear."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.asked: list[PermissionQuestion] = []

    async def ask(self, question: PermissionQuestion) -> str | None:
        self.asked.append(question)
        return question.options[0].option_id

    async def fill(self, form: FormPrompt) -> FormAnswer:
        return FormAnswer(action="cancel")

    def on_update(self, update: v1.SessionUpdate | Unknown) -> None:
        self.transcript.hear(update)

    def on_chat_event(self, event: ChatEvent) -> None:
        if event.kind == "noted":
            self.transcript.note(event.text)

    def on_subagents(self, tree: str) -> None:
        self.transcript.show_subagents(tree)

    @property
    def words(self) -> list[str]:
        return [entry.text for entry in self.transcript.entries if isinstance(entry, SpeechEntry)]
