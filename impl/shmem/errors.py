"""Errors say three things: what was asked, what is so, and what to do."""


class ShmemError(Exception):
    """Base class of every error that this package raises.

    `asked` is the request that failed, `found` the fact that stands against it, and `remedy` what the
    caller can do now. All three are whole phrases, and `str()` puts them into one line.
    """

    def __init__(self, asked: str, found: str, remedy: str) -> None:
        super().__init__(asked, found, remedy)
        self.asked = asked
        self.found = found
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.asked}: {self.found}; {self.remedy}"
