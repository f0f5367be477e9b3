"""How uncertain is somebody about a value? Entropy, approximate compromise, area and risk, without a gate.

Run: python examples/01_measure.py
"""

from cae_sql import Domain, cae_area, cae_curve, cae_entropy, candidates
from cae_sql.risk import Limit, risk_of


def main() -> None:
    print("Two colleagues' salaries, in thousands. An intruder has narrowed each down to two values:")
    for name, pair in {"Ann": [50, 107], "Bob": [77, 80]}.items():
        print(
            f"  {name}: {pair[0]} or {pair[1]}   entropy {cae_entropy(pair):.1f} bit, "
            f"within 5 thousand {cae_entropy(pair, epsilon=5):.1f} bit, area {cae_area(pair):.0f}"
        )
    print("Entropy takes both for equally secret. The area sees that Bob's salary is as good as known.")

    print("\nThe whole curve of a distribution, H at each range of approximate compromise:")
    curve = cae_curve([1, 3, 8, 9], [0.15, 0.10, 0.70, 0.05])
    for epsilon, bits in zip(curve.epsilon, curve.entropy, strict=True):
        print(f"  {epsilon:4.0f}  {bits:5.3f} bit  {'#' * round(bits * 30)}")
    print(f"  initial entropy {curve.initial_entropy:.3f} bit, area {curve.area:.4f}")

    print("\nThree records fit what the intruder knows; answers left an interval for each:")
    salary = Domain(minimum=10, maximum=250, step=10)
    lower, upper = [40, 40, 70], [80, 120, 160]
    values, probabilities = candidates(lower, upper, salary)
    for value, probability in zip(values, probabilities, strict=True):
        print(f"  {value:4.0f}  {probability:.3f}  {'#' * round(probability * 200)}")

    figures = risk_of(values, probabilities, salary, epsilon=20)
    limit = Limit(risk=0.5)
    print(f"  risk {figures.risk:.2f}: this share of what the domain left uncertain is gone")
    print(f"  a limit of 0.5 is {'kept' if limit.allows(figures) else 'broken'};", end=" ")
    print(f"it asks for {limit.least_run(salary)} neighbouring values of {salary.count}")


if __name__ == "__main__":
    main()
