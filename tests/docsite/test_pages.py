"""Pages as they are staged: links lead somewhere, comments for tests are gone, code is as it was."""

from __future__ import annotations

from pathlib import Path

from docsite.pages import ROOT_PAGES, decisions_page, light_list, stage_pages, stage_text
from tests.every import every

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://code.example/blob/1"


@every(
    ("source", "text", "expected"),
    [
        ("docs/a.md", "[x](b.md#c)", "[x](b.md#c)"),
        ("docs/from/a.md", "[x](../b.md)", "[x](../b.md)"),
        ("docs/a.md", "[x](../CHANGELOG.md)", "[x](project/changelog.md)"),
        ("docs/adr/1.md", "[`x`](../../ARCHITECTURE.md#rooms)", "[`x`](../project/architecture.md#rooms)"),
        ("ARCHITECTURE.md", "[x](docs/adr)", "[x](../adr/index.md)"),
        ("ARCHITECTURE.md", "[x](docs/hub.md)", "[x](../hub.md)"),
        ("docs/a.md", "[x](../Makefile)", f"[x]({REPOSITORY}/Makefile)"),
        ("docs/a.md", "[x](../no-such-file)", "x"),
        ("docs/a.md", "![x](pictures/y.png)", "![x](pictures/y.png)"),
        ("docs/a.md", "[x](https://a.example/b) [y](#z)", "[x](https://a.example/b) [y](#z)"),
        ("docs/a.md", "`[x](../Makefile)`", "`[x](../Makefile)`"),
        ("docs/a.md", "```\n[x](../Makefile)\n```\n", "```\n[x](../Makefile)\n```\n"),
        ("docs/a.md", "one\n<!-- not run: a comment\n  of two lines -->\n\ntwo", "one\n\ntwo"),
        ("docs/a.md", "<!-- not run: no -->\n```\nx\n```\n", "```\nx\n```\n"),
        ("docs/a.md", "<!-- file: a.py -->\n```\nx\n```\n", "```\nx\n```\n"),
    ],
)
def test_a_text_is_staged(source: str, text: str, expected: str) -> None:
    assert stage_text(text, Path(source), ROOT, REPOSITORY) == expected


def test_without_a_repository_a_link_to_a_source_is_its_text() -> None:
    assert stage_text("See [`the file`](../Makefile).", Path("docs/a.md"), ROOT, "") == "See `the file`."


def test_everything_of_docs_is_staged(tmp_path: Path) -> None:
    stage_pages(ROOT, tmp_path / "pages")
    docs = ROOT / "docs"
    missing = [path for path in docs.rglob("*") if not (tmp_path / "pages" / path.relative_to(docs)).exists()]
    assert missing == []
    assert '<a id="python-shell-true"></a>' in (tmp_path / "pages/review-rules.md").read_text("utf-8")
    assert (tmp_path / "pages/project/changelog.md").read_text("utf-8").startswith("# ")


def test_decisions_are_listed_by_number_and_title(tmp_path: Path) -> None:
    (tmp_path / "0001-a.md").write_text("# 0001 — Asyncio only\n")
    (tmp_path / "0002-b.md").write_text("# 0002: plain values\n")
    page = decisions_page(tmp_path)
    assert "- [0001](0001-a.md) Asyncio only\n- [0002](0002-b.md) Plain values\n" in page


def test_a_folder_that_was_staged_before_is_emptied(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "old.md").touch()
    root = tmp_path / "root"
    (root / "docs" / "adr").mkdir(parents=True)
    (root / "docs" / "adr" / "0001-a.md").touch()
    for name in ROOT_PAGES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    stage_pages(root, tmp_path / "pages")
    assert not (tmp_path / "pages" / "old.md").exists()


def test_a_long_list_has_plain_blocks_and_no_contents() -> None:
    staged = light_list("# Rules\n\n```text\nif a < b:\n\n    *c*\n```\n\nwords\n")
    assert staged == "---\nhide: [toc]\n---\n\n# Rules\n\n<pre>if a &lt; b:\n\n    *c*</pre>\n\nwords\n"
