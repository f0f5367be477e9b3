"""How risky a release of a table is, and which technique would cost its users less.

Promise: a release that is given, or that a seed makes, is measured by `cae_sql.releases` on the scale of the
gate and held against the policy's limit; nothing of the table is written but figures of classes.

    tables.py       original and release, from files or a database
    subject.py      the column, what is known, the domain and the limit: from a policy or beside one
    techniques.py   what each technique needs, and which functions of `cae_sql.releases` are meant
    evaluate.py     one release; sweep.py: several techniques over their parameters
    words.py        what it comes to, in plain words; json_form.py, schema.json: for programs
    page.py         one HTML file, with the style and the charts of `auditor.report`
"""
