"""The shape of the code: who imports whom, what is never called, what is documented."""

from __future__ import annotations

import ast
import importlib.resources
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import streameval as se

PACKAGE = Path(se.__file__).parent
SOURCES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}

LAYERS = [
    {"errors"},
    {"exact"},
    {"inputs"},
    {"configs"},
    {"states"},
    {"metrics"},
    {"results"},
    {"accumulators"},
    {"calibration", "collection", "confusion", "curve", "grouped", "ranking", "regression"},
    {"io", "render"},
    {"reports"},
    {"__init__"},
    {"cli", "engines", "testing"},
    {"loops"},
    {"__main__"},
]
"""The modules and packages right under streameval, lowest first: imports only point down."""

FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "runpy", "imp"}
FORBIDDEN_NAMES = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_CALLS = {
    ("np", "load"),
    ("numpy", "load"),
    ("importlib", "import_module"),
    ("os", "system"),
    ("os", "popen"),
}
FOREIGN = (
    *("torch", "pandas", "sklearn", "matplotlib", "pyarrow", "scipy", "polars", "jax", "cupy"),
    *("lightning", "transformers", "keras", "dask", "distributed", "pyspark", "apache_beam", "ray"),
)

every_source = pytest.mark.parametrize("source", SOURCES)


def tree(source: str) -> ast.Module:
    return ast.parse(SOURCES[source].read_text(encoding="utf-8"))


def part_of(source: str) -> str:
    """Name the module or package right under streameval that a file belongs to."""
    return source.split("/", maxsplit=1)[0].removesuffix(".py")


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def running_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Walk everything but what only a type checker reads."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not is_for_types(child):
            yield from running_nodes(child)


def imported_modules(source: str) -> Iterator[str]:
    """Name what a file imports: a module, or a name in one."""
    for node in running_nodes(tree(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_parts(source: str) -> set[str]:
    own = (name.split(".")[1:] for name in imported_modules(source) if _is_own(name))
    known = set().union(*LAYERS)
    return {path[0] if path and path[0] in known else "__init__" for path in own}


def _is_own(name: str) -> bool:
    return name == "streameval" or name.startswith("streameval.")


def height(part: str) -> int:
    return next(place for place, layer in enumerate(LAYERS) if part in layer)


def test_every_part_has_a_layer() -> None:
    assert {part_of(source) for source in SOURCES} <= set().union(*LAYERS)


@every_source
def test_imports_point_down(source: str) -> None:
    part = part_of(source)
    others = imported_parts(source) - {part}
    assert {other for other in others if height(other) >= height(part)} == set()


@every_source
def test_nothing_that_runs_foreign_code_is_imported(source: str) -> None:
    tops = {name.split(".")[0] for name in imported_modules(source)}
    assert tops & FORBIDDEN_MODULES == set()


@every_source
def test_nothing_that_runs_foreign_code_is_called(source: str) -> None:
    nodes = list(ast.walk(tree(source)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    attributes = {
        (node.value.id, node.attr)
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    assert names & FORBIDDEN_NAMES == set()
    assert attributes & FORBIDDEN_CALLS == set()
    assert set(imported_modules(source)) & {".".join(call) for call in FORBIDDEN_CALLS} == set()


def loaded_by(code: str) -> set[str]:
    """Run code in a process of its own, and name the modules that it loads."""
    code = f"import sys; before = {{*sys.modules}}; {code}; print(*sys.modules.keys() - before)"
    run = [sys.executable, "-c", code]
    return set(subprocess.run(run, check=True, capture_output=True, text=True).stdout.split())


EVERYTHING = loaded_by("import streameval as se; [getattr(se, name) for name in dir(se)]")


def own(modules: set[str]) -> set[str]:
    return {name for name in modules if _is_own(name)}


@pytest.mark.parametrize("module", FOREIGN)
def test_every_public_name_together_loads_no(module: str) -> None:
    assert module not in {name.partition(".")[0] for name in EVERYTHING}


def test_import_of_streameval_loads_its_errors_alone() -> None:
    loaded = loaded_by("import streameval")
    assert own(loaded) == {"streameval", "streameval.errors"}
    assert loaded.isdisjoint({"numpy", "attrs", "importlib.metadata"})


@pytest.mark.parametrize("name", ["ConfusionAccumulator", "RegressionAccumulator", "GroupedAUC"])
def test_an_accumulator_loads_no_other_one(name: str) -> None:
    loaded = own(loaded_by(f"import streameval as se; se.{name}"))
    every = {
        f"streameval.accumulators.{part}"
        for part in ("confusion", "regression", "grouped", "curve")
    }
    assert loaded & every == {getattr(se, name).__module__}
    assert loaded < own(EVERYTHING)


@pytest.mark.parametrize("name", [*se.__all__, "__version__", "io", "reports"])
def test_public_name_is_there_after_an_import_alone(name: str) -> None:
    code = f"import streameval as se; assert {name!r} in dir(se); se.{name}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_type_checkers_are_told_where_each_public_name_is() -> None:
    told = {
        alias.name: node.module
        for node in ast.walk(tree("__init__.py"))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(se.__all__) < set(told)
    assert {name: getattr(se, name).__module__ for name in se.__all__} == {
        name: told[name] for name in se.__all__
    }


def test_unknown_name_is_named() -> None:
    with pytest.raises(AttributeError, match=r"^module 'streameval' has no attribute 'oi'$"):
        _ = se.oi  # type: ignore[attr-defined]


def test_types_are_announced() -> None:
    assert (importlib.resources.files(se) / "py.typed").is_file()


@every_source
def test_file_has_at_most_400_lines(source: str) -> None:
    assert len(SOURCES[source].read_text(encoding="utf-8").splitlines()) <= 400


@every_source
def test_file_says_what_it_is_for(source: str) -> None:
    assert ast.get_docstring(tree(source))


def test_public_names_are_sorted_and_there() -> None:
    assert se.__all__ == sorted(se.__all__)
    assert [name for name in se.__all__ if not hasattr(se, name)] == []


@pytest.mark.parametrize("name", se.__all__)
def test_public_name_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(se, name))


def public_members() -> list[str]:
    classes = {name: getattr(se, name) for name in se.__all__ if inspect.isclass(getattr(se, name))}
    return [
        f"{name}.{member}"
        for name, kind in classes.items()
        if kind.__module__.startswith("streameval") and not issubclass(kind, Exception)
        for member, value in inspect.getmembers(kind)
        if not member.startswith("_") and (callable(value) or isinstance(value, property))
    ]


@pytest.mark.parametrize("path", public_members())
def test_public_member_has_a_docstring(path: str) -> None:
    name, member = path.split(".")
    assert inspect.getdoc(getattr(getattr(se, name), member))
