"""Natural logarithms and exponentials that give the same bits on every CPU.

The results of `np.log`, `np.log1p` and `np.exp` depend on CPU, strides and shape, so states and
certified bounds use these functions instead. They use only frexp, comparisons and + - * /, which
IEEE 754 defines to the last bit, element by element.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.exact.array_types import Array, Floats, Mask
from streameval.exact.scratch import ROWS, borrowed

_ROOT_HALF = 0.7071067811865476
_ROOT_HALF_BITS = np.float64(_ROOT_HALF).view(np.int64)
_MANTISSA_BITS = np.int64(52)
_MIN_DIRECT = -0.2928932188134524  # between these, 1 + x stays within [sqrt(1/2), sqrt(2)]
_MAX_DIRECT = 0.4142135623730950
_LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # 20 trailing zeros: exact times an exponent
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
_EXP_DEGREE = 14
_CHUNK = 2**12  # the temporaries of longer chunks would be returned to the system, page by page
_TERMS = 5  # temporaries of `_combine`
_MAX_TAYLOR = 0.35
_ODD = tuple(  # coefficients of the remainder as a series in s**2: orders 1, 3, 5, 7
    float.fromhex(digits)
    for digits in (
        "0x1.5555555555593p-1",
        "0x1.2492494229359p-2",
        "0x1.7466496cb03dep-3",
        "0x1.2f112df3e5244p-3",
    )
)
_EVEN = tuple(  # orders 2, 4, 6
    float.fromhex(digits)
    for digits in ("0x1.999999997fa04p-2", "0x1.c71c51d8e78afp-3", "0x1.39a09d078c69fp-3")
)


def log(x: npt.ArrayLike) -> Floats:
    """Take the natural logarithm, element by element.

    Parameters
    ----------
    x : float64 array, any shape
        Positive and finite; subnormal numbers too.

    Returns
    -------
    float64 array of the same shape
        The error is below 1 ulp.

    Notes
    -----
    After ``log`` of fdlibm (Sun Microsystems, 1993): ``x = 2**k * (1 + f)``, and
    ``log(1 + f) = 2 artanh(s)`` with ``s = f / (2 + f)``.
    """
    x = np.asarray(x, dtype=np.float64)
    out = np.empty(x.shape)
    flat, logs = x.reshape(-1), out.reshape(-1)
    for start in range(0, len(flat), _CHUNK):
        rows = slice(start, start + _CHUNK)
        f, k = _reduce(*np.frexp(flat[rows]))
        _combine(f, k, None, np.empty((_TERMS, len(f))), logs[rows])
    return out


def log1p(x: npt.ArrayLike) -> Floats:
    """Take the natural logarithm of 1 + x, which stays accurate for tiny x.

    Parameters
    ----------
    x : float64 array, any shape
        Above -1 and finite.

    Returns
    -------
    float64 array of the same shape
        The error is below 1 ulp.

    Notes
    -----
    After ``log1p`` of fdlibm: ``lost / (1 + x)`` makes up for the rounding of 1 + x.
    """
    x = np.asarray(x, dtype=np.float64)
    flat = x.reshape(-1)
    rounded = 1.0 + flat
    lost = np.where(flat > 1.0, 1.0 - (rounded - flat), flat - (rounded - 1.0)) / rounded
    f, k = _reduce(*np.frexp(rounded))
    is_direct = (flat > _MIN_DIRECT) & (flat < _MAX_DIRECT)
    f, k = np.where(is_direct, flat, f), np.where(is_direct, 0.0, k)
    out = np.empty(len(flat))
    with np.errstate(under="ignore"):  # the square of a tiny x is negligible
        _combine(f, k, np.where(is_direct, 0.0, lost), np.empty((_TERMS, len(flat))), out)
    return out.reshape(x.shape)


def log_of_either(x: Floats, is_direct: Mask, out: Floats | None = None) -> Floats:
    """Compute ``log(x)`` where `is_direct` is true and ``log1p(-x)`` elsewhere, in one pass.

    Parameters
    ----------
    x : float64 array, shape (n,)
        In (0, 1), and not subnormal.
    is_direct : bool array, shape (n,)
    out : float64 array, shape (n,), optional
        Where to write the result; it may be `x`.

    Returns
    -------
    float64 array, shape (n,)
        The same bits as those of `log` and `log1p`.
    """
    out = np.empty(len(x)) if out is None else out
    with borrowed(4 + _TERMS) as scratch:
        for start in range(0, len(x), ROWS):
            rows = slice(start, start + ROWS)
            part = x[rows]
            _log_of_either(part, is_direct[rows], scratch[:, : len(part)], out[rows])
    return out


def _log_of_either(x: Floats, is_direct: Mask, scratch: Floats, out: Floats) -> None:
    """Compute logarithms without masks, which are slower than the arithmetic."""
    f, k, lost, size, is_reverse, *others = scratch
    is_reverse[...] = is_direct
    np.subtract(1.0, is_reverse, out=is_reverse)
    np.subtract(x, is_reverse, out=size)
    np.add(size, is_reverse, out=lost)
    lost -= x  # what rounding 1 - x has lost; 0 where `is_direct`
    np.abs(size, out=size)
    _reduce_normal(size, f, k, others[0])
    if not lost.any():  # as of float32
        _combine(f, k, None, scratch[4:], out)
        return
    small = lost * (x < -_MIN_DIRECT)
    f += small  # exactly -x
    lost -= small
    with np.errstate(under="ignore"):  # the square of a tiny x is negligible
        lost /= size
        _combine(f, k, lost, scratch[4:], out)


def exp(x: npt.ArrayLike) -> Floats:
    """Raise e to a power, element by element.

    Parameters
    ----------
    x : float64 array, any shape
        In [-700, 700].

    Returns
    -------
    float64 array of the same shape
        The error is below 2 ulp.

    Notes
    -----
    ``x = k log(2) + r``, and a Taylor polynomial of r, which is at most ``log(2) / 2``.
    """
    x = np.asarray(x, dtype=np.float64)
    k = np.rint(x * _PER_LN2)
    return np.ldexp(1.0 + _taylor((x - k * _LN2_HIGH) - k * _LN2_LOW), k.astype(np.int64))


def expm1(x: npt.ArrayLike) -> Floats:
    """Compute ``exp(x) - 1``, which stays accurate for tiny x.

    As `exp`, but the error is below 4 ulp.
    """
    x = np.asarray(x, dtype=np.float64)
    is_direct = np.abs(x) < _MAX_TAYLOR
    return np.where(is_direct, _taylor(np.where(is_direct, x, 0.0)), exp(x) - 1.0)


def _taylor(x: Floats) -> Floats:
    """Compute ``exp(x) - 1`` of small numbers."""
    value = np.zeros_like(x)
    for degree in range(_EXP_DEGREE, 0, -1):
        value = (1.0 + value) * x / degree
    return value


def _reduce(fraction: Floats, exponent: Array) -> tuple[Floats, Floats]:
    """Bring ``fraction * 2**exponent`` to ``(1 + f) * 2**k`` within [sqrt(1/2), sqrt(2)]."""
    is_low = fraction < _ROOT_HALF
    return np.where(is_low, 2.0 * fraction, fraction) - 1.0, (exponent - is_low).astype(np.float64)


def _reduce_normal(x: Floats, f: Floats, k: Floats, scratch: Floats) -> None:
    """Reduce normal numbers as `_reduce` does, but through their bits, in half the time."""
    bits, exponent = x.view(np.int64), scratch.view(np.int64)
    np.subtract(bits, _ROOT_HALF_BITS, out=exponent)
    exponent >>= _MANTISSA_BITS
    k[...] = exponent
    exponent <<= _MANTISSA_BITS
    np.subtract(bits, exponent, out=f.view(np.int64))
    f -= 1.0


def _combine(f: Floats, k: Floats, lost: Floats | None, scratch: Floats, total: Floats) -> None:
    """Write ``log(1 + f) + k log(2) + lost`` into `total`, small terms first.

    Every step works in place, because each temporary would have to be allocated.
    """
    half_square, s, z, w, even = scratch
    np.multiply(f, 0.5, out=half_square)
    half_square *= f
    np.add(f, 2.0, out=s)
    np.divide(f, s, out=s)
    np.multiply(s, s, out=z)
    np.multiply(z, z, out=w)
    np.multiply(w, _EVEN[2], out=even)
    even += _EVEN[1]
    even *= w
    even += _EVEN[0]
    even *= w
    np.multiply(w, _ODD[3], out=total)
    total += _ODD[2]
    total *= w
    total += _ODD[1]
    total *= w
    total += _ODD[0]
    total *= z
    total += even
    total += half_square
    total *= s
    rest = np.multiply(k, _LN2_LOW, out=even)
    if lost is not None:
        rest += lost
    total += rest
    total -= half_square
    total += f
    total += np.multiply(k, _LN2_HIGH, out=even)
