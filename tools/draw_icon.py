"""Draws the icon of the extension for VS Code, which must be a PNG, from the page's SVG.

    .venv/bin/python tools/draw_icon.py

The browser of the tests draws it; the result is committed, so that the build needs no browser.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser import open_browser  # noqa: E402 - the repository itself is no package

SIZE = 256


def main() -> None:
    """Write vscode/media/icon.png."""
    svg = (ROOT / "packages/hub/web/public/icon.svg").read_text("utf-8")
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": SIZE, "height": SIZE})
        page.set_content(f"<style>* {{ margin: 0 }} svg {{ width: {SIZE}px; display: block }}</style>{svg}")
        page.screenshot(path=ROOT / "vscode/media/icon.png", omit_background=True)


if __name__ == "__main__":
    main()
