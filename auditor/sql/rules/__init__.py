"""The rules by which a statement's tree is judged and written anew, each in a file of its own.

Every rule is a function `(tree, context) -> tree` of the name of its file. It gives a tree that means the
same (the same object, or another), or raises `NotUnderstood` with the reason why the statement is not
answered. The order is `auditor.sql.pipeline.RULES`; pairs of statements, before and after, stand in
`tests/auditor/sql/rules/<rule>.sql`.
"""
