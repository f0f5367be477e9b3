"""Candidate models: what answers make an intruder believe of each record, beyond what they exclude.

Contract: an answered system in, a distribution for each record out, and how risky that is against what
everybody would believe from the answers about the whole table alone. `exact`: all tables that agree with the
answers are equally likely (paper 003). And the *posterior*: `exact` where components are small, else the tilt
(of all distributions with the right expected sums the one of greatest entropy) narrowed by leverage, which is
what many sums that share one person tell together.

    marginals.py        AnsweredSystem to marginals, under `exact`
    figures.py          their risk; baseline.py: what answers say of everybody, which counts against nobody
    components.py       exact marginals by component, extremes by inclusion and exclusion
    counting.py         exact marginals of records under sums: components, and who may be counted how
    given_sum.py        one sum: convolution by Fourier transform near a tilted mean
    layers.py           several sums that overlap: partial sums, atom by atom
    weights.py          weighted sets of whole numbers, their sums, and products of sums
    tilt.py             the distributions of greatest entropy, by Newton's method on its dual
    windows.py          the same with a prior, and over windows of one step
    likely.py           the posterior of everybody, by atoms; counted or by the formula, and which
    observations.py     answered sums as independent rows, ends and ranges with their slack
    leverage.py         the share of each variance that they explain; one factor, and rows added to it
    bell.py             the formula, on any grid; attained.py: extremes, as a mixture over who attains them
    attaining.py        what is expected of records some of whom attain extremes, and so of sums beside these
    heaps.py            sums that are no bell, by characteristic functions
    residues.py         combinations of sums that leave few people modulo a small prime, by rank
    apart.py            small clusters without the sums that many share
    asked.py            what if these were answered? From the kept factor
    insiders.py         given the value of anybody else; insiders_counted.py: in small systems, counted
    pairs.py            the most that anybody's value does, and what is known of that before a question
    members.py          risk against what is said of people like somebody, or the prior; areas.py: areas
    cells.py            how bad bells can be at most, by cells of a grid of tilts and stiffnesses
    nearby.py           what bells leave open, from below, by such as were measured before
    judging.py          would everybody keep a limit under `exact`, if these were the answers?
"""
