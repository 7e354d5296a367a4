"""The only entry point for inputs: anything array-like becomes a checked NumPy array.

No framework is imported here; the module of its type identifies a foreign array.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Array, Floats, Ints, Mask
from streameval.exact.fixed_point import SMALLEST_ROUNDED, FixedPoint
from streameval.inputs.coded import CodedTexts

if TYPE_CHECKING:
    from decimal import Decimal


_NUMERIC_KINDS = "biuf"
LARGEST_NUMBER = 2.0**400
_PERCENT = 100.0
_OF_PERCENTAGES = " If they are percentages, divide them by 100."
_WITHIN = "must hold labels within 64 bits"
SCORE_BITS = {
    np.dtype(f"f{size}"): (np.dtype(f"u{size}"), np.ones(1, f"f{size}").view(f"u{size}").item())
    for size in (2, 4, 8)
}
"""The type that shows the bits of floats, and the bits of 1.0."""
IDS = frozenset({"group", "query", "doc", "item"})
"""The arguments that `as_ids` reads."""
_LENDERS = ("__array__", "__arrow_c_stream__", "__arrow_c_array__", "__dlpack__")
_MACHINE_FLOATS = ("bfloat16", "float8")  # ml_dtypes, as JAX and TensorFlow hand them over


def as_array(value: Any, *, name: str, allow_missing: bool = False) -> Array:
    """Convert to an array of bool, int, uint or float, or to an object array of strings.

    Takes what `numpy.asarray` takes, torch and CuPy tensors on any device, JAX arrays,
    pandas, polars and pyarrow columns, objects that lend an array by Arrow's C interface or
    DLPack, and sequences of any of these. An empty array of any type
    becomes an empty array of floats, as an empty list does. Missing numbers become NaN where
    they are allowed.

    Raises
    ------
    InvalidInputError
        When the value is not an array, mixes types, has missing values, or holds anything other
        than numbers and strings.
    """
    if type(value) is CodedTexts and None not in value.texts:
        return np.asarray(value)
    array = value if type(value) is np.ndarray else _to_numpy(value, name, allow_missing)
    kind = array.dtype.kind
    if kind in _NUMERIC_KINDS:
        return array
    if not array.size:
        return np.zeros(array.shape)
    if kind == "U":
        return array.astype(object)
    if kind in "OT":  # NumPy's variable strings may hold missing values
        return _unify_objects(array.astype(object, copy=False), name, allow_missing)
    if array.dtype.name.startswith(_MACHINE_FLOATS):
        return array.astype(np.float32)
    raise InvalidInputError(f"must hold numbers or strings, got dtype {array.dtype}", argument=name)


def to_host(value: Any, *, name: str) -> Any:
    """Copy a tensor to host memory, and convert objects of other libraries, for all readers."""
    if value is None or type(value) is np.ndarray:
        return value
    value = converted(value, name=name)
    return value if _framework(value) is None else as_array(value, name=name)


def as_labels(value: Any, *, name: str) -> Array:
    """Convert to an int64 array of labels, or to an object array of strings.

    Integral floats are labels too; 0.5 is not, and neither is NaN.
    """
    value = converted(value, name=name)
    array = as_array(value, name=name)
    kind = array.dtype.kind
    if kind in "bi":
        return array.astype(np.int64, copy=False)
    if kind == "u":
        refuse_first(array > np.uint64(2**63 - 1), array, name, "must hold labels below 2**63")
        return array.astype(np.int64)
    if kind == "f":
        return _integral(array, value, name)
    return array


def as_labels_or_scores(value: Any, *, name: str) -> Array:
    """Convert as `as_array` does, but refuse integers that do not fit into 64 bits.

    Integers are labels. Beyond 64 bits they would become floats, and be read as scores.
    """
    value = converted(value, name=name)
    array = as_array(value, name=name)
    exact = _rounded_integers(value, array, name)
    if exact is not None:
        refuse_first(np.abs(array) >= 2.0**63, exact, name, _WITHIN)
    return array


def as_ids(value: Any, *, name: str) -> Array:
    """Convert as `as_labels` does; if an integer is past 64 bits, all are texts, as in files."""
    value = converted(value, name=name)
    array = as_array(value, name=name)
    exact = array if passes_int64(array) else _rounded_integers(value, array, name)
    if exact is not None:
        return _objects(map(str, exact.ravel().tolist()), exact.size).reshape(array.shape)
    return as_labels(value if array.dtype.kind == "f" else array, name=name)


def check_id_type(*, were_texts: bool, are_texts: bool, name: str) -> None:
    """Refuse ids of another type than those before."""
    if were_texts and not are_texts:
        raise InvalidInputError("must hold strings as before, got numbers", argument=name)
    if are_texts and not were_texts:
        raise InvalidInputError(
            "must hold numbers as before, got strings (integers past 64 bits are read as strings)",
            argument=name,
        )


def passes_int64(array: Array) -> bool:
    """Tell whether an array of unsigned integers holds one of 2**63 or more."""
    return array.dtype == np.uint64 and bool(array.size) and array.item(array.argmax()) >= 2**63


_OF_DOCUMENTS = "Pad them and pass `mask`, or pass a row for each document and its `query`."
_UNEVEN = {
    "relevance": _OF_DOCUMENTS,
    "score": _OF_DOCUMENTS,
    "item": "Pass a row for each item and its `rank`.",
}
"""How lists of several lengths are passed, by argument."""
_LEAVES_OUT = (Named("nan", '"skip"'), " leaves it out.")


def as_scores(value: Any, *, name: str, nan: str = "") -> Floats:
    """Convert to float64 scores; infinities pass.

    NaN passes too unless the option `nan` is "raise", whose error names it, or there is none.
    """
    return as_comparable(value, name=name, nan=nan).astype(np.float64, copy=False)


def as_comparable(value: Any, *, name: str, nan: str = "") -> npt.NDArray[np.float32 | np.float64]:
    """Convert to scores that are compared with each other: keep float32, else use float64."""
    allow_nan = nan not in ("", "raise")
    array = as_array(value, name=name, allow_missing=allow_nan)
    if array.dtype.kind == "O":
        raise InvalidInputError("must hold scores, got strings", argument=name)
    scores = array if array.dtype == np.float32 else _widen(array)
    if scores.size and not allow_nan and np.isnan(scores.min()):
        where = np.isnan(scores)
        raise InvalidInputError(
            "must not hold NaN, got NaN",
            argument=name,
            position=first_index(where),
            remedy=_LEAVES_OUT if nan else (),
        )
    return scores


def as_values(value: Any, *, name: str, nan: str) -> Floats:
    """Convert to such numbers as `as_numbers` does, and to NaN if `nan` is "skip"."""
    try:
        return as_numbers(value, name=name, allow_nan=nan == "skip")
    except InvalidInputError:
        if nan != "skip":
            gaps = np.isnan(as_numbers(value, name=name, allow_nan=True))
            refuse_first(
                gaps, np.where(gaps, np.nan, 0), name, "must not hold NaN", remedy=_LEAVES_OUT
            )
        raise


def as_numbers(value: Any, *, name: str, allow_nan: bool = False) -> Floats:
    """Convert to float64 numbers whose squares and weighted sums stay finite; NaN if allowed."""
    array = as_array(value, name=name, allow_missing=allow_nan)
    if array.dtype.kind == "O":
        raise InvalidInputError("must hold numbers, got strings", argument=name)
    numbers = _widen(array)
    if numbers.size and not _are_within(numbers, LARGEST_NUMBER):
        allowed = np.abs(numbers) <= LARGEST_NUMBER  # False for NaN
        if allow_nan:
            allowed |= np.isnan(numbers)
        refuse_first(~allowed, array, name, "must be finite and at most 2**400 in magnitude")
    return numbers


def _are_within(numbers: Floats, largest: float) -> bool:
    """Tell whether a nonempty array stays within a limit in magnitude; False if it holds NaN."""
    ends = numbers.item(numbers.argmin()), numbers.item(numbers.argmax())
    return -largest <= ends[0] and ends[1] <= largest


def as_weights(value: Any, *, rows: int, name: str = "sample_weight") -> FixedPoint | None:
    """Convert to one non-negative fixed-point weight per row, or None if there are no weights."""
    weights = read_weights(value, rows=rows, name=name)
    return None if weights is None else FixedPoint.of_numbers(weights, name=name)


def read_weights(value: Any, *, rows: int, name: str = "sample_weight") -> Floats | Ints | None:
    """Check one weight per row that `FixedPoint.of_numbers` takes, or None if there are no weights.

    For the usual weights, which are 0 or at least 2**-20, the min and max are enough: on 32 rows
    that takes a quarter of the time of all checks. Such weights are not copied.
    """
    if value is None:
        return None
    array = as_array(value, name=name)
    if not rows and are_empty(array):
        return None
    if array.dtype.kind != "O":
        check_vector(array, rows=rows, name=name)
    return _checked_weights(array, name)


def read_entry_weights(value: Any, *, rows: int, columns: int) -> Floats | Ints | None:
    """Check one weight per entry of a matrix; None unless the weights have two dimensions."""
    if value is None:
        return None
    array = as_array(value, name="sample_weight")
    if array.ndim != 2 or not array.size:
        return None
    check_matrix(array, rows=rows, columns=columns, name="sample_weight")
    return _checked_weights(array, "sample_weight")


def _checked_weights(array: Array, name: str) -> Floats | Ints:
    if array.dtype.kind == "O":
        raise InvalidInputError("must hold numbers, got strings", argument=name)
    if array.dtype.kind != "f":
        refuse_first(array < 0, array, name, "must not be negative")
        return FixedPoint.of_integers(
            array.astype(np.uint8) if array.dtype == bool else array, name=name
        ).whole
    weights = _widen(array)
    if not _are_kept_exactly(weights):
        refuse_first(~np.isfinite(weights), weights, name, "must be finite")
        refuse_first(weights < 0, weights, name, "must not be negative")
        FixedPoint.of_floats(weights, name=name)
    return weights


def labelled_matrix(value: Any, *, name: str) -> tuple[Any, Array]:
    """Check a square matrix of weights; also return the labels of a data frame, or their number.

    Raises
    ------
    InvalidInputError
        If it is not square, or the rows and columns of a data frame differ in labels; or if a
        weight is not a finite number of at least 0.
    """
    labels: Any = None
    if hasattr(value, "index") and hasattr(value, "columns"):  # a data frame of pandas
        labels, columns = list(value.index), list(value.columns)
        if list(map(repr, labels)) != list(map(repr, columns)):
            rule = "must have the same labels in the same order for rows and columns"
            raise InvalidInputError(f"{rule}, got {labels} and {columns}", argument=name)
        value = value.to_numpy()
    array = as_array(value, name=name)
    if array.dtype.kind not in "biuf":
        raise InvalidInputError("must hold numbers, got strings", argument=name)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < 2:
        rule = f"must have shape (K, K) for at least two classes, got {array.shape}"
        raise InvalidInputError(rule, argument=name)
    refuse_first(~np.isfinite(array), array, name, "must be finite")
    refuse_first(array < 0, array, name, "must not be negative")
    is_numbered = labels is None or labels == list(range(len(array)))
    return len(array) if is_numbered else labels, array


def are_empty(*arrays: Array) -> bool:
    """Tell whether none of the arrays has any rows, whatever their shapes."""
    return all(array.size == 0 and array.ndim > 0 and not len(array) for array in arrays)


def lack_rows(*arrays: Array, sample_weight: Any) -> bool:
    """Tell whether none of the arrays has any rows; then there must be no weight either."""
    if not are_empty(*arrays):
        return False
    read_weights(sample_weight, rows=0)
    return True


def have_rows(
    vectors: Mapping[str, Array], sample_weight: Any, *, remedy: tuple[object, ...] = ()
) -> bool:
    """Check that arrays are vectors of one length; False if they and the weights are empty."""
    first, *others = vectors.values()
    if lack_rows(first, *others, sample_weight=sample_weight):
        return False
    for name, array in vectors.items():
        rows = None if array is first else len(first)
        check_vector(array, rows=rows, name=name, remedy=remedy)
    return True


def as_vector(array: Array) -> Array:
    """Reshape an array of shape ``(n, 1)``, as Keras returns, to ``(n,)``."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def check_vector(
    array: Array, *, rows: int | None, name: str, remedy: str | tuple[object, ...] = ()
) -> None:
    """Refuse an array that is not one-dimensional or does not have `rows` rows."""
    if array.ndim != 1:
        raise InvalidInputError(
            f"must have shape (n,), got {shape_text(array)}",
            argument=name,
            remedy=remedy if array.ndim else "reshape(-1) makes one value a vector.",
        )
    if rows is not None and len(array) != rows:
        raise InvalidInputError(f"must have {rows} rows, got {len(array)}", argument=name)


def check_matrix(
    array: Array, *, rows: int | None, columns: int, name: str, option: str = ""
) -> None:
    """Refuse an array whose shape is not ``(rows, columns)``; an option says how many columns."""
    if array.ndim != 2 or array.shape[1] != columns:
        takes_others = option and array.ndim == 2 and array.shape[1] > 1
        raise InvalidInputError(
            f"must have shape (n, {columns}), got {shape_text(array)}",
            argument=name,
            remedy=("Pass ", Named(option, f"{array.shape[1]}"), f" for {array.shape[1]} columns.")
            if takes_others
            else (),
        )
    if rows is not None and len(array) != rows:
        raise InvalidInputError(f"must have {rows} rows, got {len(array)}", argument=name)


def check_shape_of(array: Array, shape: tuple[int, ...], other: str, *, name: str) -> None:
    """Refuse an array that does not have the shape of another one."""
    if array.shape != shape:
        raise InvalidInputError(
            "must have the shape of ",
            Named(other),
            f", {shape}, got {shape_text(array)}",
            argument=name,
        )


def are_probabilities(scores: npt.NDArray[np.floating[Any]]) -> bool:
    """Tell whether one or more native floats lie in [0, 1]; False if any is -0.0.

    As unsigned integers, the bits of non-negative floats are in the order of the floats; those of
    -0.0, negative numbers and NaN are greater. So one pass is enough. Finding the position of the
    max takes a quarter of the time of computing the max.
    """
    view, one = SCORE_BITS[scores.dtype]
    bits = scores.view(view)
    return bool(bits.item(bits.argmax()) <= one)


def check_probabilities(
    scores: npt.NDArray[np.floating[Any]], *, name: str, remedy: str | tuple[object, ...]
) -> None:
    """Refuse scores outside [0, 1]; NaN passes."""
    if not scores.size or are_probabilities(scores):
        return
    if not ((scores < 0.0) | (scores > _PERCENT)).any():
        remedy = (*((remedy,) if isinstance(remedy, str) else remedy), _OF_PERCENTAGES)
    outside = (scores < 0.0) | (scores > 1.0)
    refuse_first(outside, scores, name, "must lie in [0, 1]", remedy=remedy)


def refuse_first(
    bad: Mask, array: Array, name: str, *rule: object, remedy: str | tuple[object, ...] = ()
) -> None:
    """Refuse an array with items that break a rule; the message shows the first one."""
    if bad.any():
        item = array.ravel()[int(bad.argmax())]
        shown = item.item() if isinstance(item, np.generic) else item
        position = first_index(bad) if bad.ndim else None
        raise InvalidInputError(
            *rule, f", got {shown!r}", argument=name, position=position, remedy=remedy
        )


def first_index(mask: Mask) -> int | tuple[int, ...]:
    """Find where a mask is first true: 3, or (3, 1) in a matrix."""
    index = tuple(map(int, np.unravel_index(int(mask.argmax()), mask.shape)))
    return index[0] if len(index) == 1 else index


def shape_text(array: Array) -> str:
    """Describe the shape of an array, or say that it is a scalar."""
    return str(array.shape) if array.ndim else "a scalar"


def _to_numpy(value: Any, name: str, allow_missing: bool) -> Array:
    value = converted(value, name=name)
    framework = _framework(value)
    if framework == "torch":
        return _from_torch(value, name)
    if framework == "cupy":
        return np.asarray(value.get())
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.getmaskarray(value).any():
            raise InvalidInputError("must not hold masked items", argument=name)
        return np.asarray(value.data)
    if isinstance(value, (list, tuple)) and len(value):
        return _from_sequence(value, name, allow_missing)
    array = _from_any(value, name)
    if array.ndim == 0 and array.dtype.kind == "O" and not _is_number(array.item()):
        raise InvalidInputError(f"must be an array, got {type(value).__name__}", argument=name)
    return array


def _from_sequence(values: list[Any] | tuple[Any, ...], name: str, allow_missing: bool) -> Array:
    if isinstance(_innermost(values), str):
        return _objects(values)
    if _is_array(values[0]):
        items = [as_array(item, name=name, allow_missing=allow_missing) for item in values]
        return _stack(items, name, allow_missing)
    array = _from_any(values, name)
    # [1, "a"] became ["1", "a"]: look at the items themselves
    return _objects(values) if array.dtype.kind == "U" else array


def _innermost(values: Any) -> Any:
    """Find the first item of the first row, however deep the rows are nested."""
    while isinstance(values, (list, tuple)) and len(values):
        values = values[0]
    return values


def _from_any(value: Any, name: str) -> Array:
    try:
        root = _root_of(value)
        if root == "polars" and hasattr(value, "to_numpy"):
            # its __array__ makes all strings as wide as the longest, and drops trailing NULs
            return np.asarray(value.to_numpy())
        if root == "pyarrow" and hasattr(getattr(value, "type", None), "index_type"):
            # its __array__ makes the last item of a dictionary of a null
            value = value.cast(value.type.value_type) if value.null_count else value
        return np.asarray(value)
    except Exception as error:
        if "Tracer" in type(error).__name__:
            raise InvalidInputError(
                "is a traced JAX array",
                argument=name,
                remedy="Call update outside jit, or by jax.debug.callback.",
            ) from error
        if "inhomogeneous" in str(error):
            raise _uneven(name) from error
        raise InvalidInputError(f"must be an array: {_one_line(error)}", argument=name) from error


def _uneven(name: str) -> InvalidInputError:
    remedy = _UNEVEN.get(name, "")
    return InvalidInputError("must have rows of one length", argument=name, remedy=remedy)


def _framework(value: Any) -> str | None:
    """Tell which framework's array this is, subclasses included."""
    root = _root_of(value)
    return root if root in ("torch", "cupy") else None


def _root_of(value: Any) -> str | None:
    cls: Any = type(value)  # the hash of a type, whatever its metaclass defines
    return _root_of_class(cls)


_ROOTS = ("torch", "cupy", "polars", "pyarrow")


@functools.lru_cache(maxsize=256)  # a microsecond a tensor otherwise
def _root_of_class(cls: type) -> str | None:
    """Name the package that defines a class, if arrays of that package need their own reader."""
    roots = (base.__module__.partition(".")[0] for base in cls.__mro__)
    return next((root for root in roots if root in _ROOTS), None)


def _is_array(item: Any) -> bool:
    """Tell arrays from scalars and sequences, which NumPy reads correctly without help."""
    return _framework(item) is not None or (
        any(hasattr(item, name) for name in _LENDERS) and not isinstance(item, np.generic)
    )


def _from_torch(tensor: Any, name: str) -> Array:
    try:
        detached = tensor.detach()
        if str(detached.dtype).removeprefix("torch.").startswith(_MACHINE_FLOATS):
            detached = detached.float()
        return np.asarray(detached.numpy(force=True))
    except (AttributeError, RuntimeError, TypeError) as error:
        raise InvalidInputError(
            f"must be a dense tensor of numbers: {_one_line(error)}", argument=name
        ) from error


def _objects(values: Any, size: int | None = None) -> npt.NDArray[np.object_]:
    """Keep items as objects; each item of an array of str would be as wide as the longest."""
    return np.fromiter(values, dtype=object, count=len(values) if size is None else size)


def _unify_objects(array: npt.NDArray[np.object_], name: str, allow_missing: bool) -> Array:
    """Find the one type that all items share."""
    items: list[Any] = array.ravel().tolist()
    if set(map(type, items)) <= {str}:
        return array
    missing = np.fromiter(map(is_missing, items), dtype=bool, count=len(items))
    if allow_missing:
        items = [math.nan if gap else item for item, gap in zip(items, missing, strict=True)]
    else:
        refuse_first(missing.reshape(array.shape), array, name, "must not hold missing values")
    categories = {_item_category(item) for item in items}
    if categories == {"string"}:  # subclasses of str: NumPy's, and members of an Enum
        return _objects([str.__str__(item) for item in items]).reshape(array.shape)
    if categories <= {"integer", "real"}:
        return _numbers(items, name).reshape(array.shape)
    if categories == {"sequence"} and array.ndim == 1:
        return _stack(items, name, allow_missing)
    found = " and ".join(sorted({type(item).__name__ for item in items}))
    raise InvalidInputError(
        f"must hold numbers or strings, one of the two, got {found}", argument=name
    )


def _numbers(items: list[Any], name: str) -> Ints | Floats:
    """Convert numbers of several types to int64 if they all fit, else to float64."""
    if all(_item_category(item) == "integer" for item in items):
        integers = [int(item) for item in items]
        if all(-(2**63) <= integer < 2**63 for integer in integers):
            return np.array(integers, dtype=np.int64)
    try:
        return np.array([float(item) for item in items])
    except OverflowError as error:
        raise InvalidInputError(
            f"must hold numbers within the range of float64: {_one_line(error)}", argument=name
        ) from error


def _item_category(item: Any) -> str:
    if isinstance(item, str):
        return "string"
    if isinstance(item, (numbers.Integral, np.bool_)):
        return "integer"
    if isinstance(item, (numbers.Real, _decimal())):
        return "real"
    if isinstance(item, (list, tuple, np.ndarray)):
        return "sequence"
    return "other"


def _is_number(item: Any) -> bool:
    return _item_category(item) in ("integer", "real")


def is_missing(item: Any) -> bool:
    """Tell whether an item is None, NaN, NA or NaT."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(item, _decimal()):
        return item.is_nan()
    return isinstance(item, (float, np.floating)) and math.isnan(item)


@functools.cache
def _decimal() -> type[Decimal]:
    """Import the type of decimals when the first objects come."""
    from decimal import Decimal  # noqa: PLC0415

    return Decimal


def _stack(rows: list[Any], name: str, allow_missing: bool) -> Array:
    """Make one array of rows, which must all have the same length and type."""
    if len({np.shape(row)[:1] for row in rows}) > 1:
        raise _uneven(name)
    if all(isinstance(row, np.ndarray) and row.dtype.kind in _NUMERIC_KINDS for row in rows):
        return np.stack(rows)
    cells = [cell for row in rows for cell in row]
    return _unify_objects(_objects(cells).reshape(len(rows), -1), name, allow_missing)


def _widen(array: Array) -> Floats:
    """Convert to float64; a longdouble beyond it becomes infinite."""
    with np.errstate(over="ignore"):
        return array.astype(np.float64, copy=False)


def _are_kept_exactly(weights: Floats) -> bool:
    """Tell whether a nonempty array of weights is kept exactly; False if it holds NaN."""
    smallest, largest = weights.item(weights.argmin()), weights.item(weights.argmax())
    if not 0.0 <= smallest <= largest < 2.0**63:
        return False
    return smallest >= SMALLEST_ROUNDED or not weights[weights < SMALLEST_ROUNDED].any()


def _integral(array: Array, given: Any, name: str) -> Ints:
    if array.dtype.itemsize < 8:
        array = array.astype(np.float64)  # float16 cannot be compared with 2**63
    refuse_first(~np.isfinite(array), array, name, "must hold labels")
    remedy = ("The true labels are the first argument.",) if name == "y_true" else ()
    refuse_first(
        array != np.trunc(array), array, name, "must hold labels, whole if numbers", remedy=remedy
    )
    past = np.abs(array) >= 2.0**63
    if past.any():
        refuse_first(past, _exact(given, array, name), name, _WITHIN)
    return array.astype(np.int64)


def _exact(given: Any, array: Array, name: str) -> Array:
    """Find the integers that were rounded when they were converted to floats."""
    listed = isinstance(given, (list, tuple))
    items = given if listed else _to_numpy(given, name, allow_missing=False).ravel().tolist()
    flat = list(_flattened(items))
    pairs = zip(flat, array.ravel().tolist(), strict=False)
    kept = [item if type(item) is int else rounded for item, rounded in pairs]
    return _objects(kept) if len(kept) == len(flat) == array.size else array


def _rounded_integers(given: Any, array: Array, name: str) -> Array | None:
    """Find what was given, if it is integers and one is past 64 bits: they have become floats."""
    if array.dtype != np.float64 or array is given or not (np.abs(array) >= 2.0**63).any():
        return None
    exact = _exact(given, array, name)
    return exact if set(map(type, exact.tolist())) == {int} else None


def _flattened(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from _flattened(item)
        else:
            yield item


def _one_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0].rstrip(".")


def converted(value: Any, *, name: str) -> Any:
    """Turn an object of another library into an array or a table; return others unchanged.

    A stream that can be read once is read to its end, so that a batch is counted whole or not at
    all. Arrays that NumPy can convert, and tables of pandas, polars and pyarrow, are unchanged.

    Parameters
    ----------
    value : object
        An object with ``__arrow_c_stream__`` or ``__arrow_c_array__``, which pyarrow reads; with
        ``__dlpack__``, which NumPy reads; or a ``polars.LazyFrame``, which is collected.
    name : str
        The name of the argument.

    Raises
    ------
    InvalidInputError
        If it cannot be read, or pyarrow is needed and not installed.
    """
    cls: Any = type(value)  # the hash of a type, whatever its metaclass defines
    read = _reader_of(cls)
    if read is None:
        return value
    try:
        return read(value)
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"is an Arrow object ({cls.__name__}), which pyarrow reads",
            argument=name,
            remedy="Install pyarrow.",
        ) from error
    except Exception as error:
        raise InvalidInputError(
            f"cannot be read from {cls.__name__}: {_one_line(error)}", argument=name
        ) from error


@functools.lru_cache(maxsize=256)
def _reader_of(cls: type) -> Callable[[Any], Any] | None:
    """Choose how to read objects of a class; None if they stay unchanged."""
    if hasattr(cls, "__array__"):
        return None
    if hasattr(cls, "__arrow_c_stream__"):
        return _from_stream
    if hasattr(cls, "__arrow_c_array__"):
        return _from_arrow
    if hasattr(cls, "__dlpack__"):
        return _from_dlpack
    is_lazy = cls.__module__.partition(".")[0] == "polars" and hasattr(cls, "collect")
    return methodcaller("collect") if is_lazy else None


def _from_stream(value: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415 (only for objects that need it)

    return _unwrapped(pa.chunked_array(value))


def _from_arrow(value: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415 (only for objects that need it)

    return _unwrapped(pa.chunked_array([pa.array(value)]))


def _unwrapped(column: Any) -> Any:
    """Make a table of a column of structures, which is how Arrow exports batches."""
    import pyarrow as pa  # noqa: PLC0415 (only for objects that need it)

    return pa.Table.from_struct_array(column) if pa.types.is_struct(column.type) else column


def _from_dlpack(value: Any) -> Any:
    """Read an array, copied from its device by its own library if that can."""
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError):
        return np.from_dlpack(value, device="cpu")
