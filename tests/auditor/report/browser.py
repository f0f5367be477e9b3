"""A real browser, driven over its own protocol (Chrome DevTools Protocol) through two pipes.

Nothing is installed for it but Chromium itself: `--remote-debugging-pipe` reads commands from descriptor 3
and writes answers and events to descriptor 4, each a JSON object that ends with a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
PATIENCE = 60.0
"""Seconds after which the browser is taken to hang."""

_START = """
import fcntl, os, sys
# to places that are free first: either may itself be 3 or 4
read, write = (fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3])
os.dup2(read, 3), os.dup2(write, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
KEYS = {"Enter": ("\r", 13), "Tab": ("", 9), "Space": (" ", 32)}


def chromium() -> str | None:
    """The browser's path, if there is one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One Chromium with one page in it."""

    def __init__(self, process: subprocess.Popen[bytes], read: int, write: int) -> None:
        self._process, self._read, self._write = process, read, write
        self._rest, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its result; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            received = os.read(self._read, 1 << 20) if ready else b""
            if not received:
                raise RuntimeError("the browser does not answer" if not ready else "the browser is gone")
            self._rest += received
        first, _, self._rest = self._rest.partition(b"\0")
        loaded: dict[str, Any] = json.loads(first)
        return loaded

    def open(self, page: Path, width: int = 1280, height: int = 800, scripts: bool = True) -> None:
        """Show a file, as wide as a desk or a phone."""
        self.visit(page.as_uri(), width, height, scripts)
        if scripts:
            self.until(
                "!document.getElementById('interactive') || !document.getElementById('interactive').hidden"
            )

    def visit(self, address: str, width: int = 1280, height: int = 800, scripts: bool = True) -> None:
        """Show what is at an address."""
        self.events.clear()
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.send("Page.navigate", url=address)
        end = time.monotonic() + PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            if time.monotonic() > end:
                raise RuntimeError("the page does not load")
            self.events.append(self._next())

    def run(self, script: str) -> Any:
        """What an expression comes to in the page."""
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, script: str) -> None:
        """Wait for an expression to become true."""
        end = time.monotonic() + PATIENCE
        while not self.run(f"!!({script})"):
            if time.monotonic() > end:
                raise AssertionError(f"never became true: {script}")
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Press the mouse where an element is, as a person would: what covers it gets the click."""
        chosen = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{chosen}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        x, y = self.run(f"(r => [r.x + r.width / 2, r.y + r.height / 2])({chosen}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """One key, where the focus is."""
        text, code = KEYS[key]
        name = " " if key == "Space" else key
        pressed: dict[str, Any] = {"key": name, "code": key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", **pressed, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def type(self, text: str) -> None:
        """Text, where the focus is."""
        self.send("Input.insertText", text=text)

    def pdf(self) -> bytes:
        """What a printer would get."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])

    def picture(self, whole: bool = False, kind: str = "png") -> bytes:
        """The screen, or the whole page."""
        return base64.b64decode(
            self.send("Page.captureScreenshot", format=kind, captureBeyondViewport=whole)["data"]
        )

    def requests(self) -> list[str]:
        """Addresses that the page has asked for since it was opened."""
        self.run("1")  # whatever happened before has been reported by now
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def complaints(self) -> list[str]:
        """Errors and warnings of the page: exceptions, what its policy blocked."""
        self.run("1")
        found = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(event["params"]["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded":
                found.append(str(event["params"]["entry"].get("text")))
        return found


@contextmanager
def started(path: str) -> Iterator[Browser]:
    """A browser, and nothing of it left behind."""
    to_read, from_browser = os.pipe()
    from_us, to_write = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options = [
            "--headless",
            "--remote-debugging-pipe",
            f"--user-data-dir={folder}",
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--force-color-profile=srgb",
            "--hide-scrollbars",
            "--no-sandbox",  # it does not run as root, nor in many containers; the pages are our own
        ]
        process = subprocess.Popen(
            [sys.executable, "-c", _START, str(from_us), str(from_browser), path, *options],
            pass_fds=(from_us, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": folder},
        )
        os.close(from_us)
        os.close(from_browser)
        try:
            yield Browser(process, to_read, to_write)
        finally:
            os.close(to_write)  # the browser ends when nobody can command it any more
            os.close(to_read)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
