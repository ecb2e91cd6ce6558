"""The built site as a reader sees it, in a browser without a window: `make test-pages` builds it and runs this."""

import functools
import http.server
import os
import re
import shutil
import threading
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest

SITE = Path(os.environ.get("DYNSIM_SITE", "-"))
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
sync_api = pytest.importorskip("playwright.sync_api", reason="the extra `docs` is not installed")
pytestmark = [
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="DYNSIM_SITE names no site (`make test-pages`)"),
    pytest.mark.skipif(BROWSER is None, reason="chromium is not installed"),
]

FEW = ("index.html", "start/first-trajectory.html", "start/command-line.html", "workbench/continuation.html",
       "workbench/portraits.html", "gallery/index.html", "ledger/statements.html", "ledger/consensus/theorem-4.1.html",
       "reference/analysis.dynamics.html", "papers/hardmax.html")  # fmt: skip
WORDS = {
    "hopf": "continuation", "basin": "basin", "lyapunov": "lyapunov", "stiff": "stiff", "homoclinic": "",
    "theorem-4.1": "theorem-4.1", "nullcline": "", "saltation": "", "prototypes": "prototypes", "find_equilibria": "",
}  # fmt: skip
"""Ten words that a reader may search for, with a part of a page's address that must be among what is found."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield running
        running.close()


def addresses() -> list[str]:
    return sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name != "404.html")


def texts() -> dict[str, str]:
    """The pages by their names, without those that explore a system, which hold a library in one script."""
    found = {name: (SITE / name).read_text(encoding="utf-8") for name in addresses()}
    return {name: text for name, text in found.items() if 'name="generator" content="dynsim"' not in text[:1000]}


def ids_of(text: str) -> set[str]:
    return {*re.findall(r'\bid="?([^"\s>]+)', text)}


def test_links_lead_somewhere():
    read = texts()
    ids = {name: ids_of(text) for name, text in read.items()}
    broken = []
    for name, text in read.items():
        for link in {*re.findall(r'(?:href|src)="?([^"\s>]+)', text)}:
            target, anchor = urldefrag(urljoin(f"site:/{name}".replace("site:/", "http://s/"), unquote(link)))
            if not target.startswith("http://s/") or link.startswith(("http", "data:", "mailto:")):
                continue
            path = target.removeprefix("http://s/").split("?")[0] or "index.html"
            if not (SITE / path).exists() or (anchor and path in ids and anchor not in ids[path] and "=" not in anchor):
                broken.append(f"{name}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere():
    outside = re.compile(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="?(https?://[^"\s>]+)')
    found = {link for text in texts().values() for link in outside.findall(text)}
    assert {link for link in found if "rel=canonical" not in link} == set()


def test_every_page_opens_without_an_error_and_with_its_pictures(site, browser):
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append((page.url, message.text)) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append((page.url, str(error))))
    page.on("response", lambda answer: said.append((answer.url, str(answer.status))) if answer.status >= 400 else None)
    page.on(
        "request",
        lambda asked: None if asked.url.startswith((site, "data:", "blob:")) else said.append((page.url, asked.url)),
    )
    ledger = [name for name in addresses() if name.startswith("ledger/") and name.count("/") == 2]
    for name in [name for name in addresses() if name not in {*ledger} or name in ledger[::20]]:
        page.goto(site + name)
        page.evaluate("document.querySelectorAll('img').forEach(i => { i.loading = 'eager' })")
        page.wait_for_function("Array.from(document.images).every(i => i.complete)")
        empty = page.evaluate("Array.from(document.images).filter(i => !i.naturalWidth).map(i => i.src)")
        assert empty == [], name
    assert said == []


def test_search_finds_words(site, browser):
    page = browser.new_page()
    for word, address in WORDS.items():
        page.goto(site + "index.html")  # without what was found before
        page.keyboard.press("/")
        page.fill("input[name=query]", word)
        page.wait_for_selector(".md-search-result__item a")
        found = page.eval_on_selector_all(".md-search-result__item a", "links => links.map(link => link.href)")
        assert any(address in link for link in found), (word, found)


def test_the_filters_of_the_ledger(site, browser):
    page = browser.new_page()
    page.goto(site + "ledger/statements.html")
    rows = lambda: page.eval_on_selector_all(
        ".ledger-table tbody tr:not([hidden])", "rows => rows.map(r => r.innerText)"
    )
    everything = len(rows())
    assert page.inner_text(".ledger-filters output") == f"{everything} of {everything}"
    page.fill("input[name=words]", "theorem-4.1 domain")
    assert len(rows()) >= 1
    assert all("theorem-4.1" in row and "domain" in row for row in rows())
    page.fill("input[name=words]", "")
    page.select_option("select[name=paper]", "hardmax")
    page.select_option("select[name=finding]", "holds")
    assert 0 < len(rows()) < everything
    assert all(row.startswith("hardmax") and "corrected" not in row for row in rows())
    address = page.url
    again = browser.new_page()
    again.goto(address)
    assert again.inner_text(".ledger-filters output") == page.inner_text(".ledger-filters output")
    page.fill("input[name=words]", "nothing like this")
    assert rows() == []


@pytest.mark.parametrize("name", FEW)
def test_a_phone_shows_a_page_without_scrolling_sideways(site, browser, name):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(site + name)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 391


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_by_day_and_by_night(site, browser, scheme):
    page = browser.new_page(color_scheme=scheme)
    page.goto(site + "index.html")
    colour = lambda name: [
        int(n) for n in re.findall(r"\d+", page.evaluate(f"getComputedStyle(document.body).{name}"))[:3]
    ]
    text, ground = sum(colour("color")), sum(colour("backgroundColor"))
    assert abs(text - ground) > 300
    assert (ground < text) == (scheme == "dark")


def test_the_keyboard_reaches_links_and_search(site, browser):
    page = browser.new_page()
    page.goto(site + "index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "A"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "query"


def test_a_row_of_the_ledger_leads_to_its_statement(site, browser):
    page = browser.new_page()
    page.goto(site + "ledger/statements.html")
    page.click("text=theorem-4.1 >> nth=0")
    assert "theorem-4.1" in page.title()
    assert "Finding:" in page.inner_text("article")
    assert page.locator("article table tbody tr").count() >= 1  # reports in the history of the finding
