"""Optional parts: imported where they are used, and named when they are missing."""

import importlib
from types import ModuleType


class MissingExtraError(ImportError):
    """An optional part is not installed; the message says how to get it."""


def require(*modules: str, extra: str) -> list[ModuleType]:
    """Import optional modules.

    Args:
        *modules: their names.
        extra: which extra of this package brings them.

    Raises:
        MissingExtraError: one is not installed.
    """
    found = []
    for module in modules:
        try:
            found.append(importlib.import_module(module))
        except ModuleNotFoundError as error:
            if error.name != module.partition(".")[0]:
                raise  # it is there, but broken
            raise MissingExtraError(
                f"{module} is not installed; get it with: pip install 'thatslife[{extra}]'"
            ) from None
    return found
