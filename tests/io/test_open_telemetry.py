"""Log records of OpenTelemetry: a row of each record, with its attributes."""

import io
import json
from typing import Any

import pytest
from offenders import each

from streameval.cli import main
from streameval.errors import BadDataError
from streameval.io.formats import read_blocks
from streameval.io.json_lines import record_blocks
from streameval.io.streams import ByteStream


def pairs(**values: Any) -> list[dict[str, Any]]:
    return [{"key": name.replace("__", "."), "value": value} for name, value in values.items()]


def export(*records: dict[str, Any]) -> str:
    resource = {"attributes": pairs(service__name={"stringValue": "bot"})}
    scopes: list[dict[str, Any]] = [{"scope": {}, "logRecords": list(records)}, {}]
    return json.dumps({"resourceLogs": [{"resource": resource, "scopeLogs": scopes}, {}]})


def judged(name: str, score: float) -> dict[str, Any]:
    attributes = pairs(
        gen_ai__evaluation__name={"stringValue": name},
        gen_ai__evaluation__score__value={"doubleValue": score},
    )
    event = "gen_ai.evaluation.result"
    return {"timeUnixNano": "1780000000000000000", "eventName": event, "attributes": attributes}


def rows(text: str) -> list[Any]:
    blocks = record_blocks(ByteStream(io.BytesIO(text.encode()), "log"))
    return [row for block in blocks for row in block.rows()]


def test_each_record_is_a_row_with_the_attributes_of_its_resource() -> None:
    assert rows(f"{export(judged('relevance', 4.5), judged('toxicity', 0.5))}\n\n") == [
        {
            "service.name": "bot",
            "time": 1780000000000000000,
            "event.name": "gen_ai.evaluation.result",
            "gen_ai.evaluation.name": name,
            "gen_ai.evaluation.score.value": score,
        }
        for name, score in [("relevance", 4.5), ("toxicity", 0.5)]
    ]


def test_values_of_every_type_are_unpacked() -> None:
    held = {"values": [{"intValue": "3"}, {"boolValue": True}]}
    nested = {"values": pairs(a={"arrayValue": {}}, b={"kvlistValue": {}})}
    attributes = pairs(many={"arrayValue": held}, one={"kvlistValue": nested})
    (row,) = rows(export({"observedTimeUnixNano": "7", "traceId": "0a", "attributes": attributes}))
    assert row == {
        "service.name": "bot",
        "time": 7,
        "trace_id": "0a",
        "many": [3, True],
        "one": {"a": [], "b": {}},
    }
    assert rows(export({}))[0]["time"] is None


@each("line", ["{", '{"y": 1}', '{"resourceLogs": 3}', '{"resourceLogs": [3]}'])
def test_lines_that_are_no_export_are_refused(line: str) -> None:
    message = "^log, line 2: not log records of OpenTelemetry in JSON.$"
    with pytest.raises(BadDataError, match=message):
        rows(f"{export({})}\n{line}\n")


def test_events_of_evaluations_are_evaluated(tmp_path: Any, capsys: Any) -> None:
    file = tmp_path / "events.jsonl"
    whole = f"{export(judged('relevance', 4.0), judged('toxicity', 1.0))}\n"
    file.write_text(f"{whole}{whole[:40]}")
    assert len(list(read_blocks(str(file)))) == 2
    score, name = "gen_ai.evaluation.score.value", "gen_ai.evaluation.name"
    given = [
        "eval",
        str(file),
        "--task",
        "values",
        "--value",
        score,
        "--where",
        f"{name}=relevance",
    ]
    assert main([*given, "--json"]) == 3
    assert "events.jsonl, item 3: not JSON" in capsys.readouterr().err
    assert main([*given, "--json", "--partial-last-line", "skip"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["mean"] == 4.0
