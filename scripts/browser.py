"""A headless Chromium that tests drive by its DevTools protocol, through a pair of pipes: no port, no server, no other package."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Chromium reads commands from descriptor 3 and writes answers to 4. Each message ends with a zero byte.
_COMMANDS, _ANSWERS = 3, 4


def executable() -> str | None:
    """Chromium, under one of the names that distributions give it; None if there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page:
    """One page. `complaints`: what it wrote to the console as warning or error, exceptions that nobody caught, and each request to a network."""

    def __init__(self, to_browser: int, from_browser: int, seconds: float) -> None:
        self._to, self._from, self._seconds = to_browser, from_browser, seconds
        self._number, self._session, self._unread = 0, "", b""
        self._events: list[str] = []
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command. Raises AssertionError if the browser refuses it or says nothing for too long."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self._to, text) :]
        while True:
            answer = self._next(method)
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                return dict(answer["result"])

    def open(self, path: Path, width: int = 1280, height: int = 900) -> float:
        """Seconds until the page is loaded and has been drawn once."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._events.clear()
        begin = time.monotonic()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while "Page.loadEventFired" not in self._events:
            self._next("Page.loadEventFired")
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        return time.monotonic() - begin

    def value(self, expression: str) -> Any:
        """What a piece of JavaScript gives; a promise is waited for. Raises AssertionError if it throws."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """An event of the mouse: mouseMoved, mousePressed, mouseReleased or mouseWheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def picture(self, path: Path) -> None:
        """A picture of the window, as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _next(self, what: str) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], self._seconds)
            assert ready, f"{what}: no answer within {self._seconds} s"
            piece = os.read(self._from, 1 << 20)
            assert piece, f"{what}: the browser has ended"
            self._unread += piece
        text, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, told: dict[str, Any]) -> None:
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("warning", "error", "assert"):
            self.complaints.append(json.dumps(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("warning", "error"):
            self.complaints.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = told["request"]["url"]
            if not url.startswith(("file:", "data:", "about:", "blob:")):
                self.complaints.append(f"asks a network for {url}")


@contextlib.contextmanager
def opened(seconds: float = 60) -> Iterator[Page]:
    """A page of a browser of its own, which ends with it. No command may take longer than `seconds`."""
    program = executable()
    assert program is not None
    commands, answers = os.pipe(), os.pipe()
    # What is inherited must not be one of the numbers that it is put onto.
    inherited = [os.dup(commands[0]), os.dup(answers[1])]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        words = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                 "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]  # fmt: skip
        redirected = f'exec "$@" {_COMMANDS}<&{inherited[0]} {_ANSWERS}>&{inherited[1]}'
        with subprocess.Popen(
            ["bash", "-c", redirected, "bash", *words], pass_fds=inherited, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": profile},
        ) as browser:  # fmt: skip
            for descriptor in (commands[0], answers[1], *inherited):
                os.close(descriptor)
            try:
                yield Page(commands[1], answers[0], seconds)
            finally:
                # Without this pipe it ends itself, and all its processes.
                os.close(commands[1])
                try:
                    browser.wait(10)
                except subprocess.TimeoutExpired:
                    browser.kill()
                os.close(answers[0])
