# SPDX-License-Identifier: Apache-2.0
"""One exception class for each status of the library, also the builtin that fits."""


class Error(Exception):
    """Any failure of Grebe."""

    status = "unknown"
    retryable = False
    offset = None
    read_version = None
    latest_version = None


class InvalidArgument(Error, ValueError):
    """An argument, or the order of calls."""


class NoMemory(Error, MemoryError):
    """Memory could not be had."""


class NotFound(Error, LookupError):
    """No such table, version, column or row."""


class Exists(Error):
    """The thing to be made is there already."""


class Corrupt(Error):
    """Bytes contradict their format."""


class Unsupported(Error):
    """Valid, but newer than this library or not built in."""


class Limit(Error):
    """A stated limit was hit."""


class IOFailure(Error, OSError):
    """The system failed to read or write."""


class Network(Error):
    """A remote store could not be reached."""


class Auth(Error):
    """A remote store refused the credentials."""


class Conflict(Error):
    """Somebody else committed; nothing was written."""


class UnknownOutcome(Error):
    """A commit was sent, its answer was lost: it may or may not be visible."""


class Cancelled(Error):
    """The call was cancelled."""


class SchemaMismatch(Error, TypeError):
    """Names, types, shapes or row counts do not fit."""


BY_STATUS = {
    "invalid_argument": InvalidArgument,
    "no_memory": NoMemory,
    "not_found": NotFound,
    "exists": Exists,
    "corrupt": Corrupt,
    "unsupported": Unsupported,
    "limit": Limit,
    "io": IOFailure,
    "network": Network,
    "auth": Auth,
    "conflict": Conflict,
    "unknown_outcome": UnknownOutcome,
    "cancelled": Cancelled,
    "schema": SchemaMismatch,
    "unknown": Error,
}
