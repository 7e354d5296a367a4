"""The result of `Collection`."""

from __future__ import annotations

import html as escaping
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from streameval.configs.collection import SEPARATOR

__all__ = ["CollectionResult"]


@attrs.frozen(repr=False, eq=False)
class CollectionResult(Mapping[str, Any]):
    """The results of the members of a collection, by name.

    Made by `Collection.compute`. The result of a collection within another is one of these
    too; ``result["a/b"]`` is ``result["a"]["b"]``.
    """

    _names: tuple[str, ...]
    _results: tuple[Any, ...]

    def __getitem__(self, name: str) -> Any:
        """Give the result of a member."""
        if name in self._names:
            return self._results[self._names.index(name)]
        start = f"{name}{SEPARATOR}"
        inner = [
            (path.removeprefix(start), result)
            for path, result in zip(self._names, self._results, strict=True)
            if path.startswith(start)
        ]
        if not inner:
            raise KeyError(f"{name!r} is not among the members {', '.join(self._names)}")
        names, results = zip(*inner, strict=True)
        return CollectionResult(names, results)

    def __iter__(self) -> Iterator[str]:
        """List the names of the members in order."""
        return iter(dict.fromkeys(name.partition(SEPARATOR)[0] for name in self._names))

    def __len__(self) -> int:
        """Give the number of members."""
        return sum(1 for _ in self)

    def leaves(self) -> dict[str, Any]:
        """Give the results of the members that are no collections, by full name."""
        return dict(zip(self._names, self._results, strict=True))

    def as_dict(self) -> dict[str, int | float]:
        """Flatten to plain numbers for a logger, named ``member/metric``.

        A result that is a number itself, as one of a class of one's own may be, is named as its
        member.
        """
        flat: dict[str, int | float] = {}
        for name, result in self.leaves().items():
            numbers = result.as_dict() if hasattr(result, "as_dict") else result
            if isinstance(numbers, Mapping):
                items = numbers.items()
                flat |= {f"{name}{SEPARATOR}{metric}": value for metric, value in items}
            else:
                flat[name] = numbers
        return flat

    def titled(self) -> Iterator[tuple[str, Any]]:
        """Give each result once, after the names of the members that share it."""
        names: dict[int, list[str]] = {}
        for name, result in self.leaves().items():
            names.setdefault(id(result), []).append(name)
        distinct = {id(result): result for result in self._results}
        for key, shared in names.items():
            yield ", ".join(shared), distinct[key]

    def report(self) -> str:
        """Lay the reports of the members out one below the other."""
        return "\n\n".join(
            f"{title}\n{textwrap.indent(_report(result), '  ')}" for title, result in self.titled()
        )

    def __repr__(self) -> str:
        """Show the result of each member on one line."""
        return f"CollectionResult({dict(self.items())})"

    def __str__(self) -> str:
        """Show the report."""
        return self.report()

    def _repr_html_(self) -> str:
        parts = (
            f"<h4>{escaping.escape(title)}</h4>{_html(result)}" for title, result in self.titled()
        )
        return f"<div>{''.join(parts)}</div>"


def _report(result: Any) -> str:
    """Lay a result out; one of a class of one's own may have no report."""
    return str(result.report() if hasattr(result, "report") else result)


def _html(result: Any) -> str:
    if hasattr(result, "_repr_html_"):
        return str(result._repr_html_())
    return f"<pre>{escaping.escape(_report(result))}</pre>"
