"""Durable sessions: new, load, resume, list, close, delete, fork, set_title."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from tests.sdk.kit.keeping import chatting, listening


async def test_a_session_is_loaded_by_a_later_connection_with_all_that_was_said(tmp_path: Path) -> None:
    agent, _ = chatting(tmp_path / "s.db")
    async with listening(agent) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        assert str(UUID(session.id)) == session.id
        assert (await session.prompt("first")).text == "1: first"
        assert (await session.prompt("second")).text == "2: second"
    again, _ = chatting(tmp_path / "s.db")
    async with listening(again) as (handle, heard):
        loaded = await handle.load_session(session.id, cwd="/tmp")
        assert heard.told(session.id) == [
            ("user_message_chunk", "first"),
            ("session_info_update", "first"),
            ("agent_message_chunk", "1: "),
            ("agent_message_chunk", "first"),
            ("user_message_chunk", "second"),
            ("agent_message_chunk", "2: "),
            ("agent_message_chunk", "second"),
        ]
        assert (await loaded.prompt("third")).text == "3: third"
