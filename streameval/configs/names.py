"""Names: lists of them, suggestions for misspelt ones, and what other libraries call ours.

The names that others give to metrics stand beside ours, in the tables of metrics and measures.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast, get_type_hints

from streameval.errors import InvalidInputError

# How many names a message lists.
_LISTED = 20


def nearest(name: str, known: Iterable[str], meant: Iterable[str] = ()) -> str:
    """Suggest the nearest known name, as the end of a sentence, and list them all.

    >>> nearest("y_tru", ["y_true", "y_pred"])
    "did you mean 'y_true'? Choose from y_true, y_pred."

    Parameters
    ----------
    name : str
        A name that is not known.
    known : iterable of str
        All known names.
    meant : iterable of str
        What the user probably meant; by default, the most similar known name.
    """
    names = list(dict.fromkeys(known))
    close = list(meant) or closest(name, names)
    listing = listed(names)
    if not close:
        return listing[0].lower() + listing[1:]
    return f"did you mean {' or '.join(map(repr, close))}? {listing}"


def closest(name: str, names: Iterable[str]) -> list[str]:
    """Return the most similar name, whatever its case, if one is similar.

    >>> closest("ngcd", ["map", "ndcg"]), closest("Map", ["map", "ndcg"])
    (['ndcg'], ['map'])
    """
    import difflib  # noqa: PLC0415 (for messages alone)

    every = list(names)
    if swapped := [text for text in every if sorted(text) == sorted(name)]:
        return swapped[:1]
    folded = {text.casefold(): text for text in reversed(every)}
    return difflib.get_close_matches(name, every, n=1) or [
        folded[text] for text in difflib.get_close_matches(name.casefold(), folded, n=1)
    ]


def listed(names: Sequence[str]) -> str:
    """List the first names in a sentence; they come from files, with anything in them."""
    printable = [text if _is_printable(text) else repr(text) for text in names[:_LISTED]]
    return f"Choose from {', '.join(printable)}{', ...' if len(names) > _LISTED else '.'}"


def as_names(value: Any, *, name: str) -> tuple[Any, ...]:
    """Accept a sequence of names for the argument `name`; a single one may stand alone."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (bytes, set, frozenset, Mapping)) or not isinstance(value, Iterable):
        raise InvalidInputError(
            f"must be a sequence of names, whose order counts, got {type(value).__name__}",
            argument=name,
        )
    return tuple(value)


def chosen_names(value: Any, known: Mapping[str, Sequence[str]], *, name: str) -> tuple[str, ...]:
    """Accept some of the known names, or of the metrics that each of them is kept for.

    Each is given once; they are listed in the order of the known ones.
    """
    asked = as_names(value, name=name)
    for one in asked:
        if not any(one == kept or one in metrics for kept, metrics in known.items()):
            raise unknown_name(one, known, name=name)
    check_distinct(asked, name=name)
    return tuple(kept for kept, metrics in known.items() if {kept, *metrics}.intersection(asked))


def unknown_name(
    given: Any, known: Iterable[str], *, name: str, remedy: str = ""
) -> InvalidInputError:
    """Return the error for an unknown name, or for a value that is not a name."""
    if not isinstance(given, str):
        return InvalidInputError(f"must hold names, got {given!r}", argument=name)
    hint = nearest(given, known).removesuffix(".")
    return InvalidInputError(f"has no {given!r}: {hint}", argument=name, remedy=remedy)


def check_distinct(values: Sequence[Hashable], *, name: str) -> None:
    """Raise InvalidInputError if a value occurs twice."""
    seen: set[Hashable] = set()
    for value in values:
        if value in seen:
            raise InvalidInputError(f"must be distinct, got {value!r} twice", argument=name)
        seen.add(value)


def number_text(value: float) -> str:
    """Write a number in a name: 2 for 2.0."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def read_number(text: str) -> float | None:
    """Read a finite number; None if the text is not one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_printable(name: str) -> bool:
    """Return whether a list can show a name without quotes."""
    return name.isprintable() and name.strip() == name != ""


FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_SAME = {
    "classes": "num_classes n_classes num_labels n_labels class_names target_names id2label labels "
    "classes label_names output_dim",
    "outputs": "num_outputs n_outputs output_names",
    "ignore_label": "ignore_index ignore_class ignore_value",
    "pos_label": "positive_label pos_class positive_class class_id",
    "top_k": "k topk num_top",
    "bins": "n_bins num_bins n_bin",
    "nan": "nan_strategy nan_policy",
    "empty": "empty_target_action empty_target zero_score_action",
    "measures": "metrics measure measure_names",
    "relevance_level": "rel_lvl min_rel relevance_threshold",
    "budget": "thresholds num_thresholds n_thresholds max_bins",
    "by": "cluster clusters",
    "column": "by groupby",
    "columns": "value values",
    "group": "indexes query query_id group_id",
    "sample_weight": "weight weights sample_weights",
    "matrix": "confusion_matrix confmat",
    "report": "classification_report",
}
"""Our name of an argument or attribute, and the same one elsewhere."""

_READ = "choose it when you read a metric, as in"
_ADVICE = {
    "average": f"{_READ} compute().recall('macro')",
    "averaging": f"{_READ} compute().recall('macro')",
    "multi_class": "read compute().roc_auc, each class against the rest, or make the accumulator "
    "with measures=['one_vs_one']",
    "multioutput": f"{_READ} compute().rmse('raw_values')",
    "zero_division": f"{_READ} compute().precision(zero_division=1.0)",
    "beta": f"{_READ} compute().f_score(2.0)",
    "squared": "read compute().mse or compute().rmse",
    "normalize": "read compute().normalized_matrix('true'), or a count and `n`",
    "max_fpr": f"{_READ} compute().partial_roc_auc(0.1)",
    "task": "the class says the task: ConfusionAccumulator for labels, PRCurveSketch for scores, "
    "RegressionAccumulator for numbers, RankingAccumulator for rankings",
    "threshold": "read compute().confusion_at(0.5) of a curve",
    "thresholds": "read compute().at([0.25, 0.5]) of a curve",
    "from_logits": "pass scores='real', or probabilities",
    "top_k": "write it in the name of a measure, as in 'ndcg@10'",
    "aggregation": "write it in the name of a measure, as in 'map[median]'",
    "sample_weight": "pass it to update()",
    **dict.fromkeys(
        ("dist_sync_on_step", "sync_on_compute", "process_group", "dist_sync_fn", "device"),
        "states of workers merge with merge() or +",
    ),
    "validate_args": "every batch is checked",
    "compute_on_cpu": "states are on the host",
}
"""What to do about arguments that have another form here."""

_OURS = {other: name for name, others in _SAME.items() for other in others.split()}


def our_name(name: str) -> str:
    """Return our name of an argument of another library; the name itself if there is none."""
    word = name.casefold().replace("-", "_")
    return _OURS.get(word, word)


def advice(name: str, known: Iterable[str]) -> str:
    """Say what an unknown argument is called here, as the end of a sentence.

    >>> advice("num_classes", ["classes", "top_k"])
    "did you mean 'classes'?"
    >>> advice("squared", ["measures"])
    'read compute().mse or compute().rmse.'
    """
    names, ours = list(known), our_name(name)
    same = [one for one in names if one != name and (one == ours or our_name(one) == ours)]
    if same:
        return f"did you mean {same[0]!r}?"
    said = _ADVICE.get(name) or _ADVICE.get(ours)
    return f"{said}." if said else nearest(name, names)


def unknown_arguments(function: Any, given: Iterable[str]) -> str:
    """Say what arguments that a function does not take are called here; "" if it takes all."""
    parameters = inspect.signature(function).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return ""
    known = [name for name in parameters if name != "self"]
    unknown = [name for name in given if name not in known]
    return " ".join(f"no argument {name!r}: {advice(name, known)}" for name in unknown)


def with_advice(function: FunctionT, name: str) -> FunctionT:
    """Make the TypeError about an unknown argument say what it is called here."""

    @functools.wraps(function)
    def advised(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError:
            said = unknown_arguments(function, options)
            if said:
                raise TypeError(f"{name} has {said}") from None
            raise

    return cast("FunctionT", advised)


def spelled_out(options: type) -> Callable[[FunctionT], FunctionT]:
    """Let a function that takes the keys of a `TypedDict` say so in its signature and errors."""

    def decorate(function: FunctionT) -> FunctionT:
        signature, make = inspect.signature(function), inspect.Parameter
        *parameters, _ = signature.parameters.values()
        for name, kind in get_type_hints(options).items():
            parameters.append(make(name, make.KEYWORD_ONLY, default=None, annotation=kind))
        vars(function)["__signature__"] = signature.replace(parameters=parameters)
        return with_advice(function, function.__qualname__.removesuffix(".__init__"))

    return decorate
