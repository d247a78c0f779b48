"""Somebody who is asked and listens, without a screen."""

from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.tui.model.entries import Said
from dragoman.tui.model.transcript import Transcript
from dragoman.tui.ports import Filled, Form, Happening, Question


class Quiet:
    """A person and a listener who keep what they hear."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        return question.options[0].option_id

    async def fill(self, form: Form) -> Filled:
        return Filled(action="cancel")

    def heard(self, update: v1.SessionUpdate | Unknown) -> None:
        self.transcript.hear(update)

    def happened(self, happening: Happening) -> None:
        if happening.kind == "noted":
            self.transcript.note(happening.text)

    @property
    def words(self) -> list[str]:
        return [entry.text for entry in self.transcript.entries if isinstance(entry, Said)]
