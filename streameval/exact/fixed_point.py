"""Fixed-point numbers, whose sums do not depend on the order of adding."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.errors import CountOverflowError, InvalidInputError
from streameval.exact.array_types import Array, Floats, Indices, Ints, Mask

if TYPE_CHECKING:
    from fractions import Fraction


FRACTION_BITS = 62
MAX_TOTAL = 2**63 - 1
SMALLEST_ROUNDED = 2.0**-20
"""Larger floats are rounded to multiples of 2**-62; smaller ones must be such multiples."""
_HALF_BITS = FRACTION_BITS // 2
_FRACTION_MASK = np.int64((1 << FRACTION_BITS) - 1)
_HALF_MASK = np.int64((1 << _HALF_BITS) - 1)
_LOW_WORD = np.int64(2**32 - 1)
_SAFE_ITEMS = 2**31


@attrs.frozen(eq=False)
class FixedPoint:
    """An array of numbers, each an integer part and a fraction of 62 bits.

    A number is ``whole + fraction / 2**62`` with ``0 <= fraction < 2**62``. Adding integers is
    associative and commutative, so a sum has the same bits in any order. ``fraction`` is None
    until a fraction appears, so whole weights do not pay for it.

    Parameters
    ----------
    whole : int64 array, any shape
        The integer part, rounded down.
    fraction : int64 array of the same shape, optional
        The rest, in units of ``2**-62``.
    """

    whole: Ints
    fraction: Ints | None = None

    @classmethod
    def zeros(cls, shape: int | tuple[int, ...]) -> Self:
        """Make an array of zeros."""
        return cls(np.zeros(shape, dtype=np.int64))

    @classmethod
    def of_integers(
        cls, values: npt.NDArray[np.integer[Any]], *, name: str = "sample_weight"
    ) -> Self:
        """Convert integers; any above 2**63 - 1 raises an error."""
        if values.dtype.kind == "u" and values.size and int(values.max()) > MAX_TOTAL:
            raise _overflow(name)
        return cls(values.astype(np.int64))

    @classmethod
    def of_floats(cls, values: Floats, *, name: str) -> Self:
        """Round finite, non-negative floats to the nearest multiple of 2**-62.

        The error is at most 2**-63 for each value, and 0 for values of 2**-10 and above. A value
        below 2**-20 that is not a multiple of 2**-62 raises an error, because its relative error
        could exceed 2**-43.
        """
        if values.size and values.max() >= 2.0**63:
            raise _overflow(name)
        floor = np.floor(values)
        scaled = (values - floor) * 2.0**FRACTION_BITS
        rounded = np.rint(scaled)
        lossy = (rounded != scaled) & (values < SMALLEST_ROUNDED)
        if lossy.any():
            position = int(lossy.argmax())
            raise InvalidInputError(
                "below 2**-20 must be multiples of 2**-62 to be kept exactly, got "
                f"{float(values[position])!r}",
                argument=name,
                position=position,
                remedy="Rescale the weights.",
            )
        whole = floor.astype(np.int64)
        return cls(whole, rounded.astype(np.int64)) if rounded.any() else cls(whole)

    @classmethod
    def of_numbers(cls, values: Array, *, name: str = "sample_weight") -> Self:
        """Convert integers as `of_integers` does, and floats as `of_floats` does."""
        if values.dtype.kind == "f":
            return cls.of_floats(values, name=name)
        return cls.of_integers(values, name=name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.whole.shape

    @property
    def is_whole(self) -> bool:
        """Whether no number so far has had a fraction."""
        return self.fraction is None

    @property
    def has_negative(self) -> bool:
        """Whether any number is negative."""
        whole = self.whole
        return bool(whole.size) and whole.item(whole.argmin()) < 0  # a third of the time of min

    @property
    def largest(self) -> int:
        """The largest integer part, or 0; above 2**63 - 1 if any number is negative."""
        unsigned = self.whole.view(np.uint64)
        return unsigned.item(unsigned.argmax()) if unsigned.size else 0

    def __getitem__(self, key: Any) -> FixedPoint:
        """Index as NumPy does."""
        return self._mapped(lambda part: np.asarray(part[key]))

    def _mapped(self, function: Callable[[Ints], Ints]) -> FixedPoint:
        """Apply a function that moves numbers, or sets them to 0, to both parts."""
        fraction = None if self.fraction is None else function(self.fraction)
        return FixedPoint(function(self.whole), fraction)

    def select(self, kept: npt.NDArray[np.bool_ | np.intp]) -> FixedPoint:
        """Keep some items; if all of them are whole, `fraction` becomes None."""
        return self[kept].canonical()

    def canonical(self) -> FixedPoint:
        """Return the same numbers; if all of them are whole, `fraction` becomes None."""
        has_fraction = self.fraction is not None and self.fraction.any()
        return self if has_fraction or self.is_whole else FixedPoint(self.whole)

    def where(self, kept: Mask) -> FixedPoint:
        """Replace the other items by 0."""
        return self._mapped(lambda part: part * kept)

    def by_row(self) -> FixedPoint:
        """Return a vector of weights of rows: itself, or of a matrix the largest of each row.

        One fraction anywhere in the matrix is a fraction of the vector.
        """
        whole = self.whole
        if whole.ndim == 1:
            return self
        largest = whole.max(axis=1)
        if self.fraction is None:
            return FixedPoint(largest)
        return FixedPoint(
            largest, np.where(whole == largest[:, None], self.fraction, 0).max(axis=1)
        )

    def diagonal(self) -> FixedPoint:
        """Take the diagonal of a matrix."""
        return self._mapped(lambda part: part.diagonal())

    def reshape(self, *shape: int) -> FixedPoint:
        """Change the shape."""
        if self.fraction is None:
            return FixedPoint(self.whole.reshape(shape))
        return FixedPoint(self.whole.reshape(shape), self.fraction.reshape(shape))

    def __add__(self, other: FixedPoint) -> FixedPoint:
        """Add non-negative numbers; a total above 2**63 - 1 raises."""
        whole, fraction = np.asarray(self.whole + other.whole), None
        if self.fraction is not None or other.fraction is not None:
            carried = _fraction(self) + _fraction(other)
            whole = np.asarray(whole + np.asarray(carried >> FRACTION_BITS))
            fraction = np.asarray(carried & _FRACTION_MASK)
        total = FixedPoint(whole, fraction)
        if total.has_negative:
            raise _overflow()
        return total

    @staticmethod
    def total_of(parts: Sequence[FixedPoint]) -> FixedPoint:
        """Add up scalars; a total above 2**63 - 1 raises."""
        if not all(part.is_whole for part in parts):
            return FixedPoint.concatenate([part.reshape(1) for part in parts]).total()
        total = sum(part.whole.item() for part in parts)
        if total > MAX_TOTAL:
            raise _overflow()
        return FixedPoint(np.array(total, dtype=np.int64))

    @staticmethod
    def sum_of(parts: Sequence[FixedPoint]) -> FixedPoint:
        """Add up one or more arrays of one shape, without an array for each partial sum.

        The caller has checked with `total_of` that no sum can exceed 2**63 - 1. The sum of one
        array is that array itself.
        """
        if len(parts) < 3 or not all(part.is_whole for part in parts):
            return functools.reduce(operator.add, parts)
        whole = np.asarray(parts[0].whole + parts[1].whole)
        for part in parts[2:]:
            whole += part.whole
        return FixedPoint(whole)

    @staticmethod
    def concatenate(parts: Sequence[FixedPoint]) -> FixedPoint:
        """Concatenate vectors; the result has fractions if any of them has."""
        whole = np.concatenate([part.whole for part in parts])
        if all(part.is_whole for part in parts):
            return FixedPoint(whole)
        fractions = [np.broadcast_to(_fraction(part), part.shape) for part in parts]
        return FixedPoint(whole, np.concatenate(fractions))

    def __sub__(self, other: FixedPoint) -> FixedPoint:
        """Subtract exactly."""
        if self.fraction is None and other.fraction is None:
            return FixedPoint(np.asarray(self.whole - other.whole))
        borrowed = _fraction(self) - _fraction(other)
        whole = self.whole - other.whole + (borrowed >> FRACTION_BITS)
        return FixedPoint(np.asarray(whole), np.asarray(borrowed & _FRACTION_MASK))

    def sum(self, axis: int | tuple[int, ...] | None = None) -> FixedPoint:
        """Add along axes; the caller guarantees that the total is at most 2**63 - 1."""
        if self.fraction is None:
            return FixedPoint(np.asarray(np.add.reduce(self.whole, axis=axis)))
        return self._summed(lambda part: np.asarray(np.add.reduce(part, axis=axis)))

    def _summed(self, add: Callable[[Ints], Ints]) -> FixedPoint:
        """Add up integer parts and both halves of fractions, and carry."""
        if self.fraction is None:
            return FixedPoint(add(self.whole))
        high, low = add(self.fraction >> _HALF_BITS), add(self.fraction & _HALF_MASK)
        return _carry(add(self.whole), high, low)

    def sum_runs(self, starts: Indices) -> FixedPoint:
        """Add up the runs of a vector that begin at `starts`, the first of which is 0.

        The caller guarantees that the total is at most 2**63 - 1, and that there are fewer than
        2**31 numbers.
        """
        return self._summed(lambda part: np.add.reduceat(part, starts))

    def cumsum(self) -> FixedPoint:
        """Compute the sums of the first 0, 1, 2, ... items of a vector; limits as in `sum_runs`."""
        return self._summed(_cumsum)

    def scatter(self, index: Indices, size: int) -> FixedPoint:
        """Add the numbers into the cells of a new array.

        The caller has checked with `total` that no cell can exceed 2**63 - 1.

        Parameters
        ----------
        index : int array, shape (n,)
            The cell of each number.
        size : int
            The number of cells.
        """
        cells = FixedPoint.zeros(size)
        for part in _parts(len(index)):
            cells += self[part]._summed(functools.partial(_scattered, index[part], size))
        return cells

    def total(self) -> FixedPoint:
        """Add up a vector; a total above 2**63 - 1 raises."""
        if _may_exceed_max(self.whole, self.whole.size):
            _check_halves((self.whole >> 32).sum(), (self.whole & _LOW_WORD).sum())
        pieces = [self[part].sum() for part in _parts(len(self.whole))]
        return functools.reduce(operator.add, pieces) if pieces else FixedPoint.zeros(())

    def totals(self, largest: int | None = None) -> FixedPoint:
        """Add up the last axis; a sum above 2**63 - 1 raises an error.

        Pass the property `largest` if it is already known.
        """
        if largest is None:
            largest = self.largest
        if largest > MAX_TOTAL // max(self.shape[-1], 1):
            high, low = (self.whole >> 32).sum(axis=-1), (self.whole & _LOW_WORD).sum(axis=-1)
            _check_halves(high, low)
        return self.sum(axis=-1)

    def run_totals(self, sizes: Ints) -> FixedPoint:
        """Add up the runs of a vector, some of which may be empty; above 2**63 - 1 it raises."""
        if len(sizes) == 1:
            return self.total().reshape(1)
        runs = np.flatnonzero(sizes)
        starts = (np.cumsum(sizes) - sizes)[runs]
        if not len(runs):
            return FixedPoint.zeros(len(sizes))
        if _may_exceed_max(self.whole, int(sizes.max())):
            high = np.add.reduceat(self.whole >> 32, starts)
            _check_halves(high, np.add.reduceat(self.whole & _LOW_WORD, starts))
        return self.sum_runs(starts).scatter(runs, len(sizes))

    def is_positive(self) -> Mask:
        """Compare each number of a non-negative array with zero."""
        if self.fraction is None:
            return np.asarray(self.whole > 0)
        return np.asarray((self.whole > 0) | (self.fraction > 0))

    def to_numbers(self) -> Ints | Floats:
        """Convert to int64 if everything is whole, else to the nearest float64."""
        if self.fraction is None:
            return self.whole.copy()
        # Python rounds a ratio of integers correctly; sums of floats would round twice
        nearest = [units / (1 << FRACTION_BITS) for units in self.units()]
        return np.array(nearest).reshape(self.shape)

    def to_number(self) -> int | float:
        """Convert a single number to an int if it is whole, else to the nearest float."""
        return self.to_numbers().item()

    def to_floats(self) -> Floats:
        """Convert to the nearest float64."""
        if self.fraction is None:
            return self.whole.astype(np.float64)
        return np.asarray(self.to_numbers(), dtype=np.float64)

    def near_floats(self) -> Floats:
        """Convert to float64 within one ulp; faster than `to_floats` for long arrays."""
        whole = self.whole.astype(np.float64)
        if self.fraction is None:
            return whole
        return whole + np.ldexp(self.fraction.astype(np.float64), -FRACTION_BITS)

    def to_fraction(self) -> Fraction:
        """Convert a single number to an exact fraction."""
        from fractions import Fraction  # noqa: PLC0415 (slow to import, and for results alone)

        (units,) = self.units()
        return Fraction(units) if self.is_whole else Fraction(units, 1 << FRACTION_BITS)

    @property
    def unit(self) -> Fraction:
        """The unit of `units`: 1 if all numbers are whole, else 2**-62."""
        from fractions import Fraction  # noqa: PLC0415 (slow to import, and for results alone)

        return Fraction(1) if self.is_whole else Fraction(1, 1 << FRACTION_BITS)

    def float_parts(self) -> Iterator[Floats]:
        """Split the numbers into float arrays that add up to them exactly."""
        yield (self.whole & _LOW_WORD).astype(np.float64)
        high = self.whole >> 32
        if high.any():
            yield np.ldexp(high.astype(np.float64), 32)
        if self.fraction is not None:
            yield np.ldexp((self.fraction >> _HALF_BITS).astype(np.float64), -_HALF_BITS)
            yield np.ldexp((self.fraction & _HALF_MASK).astype(np.float64), -FRACTION_BITS)

    def units(self) -> list[int]:
        """List the numbers as Python integers, multiples of `unit`."""
        whole: list[int] = self.whole.ravel().tolist()
        if self.fraction is None:
            return whole
        parts = zip(whole, self.fraction.ravel().tolist(), strict=True)
        return [(integer << FRACTION_BITS) + fraction for integer, fraction in parts]

    def units_at(self, index: int) -> int:
        """Return one number of a vector as a Python integer, a multiple of `unit`."""
        whole = self.whole.item(index)
        if self.fraction is None:
            return whole
        return (whole << FRACTION_BITS) + self.fraction.item(index)

    def units_of(self, unit: int) -> list[int]:
        """List the numbers times `unit`, a multiple of 2**62, as Python integers."""
        scale = unit if self.fraction is None else unit >> FRACTION_BITS
        return [units * scale for units in self.units()]

    def __eq__(self, other: object) -> bool:
        """Compare shape, numbers and the presence of fractions."""
        if not isinstance(other, FixedPoint):
            return NotImplemented
        if self.is_whole != other.is_whole or not np.array_equal(self.whole, other.whole):
            return False
        return self.is_whole or bool(np.array_equal(_fraction(self), _fraction(other)))

    __hash__ = None  # type: ignore[assignment]


def total_weight(weights: FixedPoint | None, rows: int) -> FixedPoint:
    """Add up the weights of rows; without weights each counts once."""
    return FixedPoint(np.array(rows, dtype=np.int64)) if weights is None else weights.total()


def weight_by_cell(weights: FixedPoint | None, index: Indices, size: int) -> FixedPoint:
    """Add up the weights of rows in their cells; without weights each counts once."""
    if weights is None:
        return FixedPoint(np.bincount(index, minlength=size).astype(np.int64, copy=False))
    return weights.scatter(index, size)


def _fraction(number: FixedPoint) -> Any:
    return np.int64(0) if number.fraction is None else number.fraction


def _scattered(index: Indices, size: int, values: Ints) -> Ints:
    totals = np.zeros(size, dtype=np.int64)
    np.add.at(totals, index, values)
    return totals


def _cumsum(values: Ints) -> Ints:
    sums = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def _parts(n: int) -> Iterator[slice]:
    """Cut n items into parts whose sums of half fractions stay within 63 bits."""
    return (slice(start, start + _SAFE_ITEMS) for start in range(0, n, _SAFE_ITEMS))


def _may_exceed_max(whole: Ints, size: int) -> bool:
    """Check whether sums of up to `size` of some non-negative numbers may exceed 2**63 - 1.

    Usually the max alone rules this out. That takes a tenth of the time of adding up the halves,
    which needs a temporary array of the same size.
    """
    return bool(whole.size) and whole.item(whole.argmax()) > MAX_TOTAL // size


def _check_halves(high: Any, low: Any) -> None:
    """Refuse sums above 2**63 - 1, given the sums of their upper and lower halves."""
    if np.any((high + (low >> 32)) >> 31):
        raise _overflow()


def _carry(whole: Ints, high: Ints, low: Ints) -> FixedPoint:
    high = high + (low >> _HALF_BITS)
    whole = whole + (high >> _HALF_BITS)
    if whole.size and whole.min() < 0:
        raise _overflow()
    fraction = ((high & _HALF_MASK) << _HALF_BITS) | (low & _HALF_MASK)
    return FixedPoint(np.asarray(whole), np.asarray(fraction))


def _overflow(name: str = "sample_weight") -> CountOverflowError:
    return CountOverflowError("would bring the total past 2**63 - 1", argument=name)
