"""Publications and tools that more than one attack comes from."""

from __future__ import annotations

DENNING_1979 = (
    "D. E. Denning, P. J. Denning, M. D. Schwartz: The Tracker: A Threat to Statistical Database Security, "
    "ACM TODS 4(1):76–96, 1979"
)
SCHLOERER_1980 = (
    "J. Schlörer: Disclosure from Statistical Databases: Quantitative Aspects of Trackers, "
    "ACM TODS 5(4):467–492, 1980"
)
LINEAR_1979 = (
    "M. D. Schwartz, D. E. Denning, P. J. Denning: Linear Queries in Statistical Databases, "
    "ACM TODS 4(2), 1979"
)
AIRCLOAK = "Aircloak, Attacks on Diffix Cedar (air/docs/content/attacks.md)"
DIFFIX = "diffix/reference (pg_diffix's reference implementation), docs"
PAC = "cwida/pac (DuckDB extension), attacks/attacks.md"
DATASHIELD = "DataSHIELD, datashield/dsBase"
HUTH_2023 = (
    "M. Huth et al.: Accessibility of covariance information creates vulnerability in Federated Learning "
    "frameworks, Bioinformatics, 2023"
)
DINUR_NISSIM = "I. Dinur, K. Nissim: Revealing Information while Preserving Privacy, PODS 2003"
COHEN_NISSIM = "A. Cohen, K. Nissim: Linear Program Reconstruction in Practice, JPC 10(1), 2020"
KENTHAPADI = (
    "K. Kenthapadi, N. Mishra, K. Nissim: Simulatable Auditing, PODS 2005; "
    "Denials leak information, JCSS 79, 2013"
)
HAEBERLEN = "A. Haeberlen, B. C. Pierce, A. Narayan: Differential Privacy Under Fire, USENIX Security 2011"
CHIN_OZSOYOGLU = (
    "F. Y. Chin, G. Özsoyoğlu: Auditing and Inference Control in Statistical Databases, "
    "IEEE TSE 8(6):574–582, 1982"
)
SDC = "Handbook on Statistical Disclosure Control, chapter 4: magnitude tabular data (sdctools.github.io)"
OWN = "found while this gate was built (docs/decisions.md, docs/inference.md)"
BOOLEAN_2000 = "J. Kleinberg, C. Papadimitriou, P. Raghavan: Auditing Boolean Attributes, PODS 2000"
GARFINKEL = (
    "S. Garfinkel, J. M. Abowd, C. Martindale: Understanding Database Reconstruction Attacks on Public Data, "
    "CACM 62(3), 2019"
)
