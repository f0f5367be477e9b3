"""Publish a sample, answer sums, or add noise? What each tells of a salary, to whoever knows more or less.

Run: python examples/06_compare_releases.py
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from cae_sql import Domain, releases

SALARY = Domain(minimum=10, maximum=250, step=10)


def staff(size: int = 400) -> pd.DataFrame:
    """Made-up people, the same every time."""
    rng = np.random.default_rng(7)
    paid = np.clip(np.round(rng.lognormal(3.8, 0.6, size) / 10), 1, 25) * 10
    return pd.DataFrame({
        "salary": paid.astype(int),
        "age": rng.integers(20, 65, size),
        "sex": rng.choice(["f", "m"], size),
        "job": rng.choice(["cook", "driver", "nurse", "smith"], size),
    })  # fmt: skip


def on_average(risk: pd.DataFrame) -> float:
    """The risk of one person of the table, each as likely to be the target."""
    return float(np.average(risk["risk"], weights=risk["matches"]))


def main() -> None:
    """One line for each release: its risk for three targets that more and more is known of."""
    people = staff()
    knowledge: list[list[str]] = [[], ["sex", "job"], ["age", "sex", "job"]]
    print(f"{'risk, if what is known is':<28}{'nothing':>10}{'sex, job':>10}{'and age':>10}")

    for percent in (10, 50):
        sample = releases.draw_sample(people, percent, seed=1)
        line = [on_average(releases.sampled(people, sample, "salary", known, SALARY)) for known in knowledge]
        show(f"a sample of {percent} %", line)

    for size in (4, 8, 16):
        line = [
            on_average(releases.restricted(people, "salary", known, SALARY, size, seed=1))
            for known in knowledge
        ]
        show(f"sums over {size} people each", line)

    public = ["age", "sex", "job"]
    for noise in (10, 50):
        noisy = releases.add_noise(people, "salary", public, SALARY, noise, seed=1)
        line = [
            on_average(releases.perturbed(people, noisy, "salary", known, SALARY, noise))
            for known in knowledge
        ]
        show(f"{noise} % of noise on everything", line)

    bands = people["age"].map(lambda age: f"{age // 15 * 15}-{age // 15 * 15 + 14}")
    coarse = people.assign(age=bands, job="*")
    line = [on_average(releases.generalised(people, coarse, "salary", known, SALARY)) for known in knowledge]
    show("ages in bands, no job", line)


def show(release: str, line: list[float]) -> None:
    """Print one release."""
    print(f"{release:<28}" + "".join(f"{risk:>10.2f}" for risk in line))


if __name__ == "__main__":
    main()
