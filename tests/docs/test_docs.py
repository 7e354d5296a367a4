"""What README and docs say is what happens."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import tomllib
from pathlib import Path

import attrs
import pytest
from offenders import each

import streameval
from streameval.states.curve import ScoreTables
from streameval.states.type_ids import OWN_TYPES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

ERRORS = {name for name in streameval.__all__ if name.endswith("Error")}
"""They are documented together, by the module that they are in."""
TABLES = {path.stem: path.read_text(encoding="utf-8") for path in ROOT.glob("docs/tables/*.txt")}
"""What scripts printed, for the pages that include it."""
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(streameval.__path__, "streameval.")
    if not module.name.endswith("__main__")
)


ACCUMULATORS = [module for module in MODULES if module.startswith("streameval.accumulators.")]
ADAPTERS = [
    module for module in MODULES if module.startswith(("streameval.engines.", "streameval.loops."))
]


def check_examples(module: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(module))
    assert failed == 0


@each("module", ACCUMULATORS)
def test_doc_examples_of_accumulators_run(module: str) -> None:
    check_examples(module)


@pytest.mark.slow
@each("module", sorted({*MODULES} - {*ACCUMULATORS, *ADAPTERS}))
def test_doc_examples_run(module: str) -> None:
    check_examples(module)


@pytest.mark.slow
@pytest.mark.parametrize("module", ADAPTERS)
def test_doc_examples_of_adapters_run(module: str) -> None:
    pytest.importorskip(module, reason="it needs what is missing", exc_type=ImportError)
    check_examples(module)


@pytest.mark.slow
def test_readme_promises_are_what_the_script_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    table = importlib.import_module("promises").table()
    assert table.strip() == TABLES["promises"].strip()
    text = " ".join(README.split())
    for proof in ("38 values of 12 metrics", "990 of 990", "50 cuts into 100 batches on 8 workers"):
        assert proof in table
        assert proof in text


@pytest.mark.slow
def test_tables_of_widths_are_what_the_script_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    widths = importlib.import_module("curve_widths")
    for name in ("by_budget", "by_spread", "by_grid"):
        shown = TABLES[f"widths-{name.replace('_', '-')}"]
        assert shown == f"{getattr(widths, name)()}\n"


def test_intervals_cover_as_the_page_says_to_remember() -> None:
    page = TEXTS[ROOT / "docs" / "explanation" / "intervals.md"]

    def coverage(name: str, n_names: int) -> dict[tuple[str, ...], list[float]]:
        table = TABLES[f"coverage-of-{name.replace(' ', '-')}"]
        rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
        found = {
            tuple(row[:n_names]): [float(cell.split(",")[0]) for cell in row[n_names:]]
            for row in rows
        }
        assert len(found) == len(rows) > 3
        return found

    decisions, losses = coverage("decisions", 1), coverage("losses", 2)
    few = [decisions.pop(("10 even classes, n = 50",)), decisions.pop(("0.5% positive, n = 400",))]
    skewed = losses["exponential", "20"].pop(0)
    rest = {
        "metrics of decisions": decisions,
        "ROC AUC, partial areas": coverage("areas", 3) | coverage("partial areas", 4),
        "differences of two models": coverage("differences", 3),
        "mean losses": losses,
        "GAUC, 5 groups or more": coverage("groups", 3),
        "measures of rankings, 5 queries or more": coverage("queries", 1),
    }
    said = dict(re.findall(r"^\| (.+?) \| (\d+) to \d+% \|", page, re.MULTILINE))
    assert said.keys() == rest.keys()
    for name, rows in rest.items():
        assert round(100 * min(map(min, rows.values()))) >= int(said[name]), name
    for text, share in [("or fewer: down to", min(map(min, few))), ("than 50 rows:", skewed)]:
        shown = re.search(rf"{text} (\d+)%", page)
        assert shown is not None
        assert abs(int(shown[1]) - 100 * share) <= 1, text


def test_accuracy_tables_are_about_the_data_of_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    data = importlib.import_module("curve_accuracy").DATA
    tables = TABLES["curve-accuracy"]
    assert re.findall(r"^\| (.*?) \| 0\.", tables, re.MULTILINE) == [*data, *data]
    assert "| NO |" not in tables


def test_page_on_rankings_is_filled_with_the_answers_of_libraries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    divergence = importlib.import_module("rank_divergence")
    page = divergence.filled(TEXTS[ROOT / "docs" / "explanation" / "ranking.md"])
    assert not any(mark in page for mark in divergence.MARKS)
    shown = re.findall(r"^\| (\d+) \| .+ \| [\d.]{6} \|", page, re.MULTILINE)
    assert {*map(int, shown)} >= {*range(1, 18)}
    assert '| `ties="docid_desc"` |' in page


@pytest.mark.parametrize(("library", "n_answers"), [("trec_eval", 17), ("scikit-learn", 7)])
def test_answers_of_a_rank_library_are_reproduced(
    library: str, n_answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    assert importlib.import_module("rank_divergence").check(library) == n_answers


@pytest.mark.slow
def test_comparison_is_what_the_script_measures_of_what_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    head, line, *rows = importlib.import_module("comparison").table("streameval").splitlines()
    table = TABLES["comparison"]
    assert table.startswith("\n".join([head, line, *rows]))
    shown = README.partition("| | ROC AUC")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(shown) > 5
    assert {*shown} < {*table.splitlines()}


def test_readme_has_at_most_600_words() -> None:
    assert len(README.split()) <= 600


def test_ranking_reference_gives_names_that_mean_the_same() -> None:
    page = (ROOT / "docs" / "reference" / "ranking.md").read_text(encoding="utf-8")
    table = page.partition("## Measures")[2].partition("`Precision@10`")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `")]
    for own, _, _, *others in rows:
        kinds = re.findall(r"`(.+?)`", own)
        for cell in others:
            for place, name in enumerate(re.findall(r"`(.+?)`", cell)):
                kind = kinds[place if len(kinds) > 1 else 0]
                measure = f"{kind}@10" if "10" in name else kind
                assert name in streameval.RankingAccumulator([measure]).compute()


def test_glossary_is_one_list_of_definitions_in_the_order_of_the_alphabet() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    _, *entries = page.split("\n\n")
    assert all(re.match(r"\*\*.+\*\*\n: \S", entry) for entry in entries)
    terms = [entry.split("**")[1].casefold() for entry in entries]
    assert terms == sorted(terms)


def test_logs_are_small() -> None:
    size = sum(path.stat().st_size for path in (ROOT / "docs" / "data").iterdir())
    assert size < 2_000_000


def test_index_of_how_to_says_what_each_page_is_about() -> None:
    folder = ROOT / "docs" / "how-to"
    index = (folder / "index.md").read_text(encoding="utf-8")
    titles = {
        path.name: path.read_text(encoding="utf-8").partition("\n")[0]
        for path in folder.glob("*.md")
    }
    found = re.findall(r"^- \[(.+)\]\((.+)\): .+\.$", index, re.MULTILINE)
    assert {name: f"# {title}" for title, name in found} | {"index.md": "# How-to"} == titles


def test_python_blocks_are_run_as_examples() -> None:
    """Examples begin with a prompt, and an empty line ends them."""
    blocks = [
        (page.name, block)
        for page, text in TEXTS.items()
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    ]
    assert [found for found in blocks if not found[1].startswith(">>> ")] == []
    assert [found for found in blocks if not found[1].endswith("\n\n")] == []


def test_every_block_is_closed() -> None:
    fences = {page: re.findall(r"^(```.*)", text, re.MULTILINE) for page, text in TEXTS.items()}
    assert [page for page, found in fences.items() if len(found) % 2] == []
    assert [page for page, found in fences.items() if not set(found[1::2]) <= {"```"}] == []


def test_relative_links_lead_somewhere() -> None:
    links = [
        page.parent / link
        for page, text in TEXTS.items()
        for link in re.findall(r"\]\(([^)#\s]+)", text)
        if "://" not in link
    ]
    assert len(links) > 100
    assert [link for link in links if not link.exists()] == []


def anchors(page: Path) -> set[str]:
    """List the anchors that GitHub gives to the headings of a page."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found[name] = found.get(name, 0) + 1
    return {f"{name}-{n}" if n else name for name, total in found.items() for n in range(total)}


def test_architecture_names_modules_and_names_that_exist() -> None:
    text = TEXTS[ROOT / "docs" / "explanation" / "architecture.md"]
    package = Path(streameval.__file__).parent
    folders = (package, package / "monitoring", ROOT)
    modules = set(re.findall(r"`([\w/]+\.py)`", text))
    assert len(modules) > 20
    assert {
        one for one in modules if not any((folder / one).exists() for folder in folders)
    } == set()
    code = "\n".join(path.read_text(encoding="utf-8") for path in package.glob("**/*.py"))
    names = {name for name in re.findall(r"`(\w+)`", text) if not (package / name).exists()}
    assert names - {*re.findall(r"\w+", code)} == set()


@each("page", sorted(ROOT.glob("*.md")))
def test_links_of_a_document_lead_to_files_and_headings(page: Path) -> None:
    """Sphinx checks the pages of the site, and not these."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    own = [link.partition("#") for link in links if "://" not in link]
    assert [name for name, *_ in own if not (page.parent / name).exists()] == []
    assert [
        f"{name}#{anchor}"
        for name, _, anchor in own
        if anchor and anchor not in anchors(page.parent / name if name else page)
    ] == []


def test_anchors_of_headings_are_those_of_github(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b_c`, d-e!\n\n```\n# code\n```\n\n## Two\n\n### Two\n", encoding="utf-8")
    assert anchors(page) == {"a-b_c-d-e", "two", "two-1"}


def test_command_line_reference_names_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    from streameval.cli.arguments import argument_parser

    monkeypatch.syspath_prepend(ROOT / "docs")
    tables = importlib.import_module("option_tables")
    former = TEXTS[ROOT / "docs" / "versions.md"].partition("### Deprecated names")[2]
    page = tables.filled(TEXTS[ROOT / "docs" / "reference" / "command-line.md"]) + former
    parser = argument_parser()
    commands = next(action for action in parser._actions if isinstance(action.choices, dict))
    options = {
        option
        for command in [parser, *commands.choices.values()]
        for action in command._actions
        for option in action.option_strings
    }
    assert {option for option in options if f"`{option}" not in page} == {"-h"}
    assert "<!--" not in page
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert {len(re.split(r"(?<!\\)\|", row)) - 2 for row in rows} == {2, 3}


def test_tables_of_commands_and_tasks_have_a_row_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    from streameval.cli.arguments import argument_parser
    from streameval.cli.options import TASKS

    monkeypatch.syspath_prepend(ROOT / "docs")
    tables = importlib.import_module("option_tables")
    commands = next(one.choices for one in argument_parser()._actions if one.choices)
    for mark, names, n_cells in [("commands", list(commands), 2), ("tasks", list(TASKS), 3)]:
        _, _, *rows = tables.filled(f"<!-- {mark} -->").splitlines()
        assert [re.findall(r"\w+", row.removeprefix("| `streameval "))[0] for row in rows] == names
        assert {len(re.split(r"(?<!\\)\|", row)) - 2 for row in rows} == {n_cells}


def test_monitor_reference_names_every_exported_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx")
    core = pytest.importorskip("prometheus_client.core")
    from streameval.monitoring.prometheus import _Families

    monkeypatch.syspath_prepend(ROOT / "docs")
    tables = importlib.import_module("exported_metrics")
    page = tables.filled(TEXTS[ROOT / "docs" / "reference" / "monitor.md"])
    names = {
        one.name + "_total" * isinstance(one, core.CounterMetricFamily)
        for one in _Families().every()
    }
    steps = {name for name in names if name.endswith("_steps")}
    assert {name for name in names - steps if f"| `{name}` |" not in page} == set()


def test_format_describes_every_type_and_the_fields_of_its_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    tables = importlib.import_module("state_tables")
    page = tables.filled(TEXTS[ROOT / "docs" / "reference" / "format.md"])
    heads = re.findall(r"^(?:\*\*|\| )(\d+)(?:,| \|) `(\w+)`", page, re.MULTILINE)
    assert {(int(number), name) for number, name in heads} == {*OWN_TYPES.items()}
    curve = page.partition("`ScoreTables`.**")[2].partition("\n\n**")[0]
    fields = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.+?) \|", curve, re.MULTILINE)))
    assert fields == [field.name for field in attrs.fields(ScoreTables)]


@pytest.mark.slow
def test_delays_of_evidence_are_what_the_script_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    script = importlib.import_module("evidence_delays")
    found = re.findall(r"^\| (.*?) \|.* \| (.*?) \|$", TABLES["evidence-rules"], re.MULTILINE)
    rows = dict(found[1:])
    assert list(rows) == list(script.RULES)
    for name in ("value below 0.9 for three panes", "`evidence`, 1 per 30d"):
        assert " / ".join(script.delays(script.RULES[name], 0.8)) == rows[name]


def test_how_to_compares_rules_by_the_table_of_the_explanation() -> None:
    how_to = " ".join(TEXTS[ROOT / "docs/how-to/alert-on-a-drop.md"].split())
    found = re.search(
        r"raised (\d+) alarms in 30 days, and evidence (\d+)\. Both found a drop to 0\.8 after "
        r"(\d+) panes \(median\), and a drop to 0\.87 after (\d+) and (\d+)\.",
        how_to,
    )
    lines = re.findall(r"^\| (.*?) \| (.*) \|$", TABLES["evidence-rules"], re.MULTILINE)
    values, evidence = (
        [cell.partition(" /")[0] for cell in dict(lines)[name].split(" | ")]
        for name in ("value below 0.9 for three panes", "`evidence`, 1 per 30d")
    )
    assert values[4] == evidence[4]
    assert found.groups() == (values[0], evidence[0], values[4], values[3], evidence[3])


def test_exact_metrics_kept_their_promise_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    script = importlib.import_module("evidence_delays")
    line = r"^\| (.*?) \| (\d+) \| (\d+) \| (\d+) \|$"
    rows = re.findall(line, TABLES["evidence-metrics"], re.MULTILINE)
    assert [(name, int(usual)) for name, usual, *_ in rows] == [
        (name, draws) for name, (draws, *_) in script.METRICS.items()
    ]
    allowed = script.SERIES * script.DAYS * script.PANES / script.PROMISE
    assert all(int(count) <= allowed for _, _, *counts in rows for count in counts)
    assert script.dependent_alarms("accuracy", is_dependent=True, days=1) == 0


def test_table_of_names_has_every_public_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    names = importlib.import_module("name_table").documented()
    missing = {f"streameval.{name}" for name in streameval.__all__} - names.keys()
    assert missing <= {f"streameval.{name}" for name in ERRORS}


def test_install_page_lists_every_extra_with_what_it_installs() -> None:
    extras = PYPROJECT["project"]["optional-dependencies"]
    wanted = {
        name: {re.split(r"[\[><=; ]", one)[0] for one in packages}
        for name, packages in extras.items()
    }
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", INSTALL, re.MULTILINE)
    assert {name: set(cell.split(", ")) for name, cell in rows} == wanted
    assert [name for name, _ in rows] == sorted(wanted)


def test_install_page_names_the_lowest_versions() -> None:
    project = PYPROJECT["project"]
    found = dict(re.findall(r"^\| (Python|NumPy|attrs) \| ([\d.]+) \|", INSTALL, re.MULTILINE))
    assert f">={found['Python']}" == project["requires-python"]
    assert {f"attrs>={found['attrs']}", f"numpy>={found['NumPy']}"} == set(project["dependencies"])


@each("folder", ["tutorial", "reference", "explanation", "migrate"])
def test_index_has_a_line_for_every_page(folder: str) -> None:
    text = (ROOT / "docs" / folder / "index.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs" / folder).glob("*.md")} - {"index.md"}
    assert set(re.findall(r"^(?:- |\d\. |\| )\[.+?\]\(([\w-]+\.md)\)", text, re.MULTILINE)) == pages


def test_citation_and_changelog_have_the_version_of_the_package() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = PYPROJECT["project"]
    fields = dict(re.findall(r"^([\w-]+): (.+)$", citation, re.MULTILINE))
    assert fields["version"] == streameval.__version__
    heading = f"\n## {streameval.__version__} ({fields['date-released']})\n"
    assert heading in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert fields["license"] == project["license"]
    assert fields["cff-version"] == "1.2.0"


def test_changelog_has_an_entry_to_read_and_each_note_once_under_its_date() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entry, _, notes = text.partition("\n## Notes\n")
    assert len(entry.split()) < 1200
    dates = re.findall(r"^#+ (.+)$", notes, re.MULTILINE)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", date) for date in dates)
    assert dates == sorted({*dates}, reverse=True)
    firsts = re.findall(r"^- .+$", notes, re.MULTILINE)
    assert [line for line in firsts if firsts.count(line) > 1] == []


def test_recipe_for_conda_is_of_the_package() -> None:
    recipe = (ROOT / ".ci" / "recipe.yaml").read_text(encoding="utf-8")
    project = PYPROJECT["project"]
    needed = recipe.partition("  run:\n")[2].partition("\n\n")[0].replace(" ", "").splitlines()
    assert {line.removeprefix("-") for line in needed} == {
        f"python{project['requires-python']}",
        *project["dependencies"],
    }
    assert f'version: "{streameval.__version__}"' in recipe
    assert f"- streameval = {project['scripts']['streameval']}" in recipe
    assert f"license: {project['license']}" in recipe


def test_documents_of_the_project_are_in_the_source_distribution() -> None:
    included = PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    documents = {f"/{path.name}" for path in [*ROOT.glob("*.md"), *ROOT.glob("*.cff")]}
    assert documents <= set(included)
