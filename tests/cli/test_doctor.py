"""`streameval doctor`: versions, and what is missing for what."""

import platform
import tomllib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import streameval as se
from streameval.cli import installation

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def line_of(extra, text):
    return next(line for line in text.splitlines() if line.startswith(f"{extra} "))


@pytest.fixture
def installed(monkeypatch):
    """Pretend that streameval requires these lines, and that packages have these versions."""

    def pretend(requires, versions):
        def version(package):
            if package not in versions:
                raise metadata.PackageNotFoundError(package)
            return versions[package]

        monkeypatch.setattr(installation.metadata, "requires", lambda _: requires)
        monkeypatch.setattr(installation.metadata, "version", version)

    monkeypatch.setattr(se, "__version__", "1.2.3", raising=False)
    return pretend


def test_doctor_prints_versions(call):
    done = call("doctor")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"streameval {se.__version__}, ")
    assert platform.python_version() in done.out.splitlines()[0]
    assert f"numpy {np.__version__}" in line_of("(core)", done.out)


def test_doctor_knows_every_extra_and_what_it_is_for():
    assert [*installation.PURPOSES] == [installation.CORE, *sorted(EXTRAS)]


def test_doctor_reads_every_requirement(call, installed):
    core = PROJECT["dependencies"]
    rest = [
        f"{line.replace('; ', '; (')}{') and' if ';' in line else ';'} extra == '{extra}'"
        for extra, lines in EXTRAS.items()
        for line in lines
        if "python_version" not in line
    ]
    installed([*core, *rest], {})
    assert call("doctor").out.count(" missing") == len(core) + len(rest)


def test_doctor_says_what_is_missing(call, installed):
    requires = ["numpy>=2.0", "dask>=2024.12; extra == 'dask'", "pyarrow>=16; extra == 'dask'"]
    installed(requires, {"numpy": "2.4.6", "pyarrow": "26.0.1+local"})
    done = call("doctor")
    assert (done.code, done.err) == (0, "")
    assert line_of("(core)", done.out).split()[1:3] == ["numpy", "2.4.6"]
    assert "dask missing, pyarrow 26.0.1+local  Dask" in line_of("dask", done.out)


def test_doctor_leaves_out_what_this_python_has(call, installed):
    installed(["backports-zstd>=1.0; (python_version < '3.0') and extra == 'zstd'"], {})
    assert "a part of this Python" in line_of("zstd", call("doctor").out)


def test_doctor_fails_for_a_package_that_is_too_old(call, installed):
    installed(["matplotlib>=3.8; extra == 'plot'"], {"matplotlib": "3.7.9"})
    done = call("doctor")
    assert done.code == 1
    assert "matplotlib 3.7.9 too old" in line_of("plot", done.out)
    assert done.err == ("streameval: error: matplotlib 3.7.9 is too old: at least 3.8 is needed.\n")


def test_doctor_of_a_folder_that_is_not_installed_says_what_to_do(call, monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(installation.metadata, "requires", requires)
    done = call("doctor")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("streameval is not installed: pip install it from its folder.\n")
