"""One tree of errors, each saying what happened, what to do next, and whether trying again can help.

```
NoeiraError
├── ConfigError              wrong use or configuration (exit 2)
│   └── MissingSettingError  a setting is absent or empty; named, with the places looked at
├── ServiceError             the catalog service
│   ├── UnreachableError     no answer: closed port, DNS, time-out (retryable)
│   ├── RefusedError         it answered with an error status; carries `status`
│   └── ProtocolError        it answered something that is not the protocol (an HTML page, a missing field)
├── TransferError            bytes between the box and the object store
│   ├── StorageRefusedError  the store answered with an error status; carries `status`
│   ├── NetworkError         the connection failed or starved (retryable)
│   ├── VerificationError    the bytes are not the ones promised; carries both digests
│   ├── DestinationError     a file of the user's is in the way, or the place cannot be written
│   ├── DiskFullError        not enough space; carries how much is missing
│   └── SourceChangedError   the file changed while it was sent (retryable)
├── DatasetError             a dataset, recording or declaration that cannot be read
│   └── DatasetFileError     one file of it; carries `code` (why, in a word) and `file`
├── PackError                an asset pack that cannot be fetched, installed or made
│   └── ArchiveError         its archive attacks, is damaged or cut, or is too large unpacked; nothing was installed
├── JobError                 a job that does not exist or cannot do what was asked
├── StateError               the state folder or its database cannot be used
├── BesideError              a process that reads for this one ended or does not answer (retryable)
└── CancelledError           the user stopped it
```
"""

from __future__ import annotations


class NoeiraError(Exception):
    """An error meant for a person: `title` (what failed), `message` (why), `hint` (what to do next).

    `retryable` says whether the same call can succeed later without a change; `exit_code` is what the command line
    returns for it.
    """

    title = "Something failed"
    hint = ""
    retryable = False
    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        title: str | None = None,
        hint: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if title is not None:
            self.title = title
        if hint is not None:
            self.hint = hint
        if retryable is not None:
            self.retryable = retryable

    def __str__(self) -> str:
        return f"{self.title}: {self.message}" + (f" {self.hint}" if self.hint else "")

    def __reduce__(self) -> tuple[object, ...]:
        # Whole in another process too, whatever the arguments of its kind.
        return (_restored, (type(self), self.args, self.__dict__))


def _restored(kind: type[NoeiraError], arguments: tuple[object, ...], facts: dict[str, object]) -> NoeiraError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(facts)
    return error


class ConfigError(NoeiraError):
    """Wrong use or configuration; nothing was tried."""

    title = "Configuration"
    exit_code = 2


class MissingSettingError(ConfigError):
    """A setting is absent or empty. `name` is the setting; the message names every place that was looked at."""

    title = "Missing setting"

    def __init__(self, name: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.name = name


class ServiceError(NoeiraError):
    """The catalog service failed us."""

    title = "Catalog service"


class UnreachableError(ServiceError):
    """The service gave no answer."""

    title = "Service unreachable"
    retryable = True


class RefusedError(ServiceError):
    """The service answered with an error. `status` is the HTTP status, `server_text` what it said."""

    title = "Service refused"

    def __init__(
        self,
        message: str,
        *,
        status: int,
        server_text: str = "",
        title: str | None = None,
        hint: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message, title=title, hint=hint, retryable=retryable)
        self.status = status
        self.server_text = server_text


class ProtocolError(ServiceError):
    """The answer is not the catalog protocol: an HTML page, JSON of another shape, a path that escapes."""

    title = "Not a catalog service"


class TransferError(NoeiraError):
    """Bytes did not move as they should."""

    title = "Transfer failed"


class StorageRefusedError(TransferError):
    """The object store answered with an error. `status` is the HTTP status."""

    title = "Object store refused"

    def __init__(self, message: str, *, status: int, hint: str | None = None, retryable: bool | None = None) -> None:
        super().__init__(message, hint=hint, retryable=retryable)
        self.status = status


class NetworkError(TransferError):
    """The connection to the object store failed or starved."""

    title = "Connection lost"
    retryable = True


class VerificationError(TransferError):
    """The bytes that arrived are not the ones promised. Nothing was published."""

    title = "Verification failed"

    def __init__(self, message: str, *, expected: str, actual: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.expected = expected
        self.actual = actual


class DestinationError(TransferError):
    """The destination is occupied by something of the user's, or cannot be written."""

    title = "Destination"


class DiskFullError(TransferError):
    """Not enough space on the file system. `missing_bytes` is how much more is needed."""

    title = "Disk full"

    def __init__(self, message: str, *, missing_bytes: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.missing_bytes = missing_bytes


class SourceChangedError(TransferError):
    """The file changed while it was being sent; what was sent is not marked as complete."""

    title = "File changed"
    retryable = True


class DatasetError(NoeiraError):
    """A dataset, recording or declaration that cannot be read."""

    title = "Dataset"


class DatasetFileError(DatasetError):
    """One file of a dataset cannot be read: `file` is its path in the dataset, `code` why, as in a dataset's problems:
    `missing_file`, `denied`, `no_ranges`, `not_a_file`, `lfs_pointer`, `damaged_file`, `too_large`."""

    def __init__(
        self, message: str, *, code: str, file: str, title: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, title=title, hint=hint)
        self.code = code
        self.file = file


class PackError(NoeiraError):
    """An asset pack that cannot be fetched, installed or made."""

    title = "Asset pack"


class ArchiveError(PackError):
    """A pack's archive attacks, is damaged or cut, or is too large unpacked. Nothing of it was installed."""

    title = "Archive refused"


class JobError(NoeiraError):
    """A job that does not exist, or cannot do what was asked of it."""

    title = "Job"


class StateError(NoeiraError):
    """The state folder or its database cannot be used."""

    title = "State folder"


class BesideError(NoeiraError):
    """A process that reads something for this one ended before it answered, or does not answer.

    `why` is the message as a part of a sentence. `is_crash` tells that what it read ended it; then trying again ends
    the next one too.
    """

    title = "Reading failed"
    hint = "Try again."
    retryable = True

    def __init__(self, why: str, *, is_crash: bool = False) -> None:
        end = "" if why.endswith("?") else "."
        super().__init__(f"{why[:1].upper()}{why[1:]}{end}", retryable=not is_crash)
        self.why = why
        self.is_crash = is_crash


class CancelledError(NoeiraError):
    """The user stopped the work; what was transferred is kept."""

    title = "Cancelled"
    exit_code = 130
