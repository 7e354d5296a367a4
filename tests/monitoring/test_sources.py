import inspect
import re
from contextlib import closing
from pathlib import Path

import pytest
from monitoring.fake_kafka import Kafka as KafkaServer
from monitoring.fake_redis import Redis as RedisServer
from offenders import each

from streameval.errors import InvalidInputError
from streameval.monitoring.files import Tail
from streameval.monitoring.folders import Folder
from streameval.monitoring.followed import log_name
from streameval.monitoring.intake import as_source
from streameval.monitoring.sources import Source
from streameval.monitoring.standard_input import StandardInput


def test_a_source_is_a_source(tmp_path):
    tail = Tail("app.log")
    assert as_source(tail) is tail
    assert all(isinstance(source, Source) for source in (tail, Folder("in")))


def test_paths_and_globs_are_followed(tmp_path):
    for value in ("app.log", Path("app.log"), ["app.log"], ("a*.log", Path("b.log"))):
        assert isinstance(as_source(value), Tail)
    assert as_source(["a*.log", Path("b.log")]).name == "a*.log, b.log"


def test_a_folder_is_read_as_one(tmp_path):
    assert isinstance(as_source(tmp_path), Folder)
    assert isinstance(as_source([str(tmp_path)]), Folder)


def test_a_folder_that_does_not_exist_yet_ends_in_a_slash(tmp_path):
    assert isinstance(as_source(f"{tmp_path}/parts/"), Folder)
    assert isinstance(as_source(f"{tmp_path}/parts"), Tail)


def test_a_folder_is_not_mixed_with_files():
    with pytest.raises(
        InvalidInputError, match=r"^`labels` must not mix the folder in/ with others"
    ):
        as_source(["app.log", "in/"], argument="labels")


def test_a_dash_is_standard_input():
    assert isinstance(as_source("-"), StandardInput)


def test_standard_input_is_not_mixed_with_files():
    with pytest.raises(
        InvalidInputError, match=r"^`labels` must not mix standard input with files"
    ):
        as_source(["-", "app.log"], argument="labels")


def test_options_reach_the_source(tmp_path):
    for value in (tmp_path, "app.log", "-"):
        with pytest.raises(InvalidInputError, match=r"^`delimiter` must be one character"):
            as_source(value, delimiter="::")


@pytest.mark.parametrize("make", [Tail, Folder])
def test_source_reads_decimal_commas(make, tmp_path):
    (tmp_path / "a.csv").write_text("score;n\n0,25;1\n")
    path = tmp_path if make is Folder else tmp_path / "a.csv"
    with closing(make(path, delimiter=";", decimal=",")) as source:
        assert [*source.read(2**20).block.rows()] == [{"score": 0.25, "n": 1}]


def test_decimal_sign_is_a_comma_or_a_point():
    with pytest.raises(InvalidInputError, match=r"^`decimal` must be ',' or '\.', got ';'"):
        as_source("a.csv", decimal=";")


@pytest.mark.parametrize("make", [Tail, Folder, lambda _: StandardInput()])
def test_closed_source_is_not_read(make, tmp_path):
    source = make(tmp_path)
    source.close()
    with pytest.raises(InvalidInputError, match=r"^`source` is closed"):
        source.read(2**20)


def test_options_of_a_source_that_is_there_are_refused():
    with pytest.raises(
        InvalidInputError, match=r"^`header` must be an option of the source itself"
    ):
        as_source(Tail("app.log"), header=["i"])


def test_what_is_no_source_is_refused():
    with pytest.raises(
        InvalidInputError, match=r"^`labels` must be a source, a path, or a list of paths, got int"
    ):
        as_source(3, argument="labels")


@each(
    ("log", "oldest_first"),
    [
        ("app.log", ["app.log.11", "app.log.10.gz", "app.log.2.zst", "app.log.1", "app.log"]),
        ("app.log", ["app.log-20251231.gz", "app.log-20260101", "app.log-20260102.xz", "app.log"]),
        ("app.log", ["app.log.2026-11-22", "app.log.2026-11-23", "app.log"]),
        ("app.log", ["app.log.2026-11-22_09", "app.log.2026-11-22_10", "app.log"]),
        ("app.log", ["app.log-2026112209", "app.log-2026112210", "app.log"]),
        ("app.log", ["app.log-1795305600", "app.log-1795309200.gz", "app.log"]),
        ("app.log", ["app-20261122.log.gz", "app-20261123.log", "app.log"]),
        ("app.log", ["app-2026-11-22T23-59-59Z.log", "app-2026-11-23T00-00-00Z.log"]),
        ("app.log", ["app-2026-11-22-1.log", "app-2026-11-22-2.log", "app-2026-11-22-12.log"]),
        ("app.log", ["app.2026-11-22.0.log", "app.2026-11-22.1.log", "app.log"]),
        ("*.jsonl", ["2026-11-22.jsonl", "2026-11-23.jsonl"]),
        ("*", ["20261122", "20261123"]),
    ],
)
def test_rotated_names_belong_to_their_log_in_order_of_age(log, oldest_first):
    assert {log_name(name).log for name in oldest_first} == {log}
    ages = [log_name(name).age for name in oldest_first]
    assert ages == sorted({*ages})


@each(
    "name",
    [
        "app.log",
        "part-0001.jsonl",
        "shard.7.csv",
        "app-1.log",
        "app.log.bak",
        "app.log.12345",
        "v20261399.log",
        "build-99991122.log",
        ".1",
    ],
)
def test_other_names_are_logs_of_their_own(name):
    assert log_name(name).log == name


@pytest.fixture
def servers(monkeypatch):
    RedisServer().install(monkeypatch)
    return KafkaServer().install(monkeypatch)


def test_urls_are_topics_and_streams(servers):
    topic = as_source(["kafka://broker:1/clicks"], kafka={"security.protocol": "SSL"})
    assert topic.name == "kafka:clicks"
    assert servers.configs[-1]["security.protocol"] == "SSL"
    for scheme in ("redis", "rediss"):
        assert as_source(f"{scheme}://server/1/clicks").name == "redis:1/clicks"


def test_other_urls_are_paths(servers):
    assert isinstance(as_source("s3://bucket/clicks"), Tail)
    assert isinstance(as_source("kafka:clicks"), Tail)


def test_servers_are_not_mixed_with_others(servers):
    for others in (["app.log"], ["kafka://broker/clicks"]):
        with pytest.raises(InvalidInputError, match=r"^`labels` must not mix a server with others"):
            as_source(["redis://server/1/clicks", *others], argument="labels")


def test_options_of_files_are_not_for_servers(servers):
    with pytest.raises(
        InvalidInputError, match=r"^`delimiter` is an option of files, not of kafka"
    ):
        as_source("kafka://broker/clicks", delimiter=";")


@each(
    ("options", "says"),
    [
        ({"delimiter": 3}, "`delimiter` must be one character other than a quote, got 3."),
        ({"header": 3}, "`header` must be a list of names, got 3."),
        ({"na": 3}, "`na` must be a list of texts, got 3."),
        ({"dates": "ymd"}, "`dates` must be 'dmy' or 'mdy', got 'ymd'."),
        ({"thousands": 3}, "`thousands` must be a comma, point, apostrophe, space or underscore"),
        ({"encoding": 3}, "`encoding` must be an encoding that has the bytes of ASCII"),
        ({"format": "xml"}, "`format` must be one of 'jsonl', 'csv', 'tsv', 'parquet', got 'xml'"),
    ],
)
def test_options_of_tables_are_refused_by_name(options, says, tmp_path):
    for make in (Tail, Folder):
        with pytest.raises(InvalidInputError, match=re.escape(says)):
            make(str(tmp_path), **options)


def test_sources_name_the_options_that_they_take():
    names = ("format", "delimiter", "header", "decimal", "thousands", "percent", "na")
    names = (*names, "dates", "encoding")
    for make in (Tail, Folder):
        assert tuple(inspect.signature(make).parameters)[1:] == names
        with pytest.raises(TypeError, match=f"^{make.__name__} has no argument 'sep': choose"):
            make("logs", sep=";")
