"""The command line `cae-sql`. Thin: reads arguments, calls the gate, shows what it says.

Promise: exit status 0 answered or nothing found; 1 internal error; 2 usage, policy or data error; 3 refused,
or beyond the limit; 4 unsupported. An error is one clear line on stderr, no traceback unless CAE_SQL_DEBUG
is set. Everything heavy is imported by the command that needs it, so help is quick.

    app.py          the commands; attacking.py, measuring.py, users.py: those of attacks, of the measure in
                    SQL, and of who may connect
    show.py         decisions and rows as a table, CSV or JSON
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from typing import NoReturn

from auditor.errors import AuditorError, OwnerWarning
from auditor.plain import line

_COLLECT_AFTER = 50_000
"""New objects between two looks for circular garbage. Python's 700 makes a start a sixth slower: what is
imported stays, and is looked through again and again."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, and leave through `SystemExit`.

    Args:
        arguments: What follows the program's name. By default what the process was started with; then the
            process ends here.
    """
    if arguments is not None:
        _run(list(arguments))
    try:
        _run(sys.argv[1:])
    except SystemExit as end:
        if isinstance(end.code, int) and not os.environ.get("CAE_SQL_DEBUG"):
            _end(end.code)
        raise


def _run(arguments: list[str]) -> NoReturn:
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # other people's code that would see the policy
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
    from auditor.cli.app import app

    warnings.showwarning = _warn
    try:
        app(arguments[0] if arguments else None)(args=arguments, prog_name="cae-sql")
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
    raise SystemExit(0)


def _end(status: int) -> None:
    """End the process as Python does, but for taking apart, object by object, what was imported.

    That takes a sixth of a second, and the system takes the memory back anyway. All that has a say in it has
    had it: threads have ended, what was registered for the end was called, what was printed is written.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return  # what cannot be written, or is closed, is told as ever
    os._exit(status)


def _warn(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Our own warnings are for the person at the keyboard; those of libraries are not."""
    if issubclass(category, OwnerWarning):
        print(f"cae-sql: warning: {line(str(message))}", file=sys.stderr)


def _fail(message: str, status: int) -> None:
    """One line on stderr; called while the error is handled, so that debugging can show it."""
    if os.environ.get("CAE_SQL_DEBUG"):
        raise
    print(f"cae-sql: {line(message)}", file=sys.stderr)
    raise SystemExit(status)
