"""The report's page in a real browser (Debian's chromium without a window), as a user walks through it."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import browser as browsers
from report_traces import HOSTILE, hostile_trace, large_trace

pytest.importorskip("jinja2")
pytest.importorskip("pygments")

from fusewire._report import compare, model  # noqa: E402
from fusewire._report.api import of_traces  # noqa: E402
from test_report import PROGRAM  # noqa: E402

if not browsers.find():  # the rest of the report is tested without it
    pytest.skip(f"NO BROWSER: none of {', '.join(browsers.NAMES)} is installed (apt-get install chromium-headless-shell); the page is not tested",
                allow_module_level=True)


@pytest.fixture(scope="module")
def browser():
    one = browsers.Browser(browsers.find())
    one.size(1400, 900)
    yield one
    one.close()


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """(folder, page of a program)"""
    folder = tmp_path_factory.mktemp("page")
    (folder / "program.py").write_text(PROGRAM)
    subprocess.run([sys.executable, str(folder / "program.py")], check=True, env={**os.environ, "FUSEWIRE_TRACE": str(folder / "trace"), "FUSEWIRE_LOGS": ""})
    path = folder / "report.html"
    of_traces(str(folder / "trace"), str(path))
    return folder, path


def lines_with(text):
    return next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


@pytest.fixture(autouse=True)
def nothing_is_said(browser):
    yield
    assert browser.problems == []
    assert [url for url in browser.requests if not url.startswith(("file://", "about:", "data:"))] == []


def test_from_the_summary_to_the_source_to_the_kernel_and_back(browser, real):
    browser.open(real[1])
    assert browser.text("h1") and "Things to do" in browser.text()
    printed = browser.js("""return [...document.querySelectorAll(".card")].find((c) => c.innerText.includes("print()")).id;""")
    browser.click(f"#{printed} a.snippet")
    line = lines_with("print(")
    assert browser.js("location.hash") == f"#/source/0/{line}" and "print()" in browser.text(".panel")
    browser.click(f".row[data-line='{line + 1}']")
    assert "kernel k0_" in browser.text(".panel") and "exp" in browser.text(".panel")
    browser.click(".panel ul.nodes a")
    assert browser.js("location.hash").startswith("#/graph/") and browser.js("document.querySelectorAll('g.cluster.is-group').length") >= 1
    browser.click(".panel a.place")
    assert browser.js("location.hash") == f"#/source/0/{line + 1}"
    browser.js("history.back()")
    browser.wait("location.hash.startsWith('#/graph/')")


def test_why_it_is_not_faster_in_three_clicks(browser, real):
    """From the first view: the function, where the first thing says line and cost; the line."""
    browser.open(real[1])
    step = browser.js("[...document.querySelectorAll('table a')].find((a) => a.innerText === 'step').getAttribute('href')")
    browser.click(f"table a[href='{step}']")
    assert "Why is it not faster?" in browser.text() and browser.js("document.querySelectorAll('.card .cost b').length") >= 1
    browser.click(".card a.snippet")
    assert browser.js("document.querySelector('.row.chosen') !== null") and "Why" in browser.text(".panel")


def test_every_view_draws(browser, real):
    told = model.build(str(real[0] / "trace"))
    browser.open(real[1])
    views = ["#/summary", "#/source", "#/function", "#/timeline", "#/kernels", "#/nothing", "#/function/999", "#/source/99/99", "#/graph/99/9", "#/source/0/9999", "#/graph/0/0?node=999", "#/timeline?from=x&to=-1"]
    for f in told["functions"]:
        views += [f"#/function/{f['id']}", *(f"#/graph/{f['id']}/{i}?show={tab}" for i in range(len(f["variants"])) for tab in ("picture", "passes", "plan", "kernel", "llvm", "assembly"))]
    for view in views:
        browser.js(f"location.hash = {json.dumps(view)}")
        browser.js("return await new Promise((done) => setTimeout(done, 15));")
        assert len(browser.text()) > 20, view


def test_search_and_keys(browser, real):
    browser.open(real[1])
    browser.key("/")
    browser.type("np.exp")
    browser.wait("!document.getElementById('results').hidden")
    assert "np.exp" in browser.text("#results")
    browser.key("Enter", "\r")
    browser.wait("location.hash.startsWith('#/source/0/')")
    chosen = browser.js("location.hash")
    browser.key("k")
    assert browser.js("location.hash") != chosen
    for number, view in enumerate(("summary", "source", "function", "graph", "timeline", "kernels"), 1):
        browser.key(str(number))
        browser.wait(f"location.hash === '#/{view}'")
    browser.key("1")
    browser.wait("document.querySelector('.card') !== null")
    browser.key("j")
    assert browser.js("document.activeElement.matches('.card')")
    browser.key("?")
    assert browser.js("document.getElementById('help').open")


def test_light_and_dark(browser, real):
    background = "getComputedStyle(document.body).backgroundColor"
    light_of = lambda: sum(map(int, re.findall(r"\d+", browser.js(background))[:3]))
    browser.open(real[1], theme="dark")
    assert light_of() < 200
    browser.key("t")
    assert light_of() > 600
    browser.js("try { localStorage.clear() } catch {}")
    browser.open(real[1], theme="light")
    assert light_of() > 600


def contrast(a, b):
    def luminance(colour):
        parts = [int(v) / 255 for v in re.findall(r"\d+", colour)[:3]]
        return sum(w * (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4) for w, v in zip((0.2126, 0.7152, 0.0722), parts))
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_legible_and_states_have_words(browser, real, theme):
    browser.js("try { localStorage.clear() } catch {}")
    browser.open(real[1], "#/source", theme)
    for selector in ("h1", ".number", ".took", ".text", ".legend", "a", ".t-k", ".t-s"):
        colour = browser.js(f"getComputedStyle(document.querySelector('main {selector}') || document.querySelector('{selector}')).color")
        assert contrast(colour, browser.js("getComputedStyle(document.body).backgroundColor")) >= 4.5, selector
    signs = browser.js("[...new Set([...document.querySelectorAll('.row .sign')].map((s) => s.textContent + s.getAttribute('aria-label')))]")
    assert {"■compiled", "▲Python"} <= set(signs)


def test_a_link_keeps_the_view(browser, real):
    line = lines_with("np.exp")
    browser.open(real[1], f"#/source/0/{line}")
    assert browser.js("+document.querySelector('.row.chosen').dataset.line") == line
    browser.open(real[1], "#/timeline?from=1000000&to=2000000")
    browser.key("+")
    browser.js("document.querySelector('canvas').focus()")
    browser.key("+")
    browser.js("return await new Promise((done) => setTimeout(done, 300));")
    first, last = map(int, re.findall(r"=(\d+)", browser.js("location.hash")))
    assert 1_000_000 < first < last < 2_000_000


def test_timeline(browser, real):
    browser.open(real[1], "#/timeline")
    browser.js("return await new Promise((done) => setTimeout(done, 100));")
    colours = """const c = document.querySelector("canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
        for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return seen.size;"""
    assert browser.js(colours) > 3
    browser.click("canvas")


def test_kernels_against_the_machine(browser, real):
    browser.open(real[1], "#/kernels")
    assert "GB/s" in browser.text() and "k0_tanh" in browser.text() and "np." not in browser.text("h1")
    assert browser.js("document.querySelectorAll('svg.roofline .dot').length") >= 2 and browser.js("document.querySelectorAll('svg.roofline .roof').length") == 2
    inside = """const box = document.querySelector("svg.roofline").getBoundingClientRect();
        return [...document.querySelectorAll("svg.roofline .dot")].every((dot) => { const r = dot.getBoundingClientRect(); return r.left >= box.left && r.right <= box.right && r.top >= box.top - 14 && r.bottom <= box.bottom; });"""
    assert browser.js(inside)
    browser.click("main table a[href*='show=kernel']")
    assert "kernel k0_" in browser.text()


def test_memory_over_the_steps(browser, real):
    browser.open(real[1], "#/kernels")
    graph = browser.js("""return [...document.querySelectorAll("main table a[href*='show=kernel']")].find((a) => a.innerText.includes("tanh")).getAttribute("href").replace("kernel", "plan");""")
    browser.js(f"location.hash = {json.dumps(graph)}")
    browser.wait("document.querySelector('svg.memory') !== null")
    assert browser.js("document.querySelectorAll('svg.memory .life').length") >= 2 and "8 kB at once" in browser.text().replace("\u202f", " ")  # 500 elements in, 500 out


def test_what_a_value_has_been(browser, real):
    told = model.build(str(real[0] / "trace"))
    sized = next(f["id"] for f in told["functions"] if f["name"] == "sized")
    browser.open(real[1], f"#/function/{sized}")
    assert browser.js("[...document.querySelectorAll('.history .chip')].map((chip) => chip.innerText)") == ["3", "4", "5"]


def test_comparison(browser, real, tmp_path):
    new, path = model.build(str(real[0] / "trace")), tmp_path / "c.html"
    old = json.loads(json.dumps(new))
    for f in old["functions"]:
        f["breaks"], f["recompile_count"] = [], 0
    of_traces("", str(path), compare.compare(old, new, "<b>old</b>", "new"), new)
    browser.open(path)
    assert browser.js("location.hash") == "#/compare"
    assert "new break" in browser.text() and "▲" in browser.text() and "<b>old</b>" in browser.text()


def test_hostile_names_do_nothing(browser, tmp_path):
    path = tmp_path / "h.html"
    told = model.build(str(hostile_trace(tmp_path / "t")))
    of_traces("", str(path), model=told)
    browser.open(path)
    title = browser.js("document.title")
    elements = "document.querySelectorAll('img, iframe, object, [onload], [onerror], a[href^=\"javascript\"], main b b').length"
    hashes = ["#/summary", "#/source", "#/timeline", "#/kernels", *(f"#/function/{f['id']}" for f in told["functions"]), *(f"#/source/{i}/3" for i in range(len(told["files"]))),
              *(f"#/graph/{f['id']}/0?show={tab}" for f in told["functions"] for tab in ("picture", "kernel", "plan"))]
    for hash in hashes:
        browser.js(f"location.hash = {json.dumps(hash)}")
        browser.js("return await new Promise((done) => setTimeout(done, 15));")
        assert browser.js("document.title") == title and browser.js(elements) == 0, hash
    browser.js("location.hash = '#/function'")
    browser.js("return await new Promise((done) => setTimeout(done, 15));")
    for text in HOSTILE[:2]:
        assert text in browser.text()
    browser.js(f"location.hash = {json.dumps('#/source/0/3/' + HOSTILE[0])}")


def test_two_hundred_thousand_events(browser, tmp_path):
    path = tmp_path / "large.html"
    told = model.build(str(large_trace(tmp_path / "t", 200_000)))
    assert told["events"] >= 200_000 and len(told["timeline"]["items"]) <= 16_000
    of_traces("", str(path), model=told)
    assert path.stat().st_size < 4_000_000
    browser.open(path)
    for hash in ("#/summary", "#/source/0/3", "#/function/0", "#/graph/0/0", "#/timeline"):
        took = browser.js(f"""const begin = performance.now(); location.hash = {json.dumps(hash)};
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)))); return performance.now() - begin;""")
        assert took < 2000, (hash, took)
    zoom = """const c = document.querySelector("canvas"), begin = performance.now();
        for (let i = 0; i < 20; ++i) { c.dispatchEvent(new WheelEvent("wheel", {deltaY: -40, cancelable: true, bubbles: true})); await new Promise(requestAnimationFrame); }
        return (performance.now() - begin) / 20;"""
    assert browser.js(zoom) < 250


def test_from_a_folder_that_cannot_be_written(browser, real, tmp_path):
    folder = tmp_path / "read only"
    folder.mkdir()
    shutil.copy(real[1], folder / "r.html")
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        browser.open(str(folder / "r.html").replace(" ", "%20"))
        assert "Things to do" in browser.text()
        assert sorted(os.listdir(folder)) == ["r.html"]
    finally:
        folder.chmod(stat.S_IRWXU)


def test_narrow_and_wide(browser, real):
    for width in (700, 1100, 2000):
        browser.size(width, 900)
        for hash in ("#/summary", "#/source", "#/function/0"):
            browser.open(real[1], hash)
            assert browser.js("document.documentElement.scrollWidth - innerWidth") <= 0, (width, hash)
    browser.size(1400, 900)


PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"


def test_the_walk_of_the_documents(browser, tmp_path):
    """docs/report.md: its slow program, the things to do that it names, and its pictures (UPDATE_PICTURES=1 writes them)."""
    document = (PICTURES.parent / "report.md").read_text()
    program, changed = re.findall(r"```python\n(.*?)```", document, re.S)
    (tmp_path / "heat.py").write_text(program.replace("2000", "900"))
    run = lambda *arguments, **more: subprocess.run([sys.executable, *arguments], cwd=tmp_path, check=True, capture_output=True, env={**os.environ, "FUSEWIRE_LOGS": "", **more})
    named = re.findall(r"^\d\. \*\*(.*?)\*\*", document, re.M)
    for attempt in range(3):   # things to do are ranked by times, which a busy machine can turn round
        run("heat.py", FUSEWIRE_TRACE=str(tmp_path / f"trace{attempt}"))
        told = model.build(str(tmp_path / f"trace{attempt}"))
        if told["todo"][0]["title"] == named[0]:
            break
    worth = {item["title"] for item in told["todo"] if not item["ignore"]}
    assert len(named) == 3 and set(named) <= worth
    of_traces("", str(tmp_path / "heat.html"), model=told)
    browser.open(tmp_path / "heat.html")
    assert browser.text(".card h3") == named[0]
    if os.environ.get("UPDATE_PICTURES"):
        PICTURES.mkdir(exist_ok=True)
        browser.size(1240, 860)
        browser.screenshot(PICTURES / "report-summary.png")
        number = next(n for n, line in enumerate(program.splitlines(), 1) if "+ heat" in line)
        browser.open(tmp_path / "heat.html", f"#/source/0/{number}")
        browser.screenshot(PICTURES / "report-source.png")
        browser.open(tmp_path / "heat.html", "#/kernels")
        browser.screenshot(PICTURES / "report-kernels.png")
        browser.size(1400, 900)
    # The changed function, called as the text says.
    head = program[:program.index("@fusewire.compile")]
    rest = program[program.index("def simulate"):].replace("np.zeros((200, 200))", "np.zeros((200, 200), np.float32)").replace("u = step(u, heat, log)", "u, hottest = step(u, heat)").replace("2000", "300")
    (tmp_path / "fast.py").write_text(head + changed + "\n" + rest)
    run("fast.py", FUSEWIRE_TRACE=str(tmp_path / "after"))
    after = model.build(str(tmp_path / "after"))
    assert after["functions"][0]["state"] == "compiled" and not after["functions"][0]["breaks"] and not after["functions"][0]["recompiles"]
