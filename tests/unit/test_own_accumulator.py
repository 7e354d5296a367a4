"""Classes of your own: what defines them, their bytes, and where they go."""

from __future__ import annotations

import copy
import functools
import importlib.util
import json
import operator
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import types
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest
from small_states import canonical, narrowed, parse, parse_words, seal, seal_words
from win_rate import Labels, Outcomes, WinRate

import streameval as se
from streameval.accumulators import definition
from streameval.cli.app import main
from streameval.states import Column, ExactSum, FixedPoint, State

pytestmark = pytest.mark.usefixtures("own_registry")

TESTS = str(Path(__file__).parents[1])
WEEK = ["a", "a", "tie", "b", "a"]


def week() -> WinRate:
    return WinRate().update(WEEK, sample_weight=[1, 1, 0.5, 2, 1])


@attrs.frozen
class Rows(State):
    """The least that a state can be."""

    @classmethod
    def zero(cls, config: Any) -> Rows:
        return cls(FixedPoint.zeros(()))

    @classmethod
    def of(cls, config: Any, **arrays: Any) -> Rows:
        return cls(FixedPoint(np.array(len(next(iter(arrays.values()))))))

    def __add__(self, other: Rows) -> Rows:
        return Rows(self.n + other.n)


def define(class_name: str = "Own", /, **arguments: Any) -> Any:
    """Define a class."""
    body = {"compute": lambda self: self.n, "__module__": __name__, "__qualname__": class_name}
    arguments = {"type_id": 0x9000, "state": Rows, "arrays": ("x",)} | arguments
    made: Any = types.new_class(
        class_name, (se.Accumulator,), arguments, lambda held: held.update(body)
    )
    return made


@pytest.mark.parametrize(
    "update",
    [
        lambda acc: acc.update(WEEK),
        lambda acc: acc.update(preference=WEEK),
        lambda acc: acc.update(np.array(WEEK)),
        lambda acc: acc.update((WEEK,)),
        lambda acc: acc.update((WEEK, np.ones(5))),
        lambda acc: acc.update({"preference": WEEK, "other": 3}),
        lambda acc: acc.update({"preference": WEEK}, sample_weight=np.ones(5)),
        lambda acc: acc.update(pd.DataFrame({"preference": WEEK})),
        lambda acc: acc.update(pd.Series(WEEK)),
    ],
    ids=[
        "list",
        "keyword",
        "array",
        "tuple",
        "weighted",
        "mapping",
        "keyword-weights",
        "frame",
        "series",
    ],
)
def test_a_batch_may_be_any_that_our_own_classes_take(update: Any) -> None:
    assert update(WinRate()).compute() == {"win_rate": 0.7}


def test_two_arrays_may_be_one_batch() -> None:
    pairs = define(arrays=("x", "y"), optional=())
    for given in [([1, 2], [3, 4]), (([1, 2], [3, 4]),), ({"y": [3, 4], "x": [1, 2]},)]:
        assert pairs().update(*given).n == 2
    with pytest.raises(se.InvalidInputError, match=r"^`y` is missing"):
        pairs().update([1, 2, 3])
    with pytest.raises(TypeError, match="sample_weight"):
        pairs().update([1], [2], sample_weight=[1])


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        ({"choice": WEEK}, r"^`preference` is missing: the batch has the columns choice\.$"),
        ((), r"^`preference` is missing, or the batch must hold preference in this order"),
        ((WEEK, None, None), r"^`preference` is missing, or .* got 3 items\.$"),
        (["a", "c"], r"^`preference` holds 'c', which is no outcome\.$"),
        (None, r"^`preference` must be an array, got NoneType\.$"),
    ],
    ids=["column", "nothing", "too many", "label", "none"],
)
def test_a_refused_batch_is_named_and_leaves_no_trace(batch: Any, says: str) -> None:
    accumulator = week()
    with pytest.raises(se.InvalidInputError, match=says):
        accumulator.update(batch)
    assert accumulator == week()


def test_options_are_keywords_and_shown() -> None:
    accumulator = WinRate(tie="=", b="c")
    assert accumulator.options == {"a": "a", "b": "c", "tie": "="}
    assert repr(accumulator) == "WinRate(b='c', tie='=', n=0)"
    with pytest.raises(TypeError, match="unexpected keyword argument 'ties'"):
        WinRate(ties="=")


def test_every_option_is_shown_when_some_have_no_default() -> None:
    @attrs.frozen
    class Limit:
        limit: int

    limited = define(config=Limit)
    assert repr(limited(limit=3)) == "Own(limit=3, n=0)"
    assert repr(limited(Limit(3)).update([1])) == "Own(limit=3, n=1)"


@pytest.mark.parametrize(
    "value",
    [["a"], {"a": 1}, {1}, float("nan"), np.int64(3), b"a", "\ud83d\ude00"],
    ids=["list", "dict", "set", "nan", "numpy", "bytes", "surrogates"],
)
def test_an_option_that_bytes_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`tie` must be a number, text, True, False"):
        WinRate(tie=value)


@pytest.mark.parametrize("value", [None, True, 3, -0.5, "é", (1, ("a", None))])
def test_an_option_that_bytes_can_hold_is_read_back(value: Any) -> None:
    accumulator = WinRate(tie=value)
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


def test_merge_names_the_option_that_differs() -> None:
    with pytest.raises(se.IncompatibleStateError, match=r"`tie` differs \('tie' and '='\)\.$"):
        week().merge(WinRate(tie="="))


def test_every_verb_works_on_a_class_of_ones_own(tmp_path: Path) -> None:
    whole = week() + week()
    se.save(whole, tmp_path / "week.se")
    restored = WinRate()
    restored.load_state_dict(whole.state_dict())
    ways = {
        "sum": sum([week(), week()]),
        "merge": se.merge([week(), week()]),
        "one by one": se.merge(iter([week(), week()])),
        "bytes": se.from_bytes(whole.to_bytes()),
        "pickle": pickle.loads(pickle.dumps(whole)),
        "copy": copy.copy(whole),
        "deepcopy": copy.deepcopy(whole),
        "file": se.load(tmp_path / "week.se"),
        "state dict": restored,
    }
    assert {name for name, way in ways.items() if way != whole or type(way) is not WinRate} == set()
    assert whole.n == 11
    assert whole.reset() == WinRate()


def test_bytes_carry_id_and_name() -> None:
    parsed = parse(week().to_bytes())
    assert parsed.kind == 0x8000
    assert parsed.header == canonical(
        {
            "config": {"a": "a", "b": "b", "tie": "tie"},
            "state": {
                "n": {"shape": [], "widths": [1, 8]},
                "outcomes": {"shape": [3], "widths": [1, 8]},
            },
            "type": "WinRate",
        }
    )
    assert parsed.payload[:9] == b"\5" + (2**61).to_bytes(8, "little")


def test_bytes_carry_the_name_that_was_given() -> None:
    named = define("Renamed", name="acme.Rows")
    data = named().to_bytes()
    assert parse(data).settings["type"] == "acme.Rows"
    assert type(se.from_bytes(data)) is named


def test_bytes_of_an_unknown_class_are_refused_by_name() -> None:
    data = define()().to_bytes()
    del definition._open[0x9000]
    with pytest.raises(
        se.UnknownTypeError,
        match=r"^these bytes hold a Own \(type id 0x9000\), which is not defined here\. "
        r"Import the module that defines it first\.$",
    ):
        se.from_bytes(data)
    assert issubclass(se.UnknownTypeError, se.CorruptStateError)


def test_bytes_whose_name_is_not_that_of_the_id_are_refused_naming_both() -> None:
    data = define()().to_bytes()
    del definition._open[0x9000]
    define("Another")
    with pytest.raises(
        se.UnknownTypeError,
        match=r"hold a Own \(type id 0x9000\), and here that type id is of Another\.$",
    ):
        se.from_bytes(data)


def test_bytes_of_another_class_are_incompatible() -> None:
    with pytest.raises(se.IncompatibleStateError, match=r"hold a WinRate, not a Own\.$"):
        define().from_bytes(week().to_bytes())
    with pytest.raises(se.IncompatibleStateError, match=r"hold a ConfusionAccumulator, not a Win"):
        WinRate.from_bytes(se.ConfusionAccumulator().to_bytes())


@pytest.mark.parametrize(
    "name",
    ["", "a\nb", "\x1b[2J", "n" * 129, 3, None, ["WinRate"]],
    ids=["empty", "line", "escape", "long", "number", "null", "list"],
)
def test_a_name_that_none_can_have_is_corrupt(name: Any) -> None:
    parsed = parse(week().to_bytes())
    data = seal(parsed.settings | {"type": name}, parsed.payload, kind=0x8000)
    with pytest.raises(se.CorruptStateError, match="the name of the type"):
        se.from_bytes(data)


def test_a_header_without_a_name_is_corrupt() -> None:
    parsed = parse(week().to_bytes())
    header = parsed.settings
    del header["type"]
    with pytest.raises(se.CorruptStateError, match="other parts than config, state, type"):
        se.from_bytes(seal(header, parsed.payload, kind=0x8000))


def test_a_name_in_bytes_of_our_own_is_corrupt() -> None:
    parsed = parse(se.RegressionAccumulator().to_bytes())
    header = parsed.settings | {"type": "RegressionAccumulator"}
    with pytest.raises(se.CorruptStateError, match=r"other parts than config, state\.$"):
        se.from_bytes(seal(header, parsed.payload, kind=2))


def _changed(part: str, **fields: Any) -> bytes:
    parsed = parse_words(week().to_bytes())
    header = parsed.settings
    header[part] |= fields
    return seal_words(header, parsed.payload, kind=0x8000)


def _numbers(*numbers: int) -> bytes:
    header = parse_words(WinRate().to_bytes()).settings
    return seal_words(header, list(numbers), kind=0x8000)


HOSTILE = {
    "an option too many": (lambda: _changed("config", x=1), "options are not those"),
    "a field too many": (lambda: _changed("state", x=1), "fields are not those"),
    "a field of another type": (
        lambda: _changed("state", outcomes={"column": "int64", "length": 6}),
        "field outcomes",
    ),
    "a size past the end": (
        lambda: _changed("state", outcomes={"fraction": True, "shape": [2**40]}),
        "more than there is",
    ),
    "another shape": (
        lambda: _changed("state", outcomes={"fraction": True, "shape": [3, 1]}),
        r"outcomes has shape \(3, 1\)",
    ),
    "n of another shape": (
        lambda: _changed("state", n={"fraction": True, "shape": [1]}),
        r"n has shape \(1,\)",
    ),
    "a negative count": (lambda: _numbers(1, 2, -1, 0), "negative numbers"),
    "counts that do not add up": (lambda: _numbers(1, 1, 1, 0), "do not add up to n"),
    "counts past 2**63": (lambda: _numbers(1, 2**62, 2**62, 2**62), "past 2"),
}


@pytest.mark.parametrize("claim", HOSTILE)
def test_bytes_that_nobody_counted_are_corrupt(claim: str) -> None:
    make, says = HOSTILE[claim]
    with pytest.raises(se.CorruptStateError, match=says):
        se.from_bytes(make())


@pytest.mark.parametrize(
    ("error", "says"),
    [(ZeroDivisionError("x"), "x"), (AssertionError(), "AssertionError"), (KeyError("k"), "'k'")],
    ids=["message", "none", "key"],
)
def test_what_a_check_raises_is_a_corrupt_state(error: Exception, says: str) -> None:
    @attrs.frozen
    class Raising(Rows):
        def check(self, config: Any) -> None:
            raise error

    data = define(state=Raising)().to_bytes()
    with pytest.raises(se.CorruptStateError, match=rf"^state is corrupt: {says}\.$"):
        se.from_bytes(data)


@attrs.frozen
class Everything(State):
    """A field of every type."""

    keys: Column
    text: Column
    total: ExactSum
    size: int
    top: float
    is_new: bool
    label: str
    pairs: tuple[ExactSum, ...]

    @classmethod
    def zero(cls, config: Any) -> Everything:
        keys, text = Column(np.array([2**64 - 1], np.uint64)), Column(np.array(["é"], object))
        sums = (ExactSum.of(np.array([0.1])), ExactSum())
        return cls(FixedPoint.zeros(()), keys, text, sums[0], 10**30, -0.5, True, "x", sums)

    def __add__(self, other: Everything) -> Everything:
        return self


def test_a_field_of_every_type_is_read_back() -> None:
    accumulator = define(state=Everything)()
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


def test_a_field_may_be_annotated_with_its_type_itself() -> None:
    annotations = {"counts": FixedPoint, "names": tuple[str, ...], "text": "se.states.Column"}
    body = {
        "__annotations__": annotations,
        "zero": lambda config: typed(*[FixedPoint.zeros(())] * 2, ("x",), Column(np.array([3]))),
    }
    typed: Any = attrs.frozen(types.new_class("Typed", (Rows,), {}, lambda held: held.update(body)))
    accumulator = define(state=typed)()
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


@pytest.mark.parametrize(
    ("field", "value", "error", "says"),
    [
        ("keys", np.arange(3), TypeError, "`keys` of a Everything must be Column, got ndarray"),
        ("size", np.int64(3), TypeError, "`size` of a Everything must be int, got int64"),
        ("keys", Column(np.zeros(1)), se.CorruptStateError, "keys is a column of float64"),
        ("top", float("nan"), se.CorruptStateError, "top is nan"),
        ("n", FixedPoint.zeros(1), se.CorruptStateError, r"n has shape \(1,\)"),
    ],
    ids=["array", "numpy", "floats", "nan", "n"],
)
def test_a_state_that_could_not_be_read_is_not_written(
    field: str, value: Any, error: type[Exception], says: str
) -> None:
    made = attrs.evolve(Everything.zero(None), **{field: value})
    accumulator = define(state=Everything)._make(None, made)
    accumulator._config = define(state=Everything)()._config
    with pytest.raises(error, match=says):
        accumulator.to_bytes()


@attrs.frozen
class WithDict(Rows):
    held: dict[str, int]


@attrs.frozen
class WithText(Rows):
    held: "npt.NDArray[np.int64]"  # noqa: F821, UP037


class Bare(Rows):
    held: int


@attrs.define
class Mutable:
    limit: int = 3


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an id of our own": ({"type_id": 1}, r"^type id 0x1 is not for .*Own: ids below 0x8000 are"),
    "an id of our own that is free": ({"type_id": 0x7FFF}, "ids below 0x8000 are streameval's own"),
    "an id of nothing": ({"type_id": 0}, "`type_id` must be from 0x8000 to 0xffff, got 0"),
    "an id past the end": ({"type_id": 2**16}, "`type_id` must be from 0x8000 to 0xffff"),
    "an id that is no number": ({"type_id": "0x8000"}, "`type_id` must be from 0x8000"),
    "a name of no text": ({"name": 3}, "`name` must be printable text"),
    "an empty name": ({"name": ""}, "`name` must be printable text"),
    "a name of two lines": ({"name": "a\nb"}, "`name` must be printable text"),
    "no state": ({"state": None}, "`state` must be a frozen attrs class under"),
    "a state of another base": ({"state": Labels}, "`state` must be a frozen attrs class under"),
    "a state that is none": ({"state": Rows.zero(None)}, "`state` must be a frozen attrs class"),
    "a state with a dict": ({"state": WithDict}, "must have fields of .*, got dict for held"),
    "a state with an array": ({"state": WithText}, "must have fields of .*, got NDArray for held"),
    "options of no attrs": ({"config": dict}, "`config` must be a frozen attrs class"),
    "options that change": ({"config": Mutable}, "`config` must be a frozen attrs class"),
    "a state that is not decorated": ({"state": Bare}, "`state` must be a frozen attrs class"),
    "no arrays": ({"arrays": ()}, "`arrays` must name what `update` takes"),
}


@pytest.mark.parametrize("claim", REFUSED)
def test_a_definition_is_refused(claim: str) -> None:
    arguments, says = REFUSED[claim]
    with pytest.raises(TypeError, match=says):
        define(**arguments)
    assert 0x9000 not in definition._open


def test_our_own_name_does_not_give_an_id_of_our_own() -> None:
    with pytest.raises(TypeError, match="ids below 0x8000 are streameval's own"):
        define("ConfusionAccumulator", type_id=1)


def test_a_class_without_an_id_is_a_base_of_others() -> None:
    class Base(se.Accumulator, arrays=("x",)):  # type: ignore[type-arg]
        def compute(self) -> Any:
            return self.n

    class Own(Base, type_id=0x9000, state=Rows):
        pass

    assert Own().update([1, 2]).compute() == 2
    with pytest.raises(TypeError, match=r"^Base is a base of others: it has no `type_id`\.$"):
        Base()
    with pytest.raises(TypeError, match=r"^Below needs a `type_id`: not that of its base\.$"):

        class Below(Own):
            pass


def test_two_classes_with_one_id_are_refused_naming_both() -> None:
    first = define()
    with pytest.raises(
        TypeError,
        match=rf"^type id 0x9000 is that of {__name__}\.Own, so {__name__}\.Two needs another",
    ):
        define("Two")
    assert definition._open[0x9000] is first


def test_a_class_of_the_same_name_in_another_module_is_refused() -> None:
    define()
    body = {"compute": None, "__module__": "elsewhere", "__qualname__": "Own"}
    with pytest.raises(TypeError, match=r"is that of .*, so elsewhere\.Own needs another one"):
        type("Own", (se.Accumulator,), body, type_id=0x9000, state=Rows, arrays=("x",))


def test_a_class_may_be_defined_again() -> None:
    old = define()
    data = old().update([1]).to_bytes()
    new = define()
    assert type(se.from_bytes(data)) is new
    with pytest.raises(se.IncompatibleStateError, match="cannot merge"):
        new().merge(old())


@pytest.mark.parametrize("main_module", ["__main__", "__mp_main__"])
def test_a_script_may_be_imported_too(main_module: str) -> None:
    def defined(module: str) -> Any:
        body = {"compute": None, "__module__": module, "__qualname__": "Own"}
        return type("Own", (se.Accumulator,), body, type_id=0x9000, state=Rows, arrays=("x",))

    for module in (main_module, "script", main_module):
        defined(module)
        assert definition._open[0x9000].__module__ == module


SCRIPT = """
import multiprocessing
import attrs
import streameval as se
from win_rate import Outcomes, Labels

class Spawned(
    se.Accumulator, type_id=0x9100, config=Labels, state=Outcomes, arrays=("preference",)
):
    def compute(self):
        return self.n

def count(labels):
    return Spawned().update(labels)

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(se.merge(pool.map(count, [["a"], ["b", "tie"]])))
"""


@pytest.mark.slow
def test_a_class_of_a_script_is_known_in_the_processes_it_spawns(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": TESTS},
    )
    assert done.stdout == "Spawned(n=3)\n", done.stderr


def test_a_module_may_be_loaded_again() -> None:
    spec = importlib.util.spec_from_file_location("win_rate", Path(TESTS, "win_rate.py"))
    assert spec is not None
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)  # type: ignore[union-attr]
    assert type(se.from_bytes(week().to_bytes())) is again.WinRate


@pytest.mark.slow
def test_reading_bytes_imports_nothing(tmp_path: Path) -> None:
    path = tmp_path / "week.se"
    se.save(week(), path)
    code = """
        import sys, streameval as se
        try:
            se.load(sys.argv[1])
        except se.UnknownTypeError as error:
            print("win_rate" in sys.modules, error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(path)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": TESTS},
    )
    assert done.stdout.startswith("False these bytes hold a WinRate (type id 0x8000)")


def both() -> se.Collection:
    return se.Collection(
        {"wins": WinRate(), "again": WinRate(), "cm": se.ConfusionAccumulator()},
        columns={"again": {"preference": "other"}},
    )


BATCH = {
    "preference": ["a", "b", "a"],
    "other": ["tie", "b", "a"],
    "y_true": [1, 0, 1],
    "y_pred": [1, 1, 0],
}


def test_a_collection_holds_classes_of_ones_own() -> None:
    col = both().update(BATCH)
    assert col["wins"] == WinRate().update(BATCH["preference"])
    assert se.from_bytes(col.to_bytes()) == col
    assert (col + both()).to_bytes() == col.to_bytes()
    assert col.compute().as_dict()["wins/win_rate"] == 2 / 3
    with pytest.raises(se.InvalidInputError, match="member 'again': `preference` holds 'c'"):
        col.update(BATCH | {"other": ["a", "b", "c"]})
    assert col == both().update(BATCH)


def test_a_collection_with_an_unknown_member_is_refused_by_its_name() -> None:
    data = both().to_bytes()
    del definition._open[0x8000]
    with pytest.raises(se.UnknownTypeError, match="hold a WinRate"):
        se.from_bytes(data)


def test_a_collection_shows_results_of_any_type() -> None:
    col = se.Collection({"own": define()(), "cm": se.ConfusionAccumulator()})
    result = col.update({"x": [1, 2], "y_true": [1], "y_pred": [1]}).compute()
    assert result.as_dict()["own"] == 2
    assert result.report().startswith("own\n  2\n\ncm\n  ")
    assert "<h3><bdi>own</bdi></h3><p>2</p>" in result._repr_html_()


@pytest.mark.slow
def test_a_reader_beside_updates_sees_whole_states() -> None:
    shared, seen, done = WinRate(), set(), threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(shared.to_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(200):
        shared.update(WEEK)
    done.set()
    reader.join()
    whole = {WinRate().to_bytes()}
    running = WinRate()
    for _ in range(200):
        whole.add(running.update(WEEK).to_bytes())
    assert seen <= whole


def test_an_engine_counts_and_merges_bytes_of_a_class_of_ones_own() -> None:
    from streameval.engines._counting import SourceCounter
    from streameval.engines._shipping import merged

    counting = SourceCounter.of(WinRate)
    parts = [counting.count({"preference": WEEK}), counting.count({"preference": ["b"]})]
    assert counting.result(merged(*parts)) == WinRate().update([*WEEK, "b"])


COMMANDS = {
    "show": ["show", "{}"],
    "explain": ["explain", "{}"],
    "diff": ["diff", "{}", "{}"],
    "report": ["report", "{}", "-o", "{}.html"],
    "plot": ["plot", "{}", "-o", "{}.png"],
}


def run(command: str, path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main([argument.format(path) for argument in COMMANDS[command]])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("command", [*COMMANDS, "merge"])
@pytest.mark.parametrize("make", [week, both], ids=["state", "collection"])
def test_the_command_line_refuses_an_unknown_class_in_one_line(
    make: Any, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = COMMANDS | {"merge": ["merge", "{}", "-o", "{}.merged"]}
    path = tmp_path / "week.se"
    se.save(make(), path)
    del definition._open[0x8000]
    code = main([argument.format(path) for argument in commands[command]])
    said = capsys.readouterr().err
    assert code == 3
    assert said.count("\n") == 1
    assert f"{path}: these bytes hold a WinRate (type id 0x8000)" in said


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("make", [week, both], ids=["state", "collection"])
def test_the_command_line_shows_no_class_of_ones_own(
    make: Any, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "week.se"
    se.save(make(), path)
    code, said = run(command, path, capsys)
    assert code == 2
    assert said.count("\n") == 1


def test_a_known_class_is_merged_by_the_command_line(tmp_path: Path) -> None:
    path, again, merged = (tmp_path / name for name in ("week.se", "again.se", "merged.se"))
    se.save(week(), path)
    se.save(week(), again)
    assert main(["merge", str(path), str(again), "-o", str(merged)]) == 0
    assert se.load(merged) == week() + week()


def test_a_state_of_another_class_is_not_written() -> None:
    @attrs.frozen
    class Summed(Rows):
        label: str = "x"

    own = define(state=Summed)
    summed = own() + own()
    with pytest.raises(TypeError, match=r"^the state must be a Summed, got a Rows\.$"):
        summed.to_bytes()


LEAVES = [
    None,
    True,
    -1,
    2**40,
    2**63,
    10**4000,
    "",
    "x",
    [],
    [[]],
    {},
    {"float64": "7ff8" + "0" * 12},
]


def _paths(value: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = [()]
    items = value.items() if isinstance(value, dict) else []
    for key, item in [*items, *(enumerate(value) if isinstance(value, list) else [])]:
        found += [(key, *path) for path in _paths(item)]
    return found


def test_changed_headers_and_numbers_are_refused_or_used() -> None:
    parsed = parse_words(week().to_bytes())
    forged = []
    for *path, last in filter(None, _paths(parsed.settings)):
        for leaf in LEAVES:
            header = json.loads(parsed.header)
            functools.reduce(operator.getitem, path, header)[last] = leaf
            forged.append(seal_words(header, parsed.payload, kind=0x8000))
    for position in range(len(parsed.numbers)):
        for number in (-1, 0, 1, 2**62, 2**63 - 1, -(2**63)):
            numbers = list(parsed.numbers)
            numbers[position] = number
            forged.append(seal_words(parsed.header, numbers, kind=0x8000))
    outcomes = [_refused_or_used(data) for data in forged]
    assert len(outcomes) > 200
    assert set(outcomes) == {True, False}


def _refused_or_used(data: bytes) -> bool:
    try:
        accumulator = se.from_bytes(data)
    except se.CorruptStateError:
        return False
    assert accumulator.to_bytes() == narrowed(data)
    assert accumulator.compute().keys() == {"win_rate"}
    return True


def test_an_update_of_ones_own_may_have_its_own_signature() -> None:
    class Own(se.Accumulator, type_id=0x9000, state=Outcomes, arrays=("x",)):  # type: ignore[type-arg]
        def update(self, a: int, b: int) -> Any:
            return self._absorb(
                Outcomes.of(Labels(), preference=["a"] * a + ["b"] * b, sample_weight=None)
            )

        def compute(self) -> Any:
            return self._state.outcomes.to_numbers().tolist()

    assert Own().update(2, 3).update(1, 0).compute() == [3, 0, 3]


@attrs.frozen(kw_only=True)
class Grown:
    """Options of which the second was added later."""

    unit: str = "ms"
    display: str | None = attrs.field(default=None, metadata={"omit_default": True})


@attrs.frozen(kw_only=True)
class Young:
    """The same before that."""

    unit: str = "ms"


def test_an_omitted_default_gives_the_bytes_of_before_the_option() -> None:
    before = define(config=Young)(unit="s").update([1, 2]).to_bytes()
    after = define(config=Grown)
    assert after(unit="s").update([1, 2]).to_bytes() == before
    back = se.from_bytes(before)
    assert type(back) is after
    assert back.options == {"unit": "s", "display": None}


def test_an_option_that_is_not_its_omitted_default_is_written() -> None:
    accumulator = define(config=Grown)(display="Latency")
    header = parse(accumulator.to_bytes()).settings
    assert header["config"] == {"display": "Latency", "unit": "ms"}
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"unit": "s", "display": None}, "not in canonical form"),
        ({"display": "Latency"}, "not those of this version"),
        ({"unit": "s", "colour": None}, "not those of this version"),
    ],
    ids=["default spelled out", "other missing", "unknown"],
)
def test_options_are_refused_unless_written_as_declared(
    options: dict[str, Any], reason: str
) -> None:
    parsed = parse(define(config=Grown)().to_bytes())
    header = {**parsed.settings, "config": options}
    with pytest.raises(se.CorruptStateError, match=reason):
        se.from_bytes(seal(header, parsed.payload, kind=parsed.kind))


@pytest.mark.parametrize(
    "settings", [{}, {"factory": tuple}, {"default": attrs.Factory(tuple)}], ids=str
)
def test_an_option_is_omitted_only_with_a_constant_default(settings: dict[str, Any]) -> None:
    changing = attrs.make_class(
        "Changing",
        {"sides": attrs.field(metadata={"omit_default": True}, **settings)},
        frozen=True,
        kw_only=True,
    )
    with pytest.raises(TypeError, match="`sides` of Changing needs a constant default"):
        define(config=changing)


_NO_EXTRA = Column(np.zeros(0, dtype=np.int64))


@attrs.frozen
class GrownRows(State):
    """Rows, and what is held of those above 9, which was added later."""

    large: Column = attrs.field(default=_NO_EXTRA, metadata={"omit_default": True})

    @classmethod
    def zero(cls, config: Any) -> GrownRows:
        return cls(FixedPoint.zeros(()))

    @classmethod
    def of(cls, config: Any, **arrays: Any) -> GrownRows:
        column = np.array(arrays["x"], dtype=np.int64)
        return cls(FixedPoint(np.array(len(column))), Column(np.sort(column[column > 9])))

    def __add__(self, other: GrownRows) -> GrownRows:
        large = np.sort(np.concatenate([self.large.values, other.large.values]))
        return GrownRows(self.n + other.n, Column(large))


def grouped(own: Any, *groups: list[int]) -> bytes:
    """The bytes of the slices that have these rows."""
    sliced = se.Sliced(own(), "kind")
    for name, rows in zip("abc", groups, strict=False):
        sliced.update({"kind": [name] * len(rows), "x": rows})
    return sliced.to_bytes()


def test_an_omitted_field_of_a_state_gives_the_bytes_of_before_the_field() -> None:
    young = define()
    one, groups = young().update([1, 2]).to_bytes(), grouped(young, [1, 2], [3])
    grown = define(state=GrownRows)
    assert grown().update([1, 2]).to_bytes() == one
    assert grouped(grown, [1, 2], [3]) == groups
    assert se.from_bytes(one) == grown().update([1, 2])
    assert se.from_bytes(groups).to_bytes() == groups


def test_a_field_that_is_not_its_omitted_default_is_written() -> None:
    grown = define(state=GrownRows)
    one = grown().update([10, 2])
    assert "large" in parse(one.to_bytes()).settings["state"]
    assert se.from_bytes(one.to_bytes()) == one
    for groups in ([1], [10]), ([10], [1]), ([10, 11], [12]):
        data = grouped(grown, *groups)
        assert se.from_bytes(data)["b"]._state.large.values.tolist() == [
            row for row in groups[1] if row > 9
        ]
        assert se.from_bytes(data).to_bytes() == data


def test_an_omitted_default_of_a_state_that_is_written_is_refused() -> None:
    parsed = parse(define(state=GrownRows)().update([1]).to_bytes())
    described = parsed.settings["state"] | {"large": {"column": "int64", "length": 0, "width": 1}}
    header = {**parsed.settings, "state": described}
    with pytest.raises(se.CorruptStateError, match="not in canonical form"):
        se.from_bytes(seal(header, parsed.payload, kind=parsed.kind))


def test_a_field_of_a_state_is_omitted_only_without_items() -> None:
    @attrs.frozen
    class Changing(State):
        one: Column = attrs.field(
            default=Column(np.zeros(1, dtype=np.int64)), metadata={"omit_default": True}
        )

    with pytest.raises(TypeError, match="`one` of a state needs an empty Column or FixedPoint"):
        define(state=Changing)
