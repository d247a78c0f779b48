"""What the user sent, as the model gets it: words, pictures, and what was attached.

An attached text goes in whole while it is short; the rest of a long one is there for the tool `fetch`. A link
is told by its name and address: the model reads it when it wants to. A picture goes to models that take
pictures, and is told in words to others, so that nobody believes it was seen.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from html import escape

from pydantic_ai.messages import BinaryContent, UserContent

from dragoman.schema import v1

ATTACHED = 24_000
"""Characters of one attached text that go in at once."""


def content_of(blocks: Sequence[v1.ContentBlock], *, images: bool) -> list[UserContent]:
    """The prompt, block by block in its order."""
    return [item for block in blocks if (item := _item(block, images=images)) is not None]


def _item(block: v1.ContentBlock, *, images: bool) -> UserContent | None:
    match block:
        case v1.TextContent(text=text):
            return text
        case v1.ImageContent(data=data, mime_type=kind):
            return _binary(data, kind) if images else f"[A picture ({kind}) that you cannot see.]"
        case v1.ResourceLink(uri=uri, name=name):
            return f'<link name="{escape(name)}" uri="{escape(uri)}"/>'
        case v1.EmbeddedResource(resource=v1.TextResourceContents(uri=uri, text=text)):
            return _attachment_text(uri, text)
        case v1.EmbeddedResource(resource=v1.BlobResourceContents(uri=uri, blob=blob, mime_type=kind)):
            if images and isinstance(kind, str) and kind.startswith("image/"):
                return _binary(blob, kind)
            return f"[The attachment {uri} is not text, and is not shown.]"
        case _:
            return None


def _attachment_text(uri: str, text: str) -> str:
    more = ""
    if len(text) > ATTACHED:
        more = f"\n[{len(text) - ATTACHED} more characters; the tool fetch has them]"
    return f'<attachment uri="{escape(uri)}">\n{text[:ATTACHED]}{more}\n</attachment>'


def _binary(data: str, kind: str) -> UserContent:
    try:
        return BinaryContent(data=base64.b64decode(data, validate=True), media_type=kind)
    except (binascii.Error, ValueError):
        return "[A picture that cannot be decoded.]"
