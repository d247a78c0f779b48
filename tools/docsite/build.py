"""Builds the site: stages the pages, builds them and the demo, writes llms.txt, and checks every link.

    python -m docsite.build                         # into build/site
    python -m docsite.build --repository https://…  # links to source files lead there; without, they are text

It runs in the environment of `make docs`, needs node for the demo, and no network.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from docsite.links import LinkCheck
from docsite.llms import write_llms
from docsite.pages import stage_pages
from docsite.reference import write_reference

ROOT = Path(__file__).parents[2]
SETTINGS = ROOT / "mkdocs.yml"
PAGES = ROOT / "build" / "site-pages"
SITE = ROOT / "build" / "site"


def build_site(*, repository: str, site_url: str) -> list[str]:
    """Build everything; give what is wrong with the links of the result."""
    settings = yaml.safe_load(SETTINGS.read_text("utf-8"))
    stage_pages(ROOT, PAGES, repository=repository)
    write_reference(PAGES / "reference")
    shutil.copyfile(ROOT / "tools" / "docsite" / "site.css", PAGES / "site.css")
    shutil.copyfile(ROOT / "packages/hub/web/public" / "icon.svg", PAGES / "pictures" / "logo.svg")
    shutil.rmtree(SITE, ignore_errors=True)
    program = Path(sys.executable).with_name("zensical")
    subprocess.run([program, "build", "--strict", "--config-file", SETTINGS], cwd=ROOT, check=True)
    subprocess.run(["node", "build.mjs", "--demo", SITE / "demo"], cwd=ROOT / "packages/hub/web", check=True)
    write_llms(settings, PAGES, SITE, site_url=site_url)
    (SITE / ".nojekyll").touch()  # without it, a host of pages leaves out files that begin with an underscore
    check = LinkCheck(SITE)
    problems = check.run()
    pages = len(list(SITE.rglob("*.html")))
    print(f"{SITE.relative_to(ROOT)}: {pages} pages, {check.links} links, {len(problems)} broken")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the site into build/site.")
    parser.add_argument("--repository", default="", help="address below which source files are shown")
    parser.add_argument("--site-url", default="", help="address of the site, for llms.txt")
    options = parser.parse_args()
    if shutil.which("node") is None:
        print("docs: node is not installed, and the demo is built with it", file=sys.stderr)
        return 1
    try:
        problems = build_site(repository=options.repository, site_url=options.site_url)
    except subprocess.CalledProcessError as error:
        print(f"docs: {error.cmd[0]} ended with status {error.returncode}", file=sys.stderr)
        return 1
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
