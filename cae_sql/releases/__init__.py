"""What an intruder believes about one person after a release, technique by technique, and how risky that is.

Contract: pandas in, one row per combination of values of the `known` columns out. Supplementary knowledge is
what the intruder knows of the target: values of the `known` columns, and how many records share them. `known`
may be empty. Each technique has two functions: `sampled`, `perturbed`, `restricted`, `answered` and
`generalised` give a frame with matches, initial_entropy, area and risk; the same name with `_beliefs` gives
the candidate distributions themselves.

    arguments.py        arguments of the wrong kind
    matching.py         records that share values; values on the domain's grid; what is wrong with a table
    beliefs.py          candidate distributions of classes, and their measure
    sampling.py         simple random samples
    restriction.py      sums over query sets of one size; windows.py: their exact intervals
    noise.py            noise on every attribute; attributes.py: in which steps; posterior.py: Bayes' rule
    generalisation.py   quasi-identifiers made coarser, or groups; covering.py: what a coarse value stands for
    mondrian.py         classes of at least k records
    distortion.py       randomised response; response.py: on this scale; reconstruction.py: estimates from it
    disclosure.py       who is found out through it; optimal.py: the best probabilities under a limit
    anatomy.py          sensitive values by group, its rival; utility.py: what a release is still good for
    privacy.py          what sums and means take away of each record's entropy, in bits (paper 003)
    irregular.py        one sum of values on no common step, without a transform
    by_group.py         sums, histograms, means and variances by group: what these tell of each record
    responsible.py      what one record does to parameters; synthetic.py: data by clusters (paper 002)
    groups.py           sensitive values by group; diversity.py: l-diversity, another rival
    estimates.py        what a user of each release takes the original to be
    experiment.py       all of it over all supplementary knowledge (supplementary.py), as paper 000 does
    rivals.py           randomised response beside anatomy and l-diversity, as paper 004 does

Randomised response has another intruder too, who knows the original's proportions (paper 004): `disclosure`.

Source: M. Alfalayleh and L. Brankovic, "Quantifying Privacy", Section 5 and Appendix (paper 000).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cae_sql.releases.anatomy import anatomise
    from cae_sql.releases.beliefs import Beliefs
    from cae_sql.releases.by_group import (
        GroupStatistics,
        histograms_by_group,
        parameters_by_group,
        sums_by_group,
    )
    from cae_sql.releases.disclosure import attribute_disclosure_risk
    from cae_sql.releases.distortion import randomise
    from cae_sql.releases.generalisation import generalised, generalised_beliefs
    from cae_sql.releases.mondrian import generalise
    from cae_sql.releases.noise import add_noise, perturbed, perturbed_beliefs
    from cae_sql.releases.optimal import Optimum, optimal_probabilities, randomise_within
    from cae_sql.releases.privacy import (
        expected_privacy_loss,
        privacy_loss,
        privacy_loss_of_mean,
        privacy_losses,
        record_given_sum,
    )
    from cae_sql.releases.reconstruction import Reconstruction, reconstruct
    from cae_sql.releases.response import randomised, randomised_beliefs
    from cae_sql.releases.responsible import (
        histogram_risk,
        mean_risk,
        parameter_risk,
        parameter_risks,
    )
    from cae_sql.releases.restriction import (
        answered,
        answered_beliefs,
        query_sets,
        restricted,
        restricted_beliefs,
    )
    from cae_sql.releases.sampling import draw_sample, sampled, sampled_beliefs
    from cae_sql.releases.synthetic import responsible_release

__all__ = [
    "Beliefs",
    "GroupStatistics",
    "Optimum",
    "Reconstruction",
    "add_noise",
    "anatomise",
    "answered",
    "answered_beliefs",
    "attribute_disclosure_risk",
    "draw_sample",
    "expected_privacy_loss",
    "generalise",
    "generalised",
    "generalised_beliefs",
    "histogram_risk",
    "histograms_by_group",
    "mean_risk",
    "optimal_probabilities",
    "parameter_risk",
    "parameter_risks",
    "parameters_by_group",
    "perturbed",
    "perturbed_beliefs",
    "privacy_loss",
    "privacy_loss_of_mean",
    "privacy_losses",
    "query_sets",
    "randomise",
    "randomise_within",
    "randomised",
    "randomised_beliefs",
    "reconstruct",
    "record_given_sum",
    "responsible_release",
    "restricted",
    "restricted_beliefs",
    "sampled",
    "sampled_beliefs",
    "sums_by_group",
]

_HOMES = {
    "Beliefs": "beliefs",
    "GroupStatistics": "by_group",
    "Optimum": "optimal",
    "Reconstruction": "reconstruction",
    "add_noise": "noise",
    "anatomise": "anatomy",
    "answered": "restriction",
    "answered_beliefs": "restriction",
    "attribute_disclosure_risk": "disclosure",
    "draw_sample": "sampling",
    "expected_privacy_loss": "privacy",
    "generalise": "mondrian",
    "generalised": "generalisation",
    "generalised_beliefs": "generalisation",
    "histogram_risk": "responsible",
    "histograms_by_group": "by_group",
    "mean_risk": "responsible",
    "optimal_probabilities": "optimal",
    "parameter_risk": "responsible",
    "parameter_risks": "responsible",
    "parameters_by_group": "by_group",
    "perturbed": "noise",
    "perturbed_beliefs": "noise",
    "privacy_loss": "privacy",
    "privacy_loss_of_mean": "privacy",
    "privacy_losses": "privacy",
    "query_sets": "restriction",
    "randomise": "distortion",
    "randomise_within": "optimal",
    "randomised": "response",
    "randomised_beliefs": "response",
    "reconstruct": "reconstruction",
    "record_given_sum": "privacy",
    "responsible_release": "synthetic",
    "restricted": "restriction",
    "restricted_beliefs": "restriction",
    "sampled": "sampling",
    "sampled_beliefs": "sampling",
    "sums_by_group": "by_group",
}


def __getattr__(name: str) -> Any:
    """Import late: kernels and solvers cost half a second that a command's `--help` need not pay."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
