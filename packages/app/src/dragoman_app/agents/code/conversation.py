"""The coder's data about an open session: the model, its history, permissions, attachments."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.schema import v1
from dragoman_app.agents.code.permission import SessionGrants

if TYPE_CHECKING:
    from dragoman import KitSession
    from dragoman_app.agents.code.history import ModelHistory
    from dragoman_app.agents.code.models import SessionModel


class CoderConversation:
    """The data of one session. Opening the session does not read any of it yet."""

    def __init__(self, session: KitSession[CoderConversation]) -> None:
        self._session = session
        self._history: ModelHistory | None = None
        self._model: SessionModel | None = None
        self.grants = SessionGrants()
        self.changing = asyncio.Lock()
        """Held by whatever changes something: such calls run one after another, also when made at once."""
        self.attachments: dict[str, str] = {}
        """The texts that came with prompts, by address."""

    @property
    def history(self) -> ModelHistory:
        """The model's messages. Needs the model layer; see `models`."""
        if self._history is None:
            from dragoman_app.agents.code.history import ModelHistory

            self._history = ModelHistory(self._session)
        return self._history

    @property
    def model(self) -> SessionModel:
        """The model of the session. Needs the model layer too."""
        if self._model is None:
            from dragoman_app.agents.code.models import SessionModel

            self._model = SessionModel(self._session)
        return self._model

    def attach(self, blocks: Sequence[v1.ContentBlock]) -> None:
        """Keep the attachments of a prompt for the tool `fetch`."""
        for block in blocks:
            if isinstance(block, v1.EmbeddedResource) and isinstance(block.resource, v1.TextResourceContents):
                self.attachments[block.resource.uri] = block.resource.text
