"""Draws the moving picture of the page: plays the recorded demo in a browser, and shows its moments.

    .venv/bin/python tools/docsite/page_picture.py      # writes docs/pictures/page.svg

The pictures are screenshots of the real page, inside one SVG file that loads nothing and runs no script. Who
wants little motion sees one of them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "packages/hub/web/demo" / "recording.json"
TARGET = ROOT / "docs" / "pictures" / "page.svg"
WIDTH, HEIGHT = 1040, 640
SCALE = 0.75
QUALITY = 42
STILL = 1
"""The picture for those who want no motion: the end of the first session that is looked at, an approval."""
EACH = 2.2
"""Seconds that each picture stays."""
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *words: object) -> None:
        pass


def moments() -> list[float]:
    """Seconds of the recording: the end of each view of the guide, and of a session the middle, too."""
    recording = json.loads(RECORDING.read_text("utf-8"))
    views = [step for step in recording["steps"] if step["message"]["method"] == "_demo/view"]
    ends = [*(step["at"] for step in views[1:]), recording["seconds"]]
    made: list[float] = []
    for view, end in list(zip(views, ends, strict=True))[1:]:
        if view["message"]["params"]["hash"].startswith("#/s/"):
            made.append((view["at"] + end) / 2)
        made.append(end - 0.2)
    return made


@contextmanager
def serving_files(folder: Path) -> Iterator[str]:
    """The address of a folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def screenshots(url: str) -> Iterator[str]:
    """Each moment of the recording as a WebP picture in base64."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise SystemExit("pictures: Chromium is not installed (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        viewport = {"width": WIDTH, "height": HEIGHT + 52}
        context = browser.new_context(viewport=viewport, reduced_motion="reduce")  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector(".app[data-health=live]")
        tools = context.new_cdp_session(page)
        for moment in moments():
            page.eval_on_selector(
                ".player input[type=range]",
                "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
                str(moment),
            )
            page.wait_for_timeout(900)  # code gets its colours, and the board asks again
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": SCALE}
            taken = tools.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY, "clip": clip})
            yield str(taken["data"])
        browser.close()


def svg(pictures: list[str]) -> str:
    """The pictures one after the other, without end."""
    total = EACH * len(pictures)
    share = 100 / len(pictures)
    shown = f"@keyframes v{{0%{{visibility:visible}}{share:.3f}%,100%{{visibility:hidden}}}}"
    images = "\n".join(
        f'<image class="f{" still" if number == STILL else ""}" style="animation-delay:{EACH * number:.1f}s" '
        f'width="{WIDTH}" height="{HEIGHT}" href="data:image/webp;base64,{picture}"/>'
        for number, picture in enumerate(pictures)
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">
<title>The page of the hub: a session, an approval, a review, the board</title>
<style>
.f{{visibility:hidden;animation:v {total:.1f}s step-end infinite}}
{shown}
@media (prefers-reduced-motion:reduce){{.f{{animation:none}}.still{{visibility:visible}}}}
</style>
{images}
<rect x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8" fill="none" stroke="#cbc5bb"/>
</svg>
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        command = ["node", "build.mjs", "--demo", str(Path(name) / "demo")]
        subprocess.run(command, cwd=ROOT / "packages/hub/web", check=True)
        with serving_files(Path(name)) as url:
            TARGET.write_text(svg(list(screenshots(f"{url}demo/"))), "utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
