"""The command line `cae-sql`. Thin: reads arguments, calls the gate, shows what it says.

Promise: exit status 0 answered or nothing found; 1 internal error; 2 usage, policy or data error; 3 refused,
or beyond the limit; 4 unsupported. An error is one clear line on stderr, no traceback unless CAE_SQL_DEBUG
is set. Everything heavy is imported by the command that needs it, so help is quick.

    app.py          the commands; attacking.py, measuring.py, users.py: those of attacks, of the measure in
                    SQL, and of who may connect
    show.py         decisions and rows as a table, CSV or JSON
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Sequence

from auditor.errors import AuditorError, CoarserGridWarning, EarlierAnswersWarning
from auditor.plain import line

_COLLECT_AFTER = 50_000
"""New objects between two looks for circular garbage. Python's 700 makes a start a sixth slower: what is
imported stays, and is looked through again and again."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, and leave through `SystemExit`.

    Args:
        arguments: What follows the program's name; by default what the process was started with.
    """
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # other people's code that would see the policy
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
    from auditor.cli.app import app

    warnings.showwarning = _warn
    try:
        app(args=None if arguments is None else list(arguments), prog_name="cae-sql")
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain about it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except AuditorError as error:
        _fail(str(error), 2)
    except Exception as error:  # noqa: BLE001 -- the outermost catch: a person gets a line, not a traceback
        from cae_sql.errors import CaeSqlError  # late: it wakes NumPy, which help does not need

        if isinstance(error, CaeSqlError):
            _fail(str(error), 2)
        _fail(f"internal error ({type(error).__name__}); set CAE_SQL_DEBUG=1 to see more", 1)


def _warn(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Our own warnings are for the person at the keyboard; those of libraries are not."""
    if issubclass(category, CoarserGridWarning | EarlierAnswersWarning):
        print(f"cae-sql: warning: {line(str(message))}", file=sys.stderr)


def _fail(message: str, status: int) -> None:
    """One line on stderr; called while the error is handled, so that debugging can show it."""
    if os.environ.get("CAE_SQL_DEBUG"):
        raise
    print(f"cae-sql: {line(message)}", file=sys.stderr)
    raise SystemExit(status)
