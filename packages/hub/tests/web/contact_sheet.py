"""Draws every state of the page, and the terminal client's, into one sheet to look at.

    make sheet                                        # build/pictures/index.html
    .venv/bin/python -m tests.web.contact_sheet --only board --only palette

A real hub, real agents and a real browser, as in the tests. Most states are drawn in light and dark, some on
a phone and at twice the size. A state that cannot be reached is named at the end; the others are drawn all
the same.
"""

from __future__ import annotations

import argparse
import html
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.browser import open_browser
from tests.web.conftest import DESK, PHONE, RunningHub, Visitor, running_hub
from tests.web.page_states import STATES, PageState, Scene

ROOT = Path(__file__).parents[4]
TARGET = ROOT / "build" / "pictures"
SECONDS = 120_000
"""How long a state may take, in milliseconds: the machine may have other things to do."""

CUT_TEXT = """() => {
    const wide = document.documentElement.scrollWidth > innerWidth + 1;
    const isCut = (box) => {
        const { overflowX, textOverflow } = getComputedStyle(box);
        const ends = overflowX !== "visible" && textOverflow !== "ellipsis";
        return ends && box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1;
    };
    const boxes = [...document.querySelectorAll("button, .tile-title, h1, h2, .pill, .tool-title, label")];
    const cut = boxes.filter(isCut).slice(0, 3).map((box) => `cut text: ${box.innerText.slice(0, 40)}`);
    return [...(wide ? ["the page is wider than the screen"] : []), ...cut];
}"""
"""What a program can see of ugliness: a page that scrolls sideways, and words that end at an edge."""

VARIANTS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": PHONE, "device_scale_factor": 2, "has_touch": True},
    "narrow": {"viewport": {"width": 320, "height": 568}, "device_scale_factor": 2, "has_touch": True},
    "zoom": {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},
}
"""Zoom of 200 % is half the room at twice the resolution."""


def draw_states(names: set[str]) -> list[str]:
    """Draw the states, all or those of these names; what went wrong, a line for each."""
    faults: list[str] = []
    TARGET.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as name,
        running_hub(Path(name), "mortal", shelf=True) as hub,
        open_browser() as browser,
    ):
        scene = Scene(hub)
        for page_state in STATES:
            is_wanted = not names or page_state.name in names
            for variant in page_state.variants if is_wanted else page_state.variants[:1]:
                faults += _draw(browser, scene, page_state, variant, is_kept=is_wanted)
    return faults


def _draw(browser: Any, scene: Scene, page_state: PageState, variant: str, *, is_kept: bool) -> list[str]:
    """One picture. Also those that nobody wants are gone through: others begin where they end."""
    name = f"{page_state.name}-{variant}"
    began = time.monotonic()
    with _page(browser, scene.hub, variant) as page:
        try:
            page_state.act(page, scene)
            if not is_kept:
                return []
            page.evaluate("() => document.fonts.ready")
            page.screenshot(path=TARGET / f"{name}.png")
            faults = [f"{name}: {fault}" for fault in page.evaluate(CUT_TEXT)]
        except Exception as error:  # noqa: BLE001 the other states are drawn all the same
            faults = [f"{name}: {str(error).splitlines()[0]}"]
            page.screenshot(path=TARGET / f"{name}.png")
        finally:
            scene.hub.wire.mend()
    print(f"{name}  {time.monotonic() - began:.1f} s", file=sys.stderr)
    return faults


def _open(visitor: Visitor, viewport: dict[str, int]) -> Any:
    """A page; a second try, because a browser gives up when a network of the machine comes or goes."""
    from playwright.sync_api import Error

    try:
        return visitor.open(viewport=viewport)
    except Error:
        return visitor.open(viewport=viewport)


@contextmanager
def _page(browser: Any, hub: RunningHub, variant: str) -> Iterator[Any]:
    options = {"viewport": DESK, "reduced_motion": "reduce", **VARIANTS[variant]}
    viewport = options["viewport"]
    context = browser.new_context(**options)
    try:
        page = _open(Visitor(context, hub), viewport)
        page.set_default_timeout(SECONDS)
        yield page
    finally:
        context.close()


def draw_terminal() -> list[str]:
    """The terminal client's screens, as its own tests see them."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "packages/app/tests/tui/screens",
        "packages/app/tests/tui/test_app.py",
    ]
    env = {**os.environ, "DRAGOMAN_SHEET": str(TARGET)}
    done = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True)
    return [] if done.returncode == 0 else [f"terminal: {done.stdout.strip().splitlines()[-1]}"]


SHEET = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Every state of the page</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }}
body {{ margin: 24px; }}
main {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(360px, 1fr)); gap: 28px 20px; }}
main {{ align-items: start; }}
figure {{ margin: 0; }}
img {{ max-width: 100%; max-height: 520px; border: 1px solid #8886; border-radius: 8px; }}
figcaption {{ margin-top: 6px; }}
.faults {{ color: #c33; }}
</style>
<h1>Every state of the page</h1>
{faults}
<main>
{figures}
</main></html>
"""


def write_sheet(faults: list[str]) -> Path:
    """One page with all pictures that are there."""
    titles = {
        f"{page_state.name}-{variant}": f"{page_state.title} · {variant}"
        for page_state in STATES
        for variant in page_state.variants
    }
    terminal = {
        path.stem: f"Terminal: {path.stem.removeprefix('terminal-')}"
        for path in sorted(TARGET.glob("terminal-*.svg"))
    }
    figures = []
    for name, title in {**titles, **terminal}.items():
        path = next(
            (path for path in (TARGET / f"{name}.png", TARGET / f"{name}.svg") if path.is_file()), None
        )
        if path is not None:
            caption = html.escape(title)
            figures.append(
                f'<figure><a href="{path.name}"><img src="{path.name}" alt="{caption}" loading="lazy"></a>'
                f"<figcaption>{caption}</figcaption></figure>"
            )
    lines = "".join(f"<li>{html.escape(fault)}</li>" for fault in faults)
    sheet = TARGET / "index.html"
    listed = f'<ul class="faults">{lines}</ul>' if lines else ""
    sheet.write_text(SHEET.format(faults=listed, figures="\n".join(figures)), "utf-8")
    return sheet


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Draw every state of the page into build/pictures/index.html."
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="STATE", help="draw these states alone"
    )
    parser.add_argument("--no-terminal", action="store_true", help="leave the terminal client out")
    options = parser.parse_args()
    unknown = set(options.only) - {page_state.name for page_state in STATES}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(one.name for one in STATES)}")
    faults = draw_states(set(options.only))
    if not options.no_terminal and not options.only:
        faults += draw_terminal()
    print(write_sheet(faults))
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
