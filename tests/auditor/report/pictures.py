"""The pictures in docs/images, made anew: python -m tests.auditor.report.pictures

Of made-up findings, in a real browser; few colours are kept, so that the files are small.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image

from auditor.report import html

from .browser import Browser, chromium, started
from .made import made

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "images"
COLOURS = 48


def keep(picture: bytes, name: str) -> None:
    """Write a picture with few colours."""
    image = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(FOLDER / name, optimize=True)


def take(browser: Browser, page: Path) -> None:
    """The three pictures."""
    browser.open(page, 1280, 800)
    keep(browser.picture(), "report-first-screen.png")
    browser.run("document.getElementById('f-text').focus()")
    browser.type("legal")
    browser.until("document.getElementById('count').textContent.includes(' of 1,000')")
    browser.click("#rows tr:nth-child(2) button")
    browser.run("document.activeElement.blur()")
    browser.run("document.querySelector('#findings').scrollIntoView({behavior: 'instant'})")
    keep(browser.picture(), "report-finding.png")
    browser.open(page, 390, 844)
    keep(browser.picture(), "report-phone.png")


def main() -> None:
    """Take them."""
    path = chromium()
    if path is None:
        raise SystemExit("no Chromium on this machine (Debian's package: chromium)")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, started(path) as browser:
        page = Path(folder) / "report.html"
        page.write_text(html(made(1000)), encoding="utf-8")
        take(browser, page)


if __name__ == "__main__":
    main()
