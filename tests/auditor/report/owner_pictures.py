"""The pictures of the owner's page in docs/images, made anew, of a page that `cae-sql report` has written:

python -m tests.auditor.report.owner_pictures gate.html
"""

from __future__ import annotations

import sys
from pathlib import Path

from .browser import Browser, chromium, started
from .pictures import keep


def take(browser: Browser, page: Path) -> None:
    """The first screen and the risk on a desk, the first screen on a phone."""
    browser.visit(page.as_uri(), 1280, 760)
    keep(browser.picture(), "gate-report.png")
    browser.run("document.querySelector('#risk').scrollIntoView({behavior: 'instant'})")
    keep(browser.picture(), "gate-report-risk.png")
    browser.visit(page.as_uri(), 390, 844)
    keep(browser.picture(), "gate-report-phone.png")


def main(page: str) -> None:
    """Take them."""
    path = chromium()
    if path is None:
        raise SystemExit("no Chromium on this machine (Debian's package: chromium)")
    with started(path) as browser:
        take(browser, Path(page).resolve())


if __name__ == "__main__":
    main(sys.argv[1])
