"""One test that lists the offenders, in place of a thousand that pass."""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def each(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Test], Test]:
    """Call a test with each of the values, and list those with which it fails.

    It is written like `pytest.mark.parametrize`, for tests so small that collecting, choosing and
    reporting each of them takes longer than the test. Fixtures are made once for all values.
    """
    arguments = (names,) if isinstance(names, str) else names
    cases = [(value,) if isinstance(names, str) else value for value in values]

    def over_cases(test: Test) -> Test:
        @functools.wraps(test)
        def run(**given: Any) -> None:
            failures = []
            for case in cases:
                by_name = dict(zip(arguments, case, strict=True))
                try:
                    test(**given, **by_name)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as failure:
                    failure.add_note(f"with {_shown(by_name)}")
                    failures.append(failure)
            if failures:
                found = (
                    f"fails with {len(failures)} of {len(cases)} values of {', '.join(arguments)}"
                )
                raise BaseExceptionGroup(found, failures)

        whole = inspect.signature(test)
        others = [value for name, value in whole.parameters.items() if name not in arguments]
        run.__signature__ = whole.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return over_cases


def _shown(by_name: dict[str, Any]) -> str:
    return ", ".join(f"{name}={reprlib.repr(value)}" for name, value in by_name.items())
