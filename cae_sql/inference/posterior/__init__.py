"""Candidate models: what answers make an intruder believe of each record, beyond what they exclude.

Contract: an answered system in, a distribution for each record out, and how risky that is against what
everybody would believe from the answers about the whole table alone. `exact`: all tables that agree with the
answers are equally likely (paper 003). And the *posterior*: `exact` where components are small, else the tilt
(of all distributions with the right expected sums the one of greatest entropy) narrowed by leverage, which is
what many sums that share one person tell together.

    marginals.py        marginals under `exact`, what answers say of everybody, and reports by class
    components.py       exact marginals by component, extremes by inclusion and exclusion; kept
    counting.py         exact marginals under sums: Fourier transforms, and partial sums atom by atom
    weights.py          weighted sets of whole numbers, their sums, and products of sums
    tilt.py             distributions of greatest entropy, by Newton's method; with a prior, and over windows
    likely.py           the posterior of everybody, by atoms, after answers or hypothetical ones
    fit.py              one fit of these: tilt, leverage, slope
    leverage.py         answered sums as independent rows; the share of each variance that these explain
    bell.py             the formula, on any grid
    attained.py         answered extremes as a mixture over who attains them: moments and rows
    noisy.py            ranges of statistics, as observations with noise in the same fit
    range_checks.py     ranges that this does not see: by priors, and by where a weighted sum lies
    heaps.py            sums that are no bell, by characteristic functions
    residues.py         combinations of sums that leave few people modulo a small prime, by rank
    insiders.py         given the value of anybody else: over all pairs; in small systems counted
    apart.py            small clusters without the sums that many share
    tabulated.py        what a bell leaves open, from below, by lookup
    baselines.py        areas, and risk against what is said of people like somebody, or the prior
    judging.py          would everybody keep a limit, if these were the answers? By both models, with insiders
"""
