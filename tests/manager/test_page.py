"""The page, in a browser: who gets in, what is live, what can be done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FilePayload, expect

from servers import chromium
from tests.manager.browsing import Scheme, Visitor, listening
from tests.manager.house import JOB, House, until

pytestmark = pytest.mark.server
TABS = ("", "/epochs", "/failures", "/change", "/logs", "/proof")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.running() as found:
        yield found


@pytest.fixture
def url(manager: House) -> Iterator[str]:
    with listening(manager.service) as found:
        yield found


def token(manager: House) -> str:
    return manager.service.home.token.read_text().strip()


def test_one_logs_in_first_and_comes_where_one_wanted(manager: House, url: str, browser: Browser) -> None:
    visitor = Visitor(browser, url)
    visitor.go("/cluster")
    expect(visitor.page).to_have_url(f"{url}/login?to=/cluster")
    visitor.page.fill("input[name=token]", "ms_wrong")
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.get_by_role("alert")).to_contain_text("no such token")
    visitor.page.fill("input[name=token]", token(manager))
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.locator("h1")).to_contain_text("1 manager")
    cookie = visitor.page.context.cookies()[0]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    visitor.page.get_by_role("button", name="log out").click()
    visitor.go("/")
    expect(visitor.page).to_have_url(f"{url}/login?to=/")


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_every_page_is_whole(manager: House, url: str, browser: Browser, width: int, scheme: Scheme) -> None:
    manager.submit("steady")
    manager.submit("wrong", "fail")
    manager.until("steady", "running")
    manager.until("wrong", "failed")
    visitor = Visitor(browser, url, width, scheme)
    visitor.log_in(token(manager))
    expect(visitor.page.get_by_text("1 failing")).to_be_visible()
    for path in ("/", "/cluster", *(f"/jobs/{name}{tab}" for name in ("steady", "wrong") for tab in TABS)):
        visitor.go(path)
        expect(visitor.page.locator("h1")).to_be_visible()
        across = visitor.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert across <= 0, f"{path} is wider than the window"
    assert visitor.wrong == []
    assert visitor.hosts == {url}


def test_it_is_live_and_says_when_it_is_not(manager: House, browser: Browser) -> None:
    manager.submit("steady")
    manager.until("steady", "running")
    with listening(manager.service) as url:
        visitor = Visitor(browser, url)
        visitor.log_in(token(manager))
        visitor.go("/jobs/steady")
        epoch = visitor.page.locator("dl.figures div", has_text="last epoch").locator("dd")
        before = epoch.inner_text()
        expect(epoch).not_to_have_text(before, timeout=20_000)
        expect(visitor.page.locator("svg.graph .operator")).to_contain_text("busy", timeout=20_000)
        expect(visitor.page.locator(".charts canvas").first).to_be_visible(timeout=20_000)
        frame, chart = visitor.page.locator(".charts figure").first, visitor.page.locator(".charts .uplot").first
        assert frame.evaluate("it => it.clientWidth") > chart.evaluate("it => it.offsetWidth")
    expect(visitor.page.locator("#lost")).to_contain_text("does not answer", timeout=20_000)


def test_a_box_of_the_graph_tells_more(manager: House, url: str, browser: Browser) -> None:
    manager.submit("steady")
    visitor = Visitor(browser, url)
    visitor.log_in(token(manager))
    visitor.go("/jobs/steady")
    visitor.page.locator("svg.graph a", has_text="counted").click()
    expect(visitor.page.locator("#box")).to_contain_text("n = COUNT(*)")
    expect(visitor.page.locator("#box")).to_contain_text("job.py:6")


def test_it_stops_a_job_after_asking_once(manager: House, url: str, browser: Browser) -> None:
    manager.submit("steady")
    manager.until("steady", "running")
    visitor = Visitor(browser, url)
    visitor.log_in(token(manager))
    visitor.go("/jobs/steady")
    assert visitor.page.locator("form[action$='/stop']").is_hidden()
    visitor.page.get_by_text("Stop…").focus()
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.get_by_text("after the epoch that is under way")).to_be_visible()
    visitor.page.get_by_role("button", name="Stop steady").click()
    expect(visitor.page.locator("h1")).to_contain_text("suspended", timeout=30_000)
    assert manager.job("steady")["moves"][-2]["by"] == "admin"


def test_it_saves_stops_restores_and_rescales(manager: House, url: str, browser: Browser) -> None:
    manager.submit("steady")
    manager.until("steady", "running")
    visitor = Visitor(browser, url)
    visitor.log_in(token(manager))
    visitor.go("/jobs/steady")
    visitor.page.get_by_text("Stop…").click()
    visitor.page.get_by_label("with a savepoint").check()
    visitor.page.get_by_role("button", name="Stop steady").click()
    manager.until("steady", "suspended")
    until(lambda: manager.job("steady")["savepoints"])
    visitor.go("/jobs/steady/epochs")
    expect(visitor.page.get_by_text("48.0 kB")).to_be_visible()
    visitor.go("/jobs/steady")
    visitor.page.get_by_text("Restore…").click()
    expect(visitor.page.get_by_text("would be written twice")).to_be_visible()
    visitor.page.get_by_role("button", name="Restore steady").click()
    manager.until("steady", "running", run=2)
    visitor.page.get_by_text("Rescale…").click(timeout=60_000)  # offered when the restore has ended
    visitor.page.get_by_label("Parallelism").fill("7")
    visitor.page.get_by_role("button", name="Rescale steady").click()
    expect(visitor.page.get_by_text("parallelism is 7, after epoch 7")).to_be_visible(timeout=60_000)
    assert manager.until("steady", "running", run=3)["spec"]["parallelism"] == 7
    assert visitor.wrong == []


def test_a_change_is_compared_before_the_upgrade(manager: House, url: str, browser: Browser) -> None:
    manager.submit("steady")
    manager.until("steady", "running")
    visitor = Visitor(browser, url)
    visitor.log_in(token(manager))
    visitor.go("/jobs/steady/change")
    for text, found in (("no_job = 1", "MS-CLI-004"), (JOB.format(name="steady"), "can be kept")):
        file = FilePayload(name="new.py", mimeType="text/x-python", buffer=text.encode())
        visitor.page.set_input_files("input[type=file]", file)
        visitor.page.get_by_role("button", name="Compare").click()
        expect(visitor.page.locator("main")).to_contain_text(found, timeout=60_000)
    expect(visitor.page.locator("tbody tr")).to_contain_text("counted")
    visitor.page.get_by_role("button", name="Upgrade steady to version 2").click()
    expect(visitor.page.get_by_text("version 2 has committed epoch")).to_be_visible(timeout=60_000)
    assert manager.job("steady")["version"] == 2


def test_it_says_all_without_javascript(manager: House, url: str, browser: Browser) -> None:
    manager.submit("steady")
    manager.until("steady", "running")
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(url)
    page.fill("input[name=token]", token(manager))
    page.get_by_role("button").click()
    expect(page.locator("tbody tr")).to_contain_text("running")
    page.goto(f"{url}/jobs/steady/epochs")
    expect(page.locator(".gantt tbody tr").first).to_be_visible()


def test_it_submits_a_file_and_says_what_is_wrong_with_one(manager: House, url: str, browser: Browser) -> None:
    visitor = Visitor(browser, url)
    visitor.log_in(token(manager))
    expect(visitor.page.locator("h1")).to_contain_text("No jobs yet")
    visitor.page.get_by_role("link", name="send one file from here").click()
    wrong = FilePayload(name="wrong.py", mimeType="text/x-python", buffer=b"print('no job')")
    visitor.page.set_input_files("input[type=file]", wrong)
    visitor.page.get_by_role("button", name="Submit").click()
    expect(visitor.page.get_by_role("alert")).to_contain_text("MS-CLI-004")
    file = FilePayload(name="sent.py", mimeType="text/x-python", buffer=JOB.format(name="sent").encode())
    visitor.page.set_input_files("input[type=file]", file)
    visitor.page.fill("input[name=folder]", str(manager.folder))
    visitor.page.get_by_role("button", name="Submit").click()
    expect(visitor.page).to_have_url(f"{url}/jobs/sent")
    assert manager.until("sent", "running")["by"] == "admin"
