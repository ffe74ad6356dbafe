"""A manager that serves its page to a browser, which notes whatever goes wrong in it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import uvicorn
from playwright.sync_api import Browser, Page

from millstream.manager.app import served
from millstream.manager.service import Service

Scheme = Literal["light", "dark"]


@contextmanager
def listening(service: Service) -> Iterator[str]:
    """The address at which it is served."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()  # whoever asks before the server is up waits, and is not refused
        server = uvicorn.Server(uvicorn.Config(served(service), log_level="warning", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Visitor:
    """Somebody with a browser. `wrong`: what the browser complained of; `hosts`: whom it asked."""

    def __init__(self, browser: Browser, url: str, width: int = 1200, scheme: Scheme = "light") -> None:
        self.url = url
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        self.page: Page = context.new_page()
        self.wrong: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda asked: self.hosts.add("/".join(asked.url.split("/")[:3])))

    def log_in(self, token: str) -> None:
        self.page.goto(self.url)
        self.page.fill("input[name=token]", token)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("h1")

    def go(self, path: str) -> None:
        self.page.goto(self.url + path)
