"""Where the data are: a DuckDB file, other files, tables in memory, PostgreSQL, and whatever Ibis speaks to.

Promise: whatever the source, what is opened are the same tables, of the same types, with the same fingerprint
as through a DuckDB file of the same content. Who opens them is `auditor.data.loading`.

    opening.py       what is given, to the source that it is
    source.py        what every source promises; wanted.py: what is asked of it
    duckdb_file.py   attached as it is; staging.py: everything else is put into a catalogue of DuckDB's memory
    celling.py       cells of a table, in place of its records
    single.py        sources of one table: files.py, frames.py, ibis_table.py
    postgres/        one snapshot of a server's tables
    reading.py       a table as pandas has it
"""

from auditor.data.sources.opening import Given, source_of
from auditor.data.sources.reading import frame
from auditor.data.sources.source import Source
from auditor.data.sources.wanted import Celling, Lattice, Needed, Protection, Wanted, wanted_of

__all__ = [
    "Celling",
    "Given",
    "Lattice",
    "Needed",
    "Protection",
    "Source",
    "Wanted",
    "frame",
    "source_of",
    "wanted_of",
]
