"""The checker of a built site: what leads nowhere, and what would be loaded from elsewhere."""

from __future__ import annotations

from pathlib import Path

from docsite.links import LinkCheck
from tests.every import every

STYLE = "a { background: url(icon.svg) }"


def problems(folder: Path, body: str, *, style: str = STYLE) -> list[str]:
    """What is wrong with a small site whose page `deep/` has this body."""
    (folder / "deep").mkdir(exist_ok=True)
    (folder / "index.html").write_text('<h1 id="top">Start</h1><a name="old">x</a>')
    (folder / "icon.svg").write_text("<svg/>")
    (folder / "site.css").write_text(style)
    (folder / "deep" / "index.html").write_text(f'<h1 id="here">Deep</h1>\n{body}')
    return LinkCheck(folder).run()


@every(
    "body",
    [
        '<a href="../">up</a>',
        '<a href="../index.html#top">up</a>',
        '<a href="../#old">a name is an anchor</a>',
        '<a href="#here">here</a>',
        '<a href="../#/board">a place in a program</a>',
        '<img src="../icon.svg">',
        '<img srcset="../icon.svg 1x, ../icon.svg 2x">',
        '<a href="https://elsewhere.example/x#y">a reader may follow it</a>',
        '<a href="mailto:a@b.example">mail</a>',
        '<link rel="canonical" href="https://elsewhere.example/">',
        '<img src="data:image/png;base64,AA==">',
        '<a href="../icon.svg?x=1">a query</a>',
    ],
)
def test_what_leads_somewhere_is_right(body: str, tmp_path: Path) -> None:
    assert problems(tmp_path, body) == []


@every(
    ("body", "complaint"),
    [
        ('<a href="nowhere/">x</a>', "no such file"),
        ('<a href="../../outside/">x</a>', "no such file"),
        ('<a href="/rooted/">x</a>', "no such file"),
        ('<a href="#gone">x</a>', "no such anchor"),
        ('<a href="../#gone">x</a>', "no such anchor"),
        ('<img src="gone.png">', "no such file"),
        ('<img srcset="../icon.svg 1x, gone.png 2x">', "no such file"),
        ('<script src="https://cdn.example/x.js"></script>', "is loaded from another site"),
        ('<link rel="stylesheet" href="//fonts.example/x.css">', "is loaded from another site"),
        ('<link rel="preconnect" href="https://fonts.example">', "is loaded from another site"),
        ('<img src="http://elsewhere.example/pixel.png">', "is loaded from another site"),
        ('<a href="javascript:alert(1)">x</a>', "a script as an address"),
    ],
)
def test_what_leads_nowhere_is_named_with_its_place(body: str, complaint: str, tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, body)
    assert problem.startswith("deep/index.html:2: ")
    assert problem.endswith(complaint)


def test_style_sheets_are_read_too(tmp_path: Path) -> None:
    style = '@import "https://fonts.example/x.css"; a { background: url("gone.png") } b { src: url(data:x) }'
    assert problems(tmp_path, "", style=style) == [
        "site.css: https://fonts.example/x.css: is loaded from another site",
        "site.css: gone.png: no such file",
    ]
