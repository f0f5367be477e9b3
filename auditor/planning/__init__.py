"""What a list of statements would be told under other limits and in other orders, found out by asking it.

Promise: every figure is that of a gate with a ledger of its own, in a folder that is gone afterwards. The
policy's ledger is neither read nor written. What was left out for want of time is said.

    statements.py   logs and scripts, by the audit's readers, as statements that are asked once each
    orders.py       in which orders they are asked
    playing.py      one run: statements through a gate, and what became of each
    players.py      runs on several processes, until their time is over
    plan.py         which runs there are, and what follows from them
    words.py        sentences and tables; page.py and json_form.py: for people and for programs
"""
