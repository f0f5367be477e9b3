"""Everything `auditor` raises on purpose.

AuditorError
├── PolicyError                 a policy that cannot be used; names key, value and what would do
├── DatabaseError               the database cannot be opened or read
├── LedgerError                 the ledger cannot be trusted, read or written
│   ├── DataChanged             the data are not those of the ledger's last edition
│   └── NewerEdition            a newer edition of the data was opened while the gate held an earlier one
├── StatementError              the statement or the user is not text, or the dialect none that is offered
├── LogError                    a query log that is none, or lacks what is needed to read it
├── ConversionError             an answer holds a value that Python has no type for; names the column
├── UsersError                  a users file that cannot be used; names line and what would do
├── ServingError                a server that cannot listen where and as it is told to; names what would do
├── QueryRefused                the limit would be passed; `.decision`
└── QueryUnsupported            the statement is not understood; `.decision`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.decision import Decision


class OwnerWarning(UserWarning):
    """What the owner of the data should know; the command line shows it."""


class CoarserGridWarning(OwnerWarning):
    """The data lie on a coarser grid than the policy says: who guesses that knows more than it assumes."""


class EarlierAnswersWarning(OwnerWarning):
    """What was answered under a looser policy may break the limit already: then nothing new is answered."""


class NotRenewableWarning(OwnerWarning):
    """A ledger is begun that does not hold who is who: later states of the data cannot be opened under it."""


class NamelessRowsWarning(OwnerWarning):
    """Rows of which the policy's unit names nobody: each is taken for a person of its own."""


class NotPublishedWarning(OwnerWarning):
    """What the policy calls published is not safe any more in a later edition, and is not taken as known."""


class WithheldWarning(UserWarning):
    """Rows are shown of which some groups are withheld: what is ranked or summed up over them lacks these."""


class AuditorError(Exception):
    """Base of every error that `auditor` raises on purpose."""


class PolicyError(AuditorError):
    """A policy that cannot be used; the message names key, value and what would do."""


class DatabaseError(AuditorError):
    """The database cannot be opened, or lacks what the policy names."""


class LedgerError(AuditorError):
    """The ledger is missing, shortened, corrupt, of another table, or cannot be written."""


class DataChanged(LedgerError):
    """The protected table differs from the one that the ledger's answers were computed on."""


class NewerEdition(LedgerError):
    """A newer edition of the data was opened: what the gate holds is the past."""


class StatementError(AuditorError):
    """What was asked cannot even be put on record: no text, no user, or an unknown dialect."""


class LogError(AuditorError):
    """A file that is no query log, cannot be opened, or lacks the columns that are needed."""


class ConversionError(AuditorError):
    """A released value that Python has no type for, an interval of millions of years; names its column."""


class UsersError(AuditorError):
    """A users file that cannot be used, or a user who cannot be added; names line and what would do."""


class ServingError(AuditorError):
    """A server that cannot listen where it is told to, or a certificate that cannot be used."""


class QueryRefused(AuditorError):
    """An answer would push the risk past the limit. Carries the decision."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.message)
        self.decision = decision


class QueryUnsupported(AuditorError):
    """A statement that is not understood, and hence not answered. Carries the decision."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.message)
        self.decision = decision
