"""The pictures of an evaluation in docs/images, made anew, of a table of persons:

    python -m tests.auditor.report.evaluation_pictures acs2011_us_paperlike.csv

The settings are those of docs/evaluation.md.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pandas as pd

from auditor.evaluation.evaluate import evaluate
from auditor.evaluation.page import html
from auditor.evaluation.subject import Stated, subject_of
from auditor.evaluation.sweep import settings_of, sweep
from auditor.evaluation.techniques import TECHNIQUES, Settings
from cae_sql.risk import Limit

from .browser import chromium, started
from .pictures import keep

PUBLIC = ("age", "sex", "education", "industry")
SWEEP = ["sampling:5,10,20,50", "noise:10,25,50,100", "query-restriction:4,8,16,32",
         "randomised-response:0.9,0.7,0.5,0.3", "anatomy:2,3"]  # fmt: skip


def main(table: str) -> None:
    """Take them."""
    path = chromium()
    if path is None:
        raise SystemExit("no Chromium on this machine (Debian's package: chromium)")
    frame = pd.read_csv(table)
    stated = Stated("salary", PUBLIC, ("age", "sex"), 10, 250, 10, Limit(risk=0.5))
    subject = subject_of(Path(table).name, frame, None, stated)
    found = {
        "evaluation": evaluate(subject, TECHNIQUES["sampling"], Settings(percent=50), numbers=True),
        "sweep": sweep(subject, settings_of(SWEEP), repetitions=3),
    }
    with tempfile.TemporaryDirectory() as folder, started(path) as browser:
        for name, each in found.items():
            page = Path(folder) / f"{name}.html"
            page.write_text(html(each), encoding="utf-8")
            browser.open(page, 1280, 1000)
            keep(browser.picture(), f"evaluate-{name}.png")


if __name__ == "__main__":
    main(sys.argv[1])
