"""Files and pictures of a prompt, in a form that the agent accepts.

They are read before anything is started, so that a wrong path costs nothing, and turned into content blocks
when the agent has said what it takes. A text file is embedded where that is taken and is a link elsewhere:
every agent takes links. A picture cannot be a link that is looked at, so an agent that takes none is told
nothing at all, and the person is.
"""

from __future__ import annotations

import base64
import mimetypes
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from dragoman.schema import v1
from dragoman.sdk.capabilities import Capabilities
from dragoman_app.apps.console import UsageMistake

EMBEDDED = 1024 * 1024
"""The most bytes of an embedded text; a larger one becomes a link."""

LARGEST_IMAGE = 20 * 1024 * 1024
"""The most bytes of a picture: more than any model accepts."""

_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
}


class Attachment(Struct, frozen=True):
    """An existing file from the command line."""

    path: Path
    data: bytes
    size: int
    is_image: bool


def read_attachments(files: Sequence[str], images: Sequence[str]) -> list[Attachment]:
    """Read the named files; raises `UsageMistake`."""
    attachments = [_read(path, most=EMBEDDED, is_image=False) for path in files]
    return attachments + [_read(path, most=LARGEST_IMAGE, is_image=True) for path in images]


def blocks_of(attachments: Sequence[Attachment], capabilities: Capabilities) -> list[v1.ContentBlock]:
    """Return the blocks for the agent; raises `UsageMistake` for files that it does not accept."""
    return [
        _image(attachment, capabilities) if attachment.is_image else _file(attachment, capabilities)
        for attachment in attachments
    ]


def _read(path: str, *, most: int, is_image: bool) -> Attachment:
    try:
        place = Path(path).resolve(strict=True)
        if not place.is_file():
            raise UsageMistake(f"cannot attach {path!r}: it is not a file", "name a file")
        with place.open("rb") as file:
            data = file.read(most + 1)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise UsageMistake(f"cannot attach {path!r}: {error.strerror}", "check the path") from error
    if is_image and len(data) > most:
        raise UsageMistake(f"cannot attach {path!r}: it is larger than {most} bytes", "make it smaller")
    return Attachment(place, data, size, is_image)


def _file(attachment: Attachment, capabilities: Capabilities) -> v1.ContentBlock:
    uri = attachment.path.as_uri()
    kind = mimetypes.guess_type(attachment.path.name)[0]
    text = _text(attachment)
    if text is None or "promptCapabilities.embeddedContext" not in capabilities:
        link = v1.ResourceLink(name=attachment.path.name, uri=uri, size=attachment.size)
        return (
            link
            if kind is None
            else v1.ResourceLink(name=attachment.path.name, uri=uri, size=attachment.size, mime_type=kind)
        )
    contents = v1.TextResourceContents(uri=uri, text=text, mime_type=kind or "text/plain")
    return v1.EmbeddedResource(resource=contents)


def _text(attachment: Attachment) -> str | None:
    if len(attachment.data) > EMBEDDED or b"\0" in attachment.data:
        return None
    try:
        return attachment.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _image(attachment: Attachment, capabilities: Capabilities) -> v1.ContentBlock:
    if "promptCapabilities.image" not in capabilities:
        raise UsageMistake(
            f"the agent does not accept pictures, so nothing was sent ({attachment.path.name!r})",
            "remove --image, or send a link with --file",
        )
    return v1.ImageContent(data=base64.b64encode(attachment.data).decode(), mime_type=_image_kind(attachment))


def _image_kind(attachment: Attachment) -> str:
    for start, kind in _MAGIC.items():
        if attachment.data.startswith(start):
            return kind
    if attachment.data[:4] == b"RIFF" and attachment.data[8:12] == b"WEBP":
        return "image/webp"
    media_type = mimetypes.guess_type(attachment.path.name)[0] or ""
    if not media_type.startswith("image/"):
        raise UsageMistake(
            f"{attachment.path.name!r} has an unknown picture format",
            "convert it to PNG, or send it with --file",
        )
    return media_type
