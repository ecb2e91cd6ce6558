"""Pages to explore a system in a browser without a window: click, drag, slide, zoom, keys, export, a phone's width."""

import csv
import io
import os
import re
from pathlib import Path

import pytest

from dynsim import explore, system
from dynsim.equations.ode import from_ode
from dynsim.systems.catalogue.entries import CATALOGUE
from tests.docs.test_browser import BROWSER, browser  # noqa: F401

pytestmark = [
    pytest.mark.skipif("DYNSIM_SITE" not in os.environ, reason="only `make test-pages` runs it"),
    pytest.mark.skipif(BROWSER is None, reason="chromium is not installed"),
]
MODELS = Path(__file__).parents[1] / "equations" / "models"
FRAME = 1000 / 60  # milliseconds
FRAMES = 180


class Opened:
    """A page of a catalogue system in the browser, with what it said and what it asked for."""

    def __init__(self, browser, folder, name, size=(1400, 1000), address=""):
        pytest.importorskip("bokeh")
        path = folder / f"{name}.html"
        if not path.exists():
            explore(CATALOGUE[name].system()).save(path)
        self.page = browser.new_page(viewport={"width": size[0], "height": size[1]}, accept_downloads=True)
        self.wrong = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda asked: self.wrong.append(asked.url) if asked.url.startswith("http") else None)
        self.page.goto(f"{path.as_uri()}{address}")
        self.until("globalThis.dynsimPage?.ready")

    def until(self, what):
        for _ in range(300):  # `wait_for_function` compiles text, which the page's policy forbids
            if self.page.evaluate(what):
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{what} never holds: {self.wrong}")

    def state(self):
        self.page.wait_for_timeout(400)
        return self.page.evaluate("JSON.parse(JSON.stringify(dynsimPage.state))")

    def at(self, x, y):
        """Pixels of a place in the main plot's box, in shares of its sides."""
        box = self.page.query_selector("#plot-main").bounding_box()
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    def drag(self, begin, end):
        self.page.mouse.move(*begin)
        self.page.mouse.down()
        for share in (0.2, 0.6, 1.0):
            self.page.mouse.move(*(a + share * (b - a) for a, b in zip(begin, end, strict=True)))
        self.page.mouse.up()

    def saved(self, plot, kind):
        with self.page.expect_download() as waiting:
            self.page.click(f"#tools-{plot} button:text-is('{kind}')")
        return waiting.value.path().read_bytes(), waiting.value.suggested_filename


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def test_the_page_of_morris_and_lecar_shows_the_hopf_point_of_a_lecture(browser, folder):
    text = f"{from_ode((MODELS / 'morris_lecar.ode').read_text())}\n# iapp: [uA/cm^2] 0..300"
    explore(system(text)).save(folder / "morris_lecar.html")
    one = Opened(browser, folder, "morris_lecar")
    assert one.page.inner_text("label[for='slider-iapp']") == "iapp (uA/cm^2)"
    for current, kind in ((60, "stable focus"), (90, "stable focus"), (96, "unstable focus"), (215, "stable focus")):
        one.page.fill("[aria-label='value of iapp']", str(current))
        one.page.keyboard.press("Enter")
        assert one.state()["values"][0] == current
        assert one.page.evaluate("dynsimPage.found.map(one => one.type)") == [kind]
    assert one.wrong == []
    one.page.close()


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_system_of_the_catalogue_opens_and_asks_for_nothing(browser, folder, name):
    one = Opened(browser, folder, name)
    one.page.wait_for_timeout(500)
    assert one.wrong == []
    assert one.page.evaluate("dynsimPage.runs.every(run => run.forward.t.length > 1)")
    one.page.close()


def test_click_drag_move_and_zoom(browser, folder):
    one = Opened(browser, folder, "van-der-pol")
    place = one.at(0.6, 0.3)
    one.page.mouse.click(*place)
    state = one.state()
    assert (len(state["starts"]), state["selected"]) == (2, 1)
    clicked = state["starts"][1]
    one.drag(place, one.at(0.7, 0.4))
    state = one.state()
    moved = state["starts"][1]
    assert (len(state["starts"]), state["box"]) == (2, [[-3, 3], [-4, 4]])
    assert moved[0] > clicked[0] + 0.3
    assert moved[1] < clicked[1] - 0.3
    one.drag(one.at(0.4, 0.6), one.at(0.5, 0.6))
    box = one.state()["box"]
    assert box[0][0] < -3.3
    assert box[0][1] - box[0][0] == pytest.approx(6, abs=0.01)
    one.page.mouse.move(*one.at(0.6, 0.5))
    one.page.mouse.wheel(0, -400)
    one.until("dynsimPage.state.box[0][1] - dynsimPage.state.box[0][0] < 5.5")
    assert one.state()["starts"][1] == moved
    one.page.click("#tools-main button:text-is('Reset')")
    assert one.state()["box"] == [[-3, 3], [-4, 4]]
    one.page.click("text=Remove all")
    assert one.state()["starts"] == []
    assert one.wrong == []
    one.page.close()


def test_keys_move_zoom_add_and_remove(browser, folder):
    one = Opened(browser, folder, "van-der-pol")
    one.page.focus("#figure-main")
    for key in ("ArrowRight", "ArrowUp", "+", "Enter"):
        one.page.keyboard.press(key)
    state = one.state()
    assert len(state["starts"]) == 2
    assert state["box"][0][0] > -3 < state["box"][0][1] - 5
    one.page.keyboard.press("Delete")
    one.page.keyboard.press("0")
    state = one.state()
    assert (state["starts"], state["box"]) == ([[2, 0]], [[-3, 3], [-4, 4]])
    one.page.focus("#slider-mu")
    one.page.keyboard.press("ArrowRight")
    assert one.state()["values"][0] == pytest.approx(1.005)
    one.page.close()


def test_sliders_move_equilibria_and_the_address_brings_the_view_back(browser, folder):
    one = Opened(browser, folder, "fitzhugh-nagumo")
    before = one.page.evaluate("dynsimPage.found[0].x")
    one.page.fill("[aria-label='value of current']", "0.1")
    one.page.keyboard.press("Enter")
    assert one.state()["values"][0] == 0.1
    found = one.page.evaluate("dynsimPage.found.map(one => [one.x, one.type])")
    assert found[0][0] != before
    assert found[0][1] == "stable focus"
    assert "stable focus" in one.page.inner_text("#equilibria")
    assert "--parameters current=0.1 a=0.7" in one.page.input_value("#command")
    assert "current=0.1" in one.page.input_value("#python")
    address = one.page.evaluate("location.hash")
    assert address == "#p.current=0.1"
    other = Opened(browser, folder, "fitzhugh-nagumo", address=address)
    assert other.state() == one.state()
    for opened in (one, other):
        assert opened.wrong == []
        opened.page.close()


def test_pictures_and_tables_are_saved(browser, folder):
    one = Opened(browser, folder, "logistic", address="#range.r=2.5,4")
    content, name = one.saved("main", "PNG")
    assert (content[:8], name) == (b"\x89PNG\r\n\x1a\n", "logistic-main.png")
    content, _ = one.saved("series", "SVG")
    assert content.startswith(b"<svg ")
    assert content.count(b"<path") > 5
    assert b"<image" not in content
    assert {*re.findall(rb"https?://[^\"' )]*", content)} <= {
        b"http://www.w3.org/2000/svg",
        b"http://www.w3.org/1999/xlink",
    }
    content, _ = one.saved("main", "CSV")
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert rows[0] == ["trajectory", "step", "x"]
    assert [float(v) for v in rows[2]] == pytest.approx([1, 1, 0.84])
    one.page.click("#sweep")
    one.until("document.getElementById('figure-diagram').dataset.done === 'true'")
    rows = list(csv.reader(io.StringIO(one.saved("diagram", "CSV")[0].decode())))
    assert rows[0] == ["r", "x"]
    points = [(float(r), float(x)) for r, x in rows[1:]]
    assert {round(x, 6) for r, x in points if r == 2.5} == {0.0, 0.6}
    assert len({round(x, 3) for r, x in points if abs(r - 3.2) < 0.01}) < 12
    assert len({x for r, x in points if r == 4.0}) > 90
    assert one.wrong == []
    one.page.close()


def test_the_section_of_a_forced_flow_fills_in(browser, folder):
    one = Opened(browser, folder, "duffing")
    one.until("document.getElementById('figure-section').dataset.done === 'true'")
    rows = list(csv.reader(io.StringIO(one.saved("section", "CSV")[0].decode())))
    assert rows[0] == ["x", "v"]
    assert len(rows) == 1 + 1150
    one.page.close()


@pytest.mark.parametrize("name", ["van-der-pol", "duffing", "lorenz"])
def test_nothing_is_cut_off_on_a_phone(browser, folder, name):
    one = Opened(browser, folder, name, (390, 844))
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 390
    order = ("#figure-main", "#parameters", "#equilibria", "#python")
    tops = [one.page.locator(part).bounding_box()["y"] for part in order]
    assert tops == sorted(tops)
    parts = "[...document.querySelectorAll('button, input, select, .plot')]"
    assert one.page.evaluate(f"Math.max(...{parts}.map(part => part.getBoundingClientRect().right))") <= 390
    one.page.close()


def main_thread(browser):
    """Seconds of processor time of the page's main thread."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    found = 0.0
    for one in processes:
        if one["type"] == "renderer":
            told = Path(f"/proc/{one['id']}/task/{one['id']}/stat").read_text(encoding="utf-8")
            user, system = told.rpartition(")")[2].split()[11:13]
            found += (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs the processor times of Linux")
def test_a_trajectory_of_2000_points_follows_a_slider_at_60_frames_a_second(browser, folder):
    one = Opened(browser, folder, "van-der-pol")
    slide = f"""() => {{
      const slider = document.getElementById("slider-mu");
      let count = 0;
      window.slid = false;
      const go = () => {{
        slider.value = 1 + Math.sin(count / 20) / 2;
        slider.dispatchEvent(new Event("input"));
        if (++count < {FRAMES}) requestAnimationFrame(go);
        else window.slid = true;
      }};
      go();
    }}"""
    costs = []
    for _ in range(3):
        before = main_thread(browser)
        one.page.evaluate(slide)
        one.until("window.slid")
        costs.append((main_thread(browser) - before) / FRAMES * 1000)
    assert one.page.evaluate("dynsimPage.runs[0].forward.t.length") == 2001
    assert min(costs) < FRAME, costs
    one.page.close()
