"""The documentation as a site: it builds without a warning, and needs nothing of another server."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser

import flexarm_core

DOCS = Path(__file__).resolve().parents[1] / "docs"


class Loaded(HTMLParser):
    """What a browser loads with a page, without a click: scripts, style sheets, pictures, frames."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.addresses.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "preload", "preconnect", "icon"):
            self.addresses.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The built site; a broken link, an unknown page or a page in no table of contents ends it."""
    pytest.importorskip("sphinx", reason="sphinx is not installed: setup/requirements-dev.txt")
    pytest.importorskip("myst_parser", reason="myst-parser is not installed: setup/requirements-dev.txt")
    pytest.importorskip("furo", reason="furo is not installed: setup/requirements-dev.txt")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-d", folder / "doctrees"]
    done = subprocess.run([*command, DOCS, folder / "html"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_page_is_built_without_a_warning(site):
    pages = {page.relative_to(DOCS).with_suffix("") for page in [*DOCS.glob("*.md"), *DOCS.glob("decisions/*.md")]}
    assert pages <= {page.relative_to(site).with_suffix("") for page in site.rglob("*.html")}


def test_prose_is_wrapped_at_100_columns():
    """Tables, code, pictures and pages that a command writes are as wide as they need to be."""
    wide, written = [], {DOCS / f"{name}.md" for name in ("messages", "parameters", "permissions")}
    for page in sorted({*DOCS.glob("*.md"), *DOCS.glob("decisions/*.md"), *DOCS.parent.glob("*.md")} - written):
        prose = re.sub(r"^( *)```.*?^\1```$|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        code = re.compile(r" *[|<!]| {4}")
        wide += [f"{page.name}: {line}" for line in prose.split("\n") if len(line) > 100 and not code.match(line)]
    assert wide == []


def test_no_page_loads_anything_from_another_server(site):
    for page in site.rglob("*.html"):
        loaded = Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        assert loaded.addresses and not [a for a in loaded.addresses if re.match(r"(https?:)?//", a)], page.name
    for sheet in (site / "_static").rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet.name


def test_every_picture_that_a_page_shows_is_there(site):
    for page in site.rglob("*.html"):
        loaded = Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        for address in loaded.addresses:
            assert (page.parent / re.sub(r"[?#].*", "", address)).is_file(), f"{page.name}: {address}"


def test_every_equation_is_drawn_and_no_tex_is_left(site):
    for source in DOCS.glob("*.md"):
        html = (site / f"{source.stem}.html").read_text(encoding="utf-8")
        blocks = len(re.findall(r"^ *```math$", source.read_text(encoding="utf-8"), flags=re.M))
        assert len(re.findall(r'<div class="math"><math ', html)) == blocks, source.name
        shown = re.sub(r"(?s)<pre>.*?</pre>", "", html)
        assert not re.search(r"\\(begin|frac|d?dot|text|mathrm|sum)\b", shown), source.name


def test_the_reference_has_every_public_name(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    assert set(flexarm_core.__all__) <= set(re.findall(r'id="flexarm_core\.(\w+)"', page))


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_search_of_a_site_that_is_opened_from_a_file_shows_excerpts(site, tmp_path):
    browser = Browser(tmp_path, "about:blank")
    try:
        browser.go(f"{(site / 'search.html').as_uri()}?q=stiffness")
        count = "document.querySelectorAll('#search-results li .context').length"
        browser.wait(lambda: browser.value(count) > 10, "excerpts")
        assert "stiffness" in browser.value("document.querySelector('#search-results .context').textContent").lower()
    finally:
        browser.close()


WIDTHS = (1366, 390)  # of a window [pixel]


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_no_page_is_wider_than_its_window(site, tmp_path):
    browser, wide = Browser(tmp_path, "about:blank"), {}
    try:
        for page in sorted({*site.glob("*.html")}):
            browser.go(page.as_uri())
            loaded = f"location.pathname.endsWith('/{page.name}') && document.readyState == 'complete'"
            browser.wait(lambda loaded=loaded: bool(browser.value(loaded)), page.name)
            for width in WIDTHS:
                browser.resize(width, 900)
                if (found := browser.value("document.documentElement.scrollWidth")) > width:
                    wide[page.name] = found
        assert wide == {}
    finally:
        browser.close()
