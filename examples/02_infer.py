"""What answers tell about single persons: intervals, tables that agree, and why a bound holds.

Run: python examples/02_infer.py
"""

from cae_sql import AnsweredSystem, InconsistentAnswers

NAMES = ["Ann", "Bob", "Cleo", "Dan", "Eve"]


def show(system: AnsweredSystem) -> None:
    """Each person's feasibility interval, and the values that are shown to be possible."""
    bounds, runs = system.bounds(), system.certified()
    for person, name in enumerate(NAMES):
        print(
            f"  {name:5} nothing outside {bounds.lower[person]:3.0f} to {bounds.upper[person]:3.0f}, "
            f"anything from {runs.lower[person]:3.0f} to {runs.upper[person]:3.0f}"
        )


def main() -> None:
    print("Five salaries, multiples of 10 between 10 and 250. Three questions were answered.")
    system = AnsweredSystem(len(NAMES), minimum=10, maximum=250, resolution=10)
    system.add_mean([0, 1, 2, 3, 4], 100)
    print("\nA0: the average of all five is 100")
    show(system)
    system.add_sum([0, 1, 2], 240)
    print("\nA1: Ann, Bob and Cleo earn 240 together")
    show(system)
    system.add_max([0, 1], 90)
    print("\nA2: the higher of Ann's and Bob's salaries is 90")
    show(system)

    print("\nWhy?")
    for person in (2, 3):
        print(f"  {NAMES[person]}: {system.explain(person, 'lower')}")
    print(f"  {NAMES[0]}: {system.explain(0, 'upper')}")

    print("\nFour tables that agree with every answer:")
    for world in system.worlds(4, seed=7):
        print("  ", "  ".join(f"{name} {value}" for name, value in zip(NAMES, world, strict=True)))

    print("\nAn answer that cannot be:")
    try:
        system.add_sum([3, 4], 270)
    except InconsistentAnswers as error:
        print(f"  Dan and Eve earn 270 together? {error}")
    print(f"  It was not kept: there are still {len(system.answers)} answers.")


if __name__ == "__main__":
    main()
