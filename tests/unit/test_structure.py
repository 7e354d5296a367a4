"""The shape of the code: who imports whom, what is never called, what is documented."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib.resources
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from offenders import each

import streameval as se
from streameval.accumulators.base import Accumulator

PACKAGE = Path(se.__file__).parent
SOURCES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}

LAYERS = [
    {"errors", "version"},
    {"exact"},
    {"inputs"},
    {"configs"},
    {"states"},
    {"metrics"},
    {"render"},
    {"results"},
    {"accumulators"},
    {"io"},
    {"reports"},
    {"runs"},
    {"monitoring"},
    {"__init__"},
    {"cli", "engines", "testing"},
    {"loops"},
    {"__main__"},
]
"""The modules and packages right under streameval, lowest first: imports only point down."""

LATE = [
    ("streameval.accumulators.paired", "streameval.accumulators.collection"),
    ("streameval.accumulators.collection", "streameval.accumulators.clustered"),
]
"""Imports that close a circle when used: `Paired.of_models` makes a collection, which reads bytes
of every class, and of clusters, which may be of a collection."""

MAPS = {f"{package}/__init__.py" for package in ("accumulators", "metrics", "monitoring")}
"""The packages whose docstring is a map of their modules."""

PUBLIC = ("monitoring/alerts.py", "monitoring/prometheus.py", "monitoring/server.py")
"""The modules inside a package, other than adapters, that users import from."""

FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "runpy", "imp"}
FORBIDDEN_NAMES = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_CALLS = {
    ("np", "load"),
    ("numpy", "load"),
    ("importlib", "import_module"),
    ("os", "system"),
    ("os", "popen"),
}
FOREIGN = {
    *("torch", "pandas", "sklearn", "matplotlib", "pyarrow", "scipy", "polars", "jax", "cupy"),
    *(
        "ignite",
        "lightning",
        "transformers",
        "keras",
        "dask",
        "distributed",
        "pyspark",
        "apache_beam",
        "ray",
    ),
    "prometheus_client",
}


@functools.cache
def tree(source: str) -> ast.Module:
    return ast.parse(SOURCES[source].read_text(encoding="utf-8"))


@functools.cache
def nodes(source: str) -> list[ast.AST]:
    return list(ast.walk(tree(source)))


def part_of(source: str) -> str:
    """Name the module or package right under streameval that a file belongs to."""
    return source.split("/", maxsplit=1)[0].removesuffix(".py")


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Walk the statements, at any depth, but those that only a type checker reads."""
    left = [node]
    while left:
        node = left.pop()
        yield node
        left += [
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.expr) and not is_for_types(child)
        ]


def imported_by(node: ast.AST) -> Iterator[str]:
    """Name what a statement imports: a module, or a name in one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert not node.level, "imports are absolute"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


@functools.cache
def imported_modules(source: str) -> list[str]:
    """Name what a file imports."""
    return [name for node in statements(tree(source)) for name in imported_by(node)]


def imported_parts(source: str) -> set[str]:
    own = (name.split(".")[1:] for name in imported_modules(source) if _is_own(name))
    known = set().union(*LAYERS)
    return {path[0] if path and path[0] in known else "__init__" for path in own}


def _is_own(name: str) -> bool:
    return name == "streameval" or name.startswith("streameval.")


def height(part: str) -> int:
    return next(place for place, layer in enumerate(LAYERS) if part in layer)


def test_groups_are_read_through_their_views() -> None:
    """Only accumulators know how slices and panes are held, and which rows are pending."""
    inside = {"_everything", "_all_rows"}
    assert [
        f"{source}:{node.lineno}"
        for source in SOURCES
        for node in nodes(source)
        if isinstance(node, ast.Attribute)
        and node.attr in inside
        and source
        not in {
            f"accumulators/{name}.py" for name in ("clustered", "grouping", "sliced", "windowed")
        }
    ] == []


def test_accumulators_are_used_by_their_verbs_and_views() -> None:
    """The command line, monitors and runs reach into no private member of an accumulator."""
    kinds = [getattr(se, name) for name in dir(se) if is_accumulator(name)]
    private = {name for kind in kinds for name in dir(kind) if re.match("_[^_]", name)}
    reaches = [
        f"{source}:{node.lineno} has {ast.unparse(node)}"
        for source in SOURCES
        if part_of(source) in {"cli", "monitoring", "runs"}
        for node in nodes(source)
        if isinstance(node, ast.Attribute)
        and node.attr in private
        and ast.unparse(node.value) != "self"
    ]
    assert {"_config", "_held", "_state"} < private
    assert reaches == []


def test_every_part_has_a_layer() -> None:
    assert {part_of(source) for source in SOURCES} <= set().union(*LAYERS)


def test_imports_point_down() -> None:
    upward = [
        f"{source} imports {other}"
        for source in SOURCES
        for other in sorted(imported_parts(source) - {part_of(source)})
        if height(other) >= height(part_of(source))
    ]
    assert upward == []


def test_metrics_know_no_results() -> None:
    """Not even as types: functions of metrics read what was counted, which results extend.

    The tables named here ask a result: for its clusters, its curves, and rows of its own.
    """
    imported = [
        source
        for source in SOURCES
        if part_of(source) == "metrics"
        for node in ast.walk(tree(source))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("streameval.results")
    ]
    ask = ["class_curve_table", "paired_table", "ranking_table"]
    assert imported == [f"metrics/{name}.py" for name in ask]


def test_imports_run_in_no_circle() -> None:
    known = {module_of(source) for source in SOURCES}
    graph = {
        module_of(source): {
            name if name in known else name.rpartition(".")[0]
            for name in imported_modules(source)
            if _is_own(name)
        }
        for source in SOURCES
    }
    for module, late in LATE:
        graph[module].remove(late)
    circle: list[str] = []
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1][::-1]  # each imports the next
    assert circle == []


def module_of(source: str) -> str:
    return f"streameval/{source}".removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def test_nothing_that_runs_foreign_code_is_imported() -> None:
    forbidden = FORBIDDEN_MODULES | {".".join(call) for call in FORBIDDEN_CALLS}
    imported = [
        f"{source} imports {name}"
        for source in SOURCES
        for name in imported_modules(source)
        if {name, name.partition(".")[0]} & forbidden
    ]
    assert imported == []


def test_nothing_that_runs_foreign_code_is_called() -> None:
    called = [
        f"{source}:{node.lineno} has {ast.unparse(node)}"
        for source in SOURCES
        for node in nodes(source)
        if is_forbidden(node)
    ]
    assert called == []


def is_forbidden(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return (node.value.id, node.attr) in FORBIDDEN_CALLS
    return isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES


def loaded_by(code: str) -> set[str]:
    """Run code in a process of its own, and name the modules that it loads; not as an alias."""
    code = f"import sys; before = {{*sys.modules}}; {code}; more = sys.modules.keys() - before"
    code += "; print(*(getattr(sys.modules[name], '__name__', name) for name in more))"
    run = [sys.executable, "-c", code]
    return set(subprocess.run(run, check=True, capture_output=True, text=True).stdout.split())


@functools.cache
def everything() -> set[str]:
    """Name the modules that all public names together load."""
    return loaded_by("import streameval as se; [getattr(se, name) for name in dir(se)]")


def own(modules: set[str]) -> set[str]:
    return {name for name in modules if _is_own(name)}


@pytest.mark.slow
def test_all_public_names_together_load_nothing_foreign() -> None:
    assert {name.partition(".")[0] for name in everything()} & FOREIGN == set()


def test_import_of_streameval_loads_its_errors_alone() -> None:
    loaded = loaded_by("import streameval")
    assert own(loaded) == {"streameval", "streameval.errors", "streameval.version"}
    assert loaded.isdisjoint({"numpy", "attrs", "importlib.metadata"})


def test_help_loads_no_numpy() -> None:
    code = "from streameval.cli.arguments import described_parser; described_parser()"
    assert "numpy" not in loaded_by(code)


def test_counting_a_table_loads_what_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("y_true,y_score\n1,0.9\n")
    loaded = loaded_by(f"from streameval.cli import main; main(['--quiet', 'eval', {str(file)!r}])")
    packages = {"multiprocessing", "concurrent", "hashlib", "pyarrow", "msgspec"}
    assert {name.partition(".")[0] for name in loaded} & packages == set()
    readers = {"streameval.io.json_lines", "streameval.io.parquet", "streameval.io.trec"}
    parts = {"accumulators.sliced", "accumulators.windowed", "runs.slices", "cli.states"}
    assert loaded.isdisjoint(readers | {f"streameval.{part}" for part in parts})


@pytest.mark.slow
@each("module", ["streameval", "streameval.cli.app"])
def test_what_a_monitor_needs_is_not_loaded_without_one(module: str) -> None:
    needed = {"sqlite3", "http.server", "http.client", "prometheus_client"}
    assert loaded_by(f"import {module}").isdisjoint(needed)


@pytest.mark.slow
def test_accumulators_load_nothing_that_renders_before_they_compute() -> None:
    names = [name for name in dir(se) if is_accumulator(name)]
    loaded = own(loaded_by(f"import streameval as se; [getattr(se, name) for name in {names}]"))
    rendering = ("streameval.render", "streameval.results")
    assert "PRCurveSketch" in names
    assert [name for name in loaded if name.startswith(rendering)] == []


def is_accumulator(name: str) -> bool:
    public = getattr(se, name)
    return inspect.isclass(public) and issubclass(public, Accumulator) and public is not Accumulator


@pytest.mark.slow
@each("name", ["ConfusionAccumulator", "RegressionAccumulator", "GroupedAUC", "Collection"])
def test_an_accumulator_loads_no_other_one(name: str) -> None:
    loaded = own(loaded_by(f"import streameval as se; se.{name}"))
    every = {getattr(se, other).__module__ for other in se.__all__ if is_accumulator(other)}
    assert loaded & every == {getattr(se, name).__module__}
    assert loaded < own(everything())


@pytest.mark.uncovered
@pytest.mark.slow
def test_each_public_name_is_there_after_an_import_alone() -> None:
    """Each is asked for in a process that has loaded nothing of the package but its root."""
    names = [*se.__all__, "__version__", "io", "reports"]
    code = f"""
import os, sys
import numpy
import streameval as se
for name in {names!r}:
    if not os.fork():
        os._exit(0 if name in dir(se) and getattr(se, name, None) is not None else 1)
    if os.waitstatus_to_exitcode(os.wait()[1]):
        print(name)
"""
    run = [sys.executable, "-c", code]
    missing = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    assert missing == []


def test_type_checkers_are_told_where_each_public_name_is() -> None:
    told = {
        alias.name: node.module
        for node in nodes("__init__.py")
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
    with pytest.raises(AttributeError, match=r"^module 'streameval.io' has no attribute 'rd'$"):
        _ = se.io.rd  # type: ignore[attr-defined]


def test_readers_of_trec_files_are_public() -> None:
    assert dir(se.io) == [name for name in se.io.__all__ if getattr(se.io, name)]


def test_types_are_announced() -> None:
    assert (importlib.resources.files(se) / "py.typed").is_file()


def test_every_file_says_what_it_is_for() -> None:
    assert [source for source in SOURCES if not ast.get_docstring(tree(source))] == []


def test_maps_of_packages_name_modules_that_exist() -> None:
    """The docstring of a package may say what its modules are for; other names are of packages."""
    unknown = [
        f"{source} names {name}"
        for source in MAPS
        for name in re.findall(r"`([a-z]\w+)`", ast.get_docstring(tree(source)) or "")
        if not {f"{part_of(source)}/{name}.py", f"{name}/__init__.py"} & SOURCES.keys()
    ]
    assert unknown == []


def test_only_public_modules_list_what_they_export() -> None:
    def is_public(source: str) -> bool:
        *folders, name = source.split("/")
        is_adapter = folders in (["engines"], ["loops"]) and not name.startswith("_")
        return is_adapter or not folders or name == "__init__.py" or source in PUBLIC

    lists = [
        source
        for source in SOURCES
        for node in tree(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    assert {"__init__.py", *PUBLIC} < set(lists)
    assert [source for source in lists if not is_public(source)] == []


def test_a_name_of_a_class_means_one_thing() -> None:
    """Adapters of one kind have the same names, since they do the same for several frameworks."""
    places: dict[str, list[str]] = {}
    for source in SOURCES:
        for node in nodes(source):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(source)
    several = {name: found for name, found in places.items() if len(found) > 1}
    assert [name for name, found in several.items() if not is_of_adapters(found)] == []


def test_a_name_of_a_type_means_one_thing() -> None:
    meanings: dict[str, dict[str, str]] = {}
    for source in SOURCES:
        for node in tree(source).body:
            if isinstance(node, ast.ClassDef):
                meanings.setdefault(node.name, {})["a class"] = source
            elif isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call):
                name, meaning = ast.unparse(node.targets[0]), ast.unparse(node.value)
                if re.fullmatch(r"[A-Z][a-z]\w*", name):
                    meanings.setdefault(name, {})[meaning] = source
    assert {name: found for name, found in meanings.items() if len(found) > 1} == {}


def is_of_adapters(sources: list[str]) -> bool:
    parts = {part_of(source) for source in sources}
    return len(parts) == 1 and parts <= {"engines", "loops"}


def test_public_names_are_sorted_and_there() -> None:
    assert se.__all__ == sorted(se.__all__)
    assert [name for name in se.__all__ if not hasattr(se, name)] == []


def test_every_public_name_has_a_docstring() -> None:
    assert [name for name in se.__all__ if not inspect.getdoc(getattr(se, name))] == []


def test_every_public_member_has_a_docstring() -> None:
    members = public_members()
    assert "ConfusionAccumulator.update" in members
    assert [path for path, member in members.items() if not inspect.getdoc(member)] == []


def public_members() -> dict[str, Any]:
    classes = {name: getattr(se, name) for name in se.__all__ if inspect.isclass(getattr(se, name))}
    return {
        f"{name}.{member}": value
        for name, kind in classes.items()
        if kind.__module__.startswith("streameval") and not issubclass(kind, Exception)
        for member, value in inspect.getmembers(kind)
        if not member.startswith("_") and (callable(value) or isinstance(value, property))
    }


@each("name", ["io", "reports"])
def test_modules_are_attributes_of_the_package(name: str) -> None:
    assert se._home(name) is sys.modules[f"streameval.{name}"]
