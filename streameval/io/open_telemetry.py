"""Log records of OpenTelemetry, in the JSON lines of its collector and exporters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from streameval.errors import BadDataError
from streameval.io.json_lines import JsonItems, json_blocks
from streameval.io.streams import ByteStream

_HEAD = re.compile(rb'\s*\{\s*"resourceLogs"\s*:')
_NAMES = {"eventName": "event.name", "traceId": "trace_id", "spanId": "span_id"}


def holds_records(head: bytes) -> bool:
    """Tell by its first bytes whether a file holds exported log records.

    >>> holds_records(b'{"resourceLogs": [{"scopeLogs": []}]}'), holds_records(b'{"y_true": 1}')
    (True, False)
    """
    return _HEAD.match(head) is not None


def record_blocks(stream: ByteStream) -> Iterator[JsonItems]:
    """Make a row of each record: the attributes of it and of its resource, its time and its name.

    Raises
    ------
    BadDataError
        If a line is no such export.
    """
    number = 1
    for block in json_blocks(stream):
        lines: list[str] = []
        for line, text in enumerate(block.data.split(b"\n"), block.first_line):
            if text.strip():
                try:
                    rows = [json.dumps(row) for row in _records(json.loads(text))]
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    if not block.unended:
                        raise BadDataError(
                            f"{stream.name}, line {line}: not log records of OpenTelemetry in JSON."
                        ) from None
                    rows = [text.decode("utf-8", "surrogateescape")]
                lines += rows
        data = "".join(f"{row}\n" for row in lines).encode("utf-8", "surrogateescape")
        yield JsonItems(block.source, number, data, block.taken, block.unended)
        number += len(lines)


def _records(export: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in export["resourceLogs"]:
        shared = _attributes(resource.get("resource", {}))
        for scope in resource.get("scopeLogs", []):
            for record in scope.get("logRecords", []):
                named = {new: record[name] for name, new in _NAMES.items() if name in record}
                time = record.get("timeUnixNano") or record.get("observedTimeUnixNano")
                yield {**shared, "time": time and int(time), **named, **_attributes(record)}


def _attributes(holder: dict[str, Any]) -> dict[str, Any]:
    return {pair["key"]: _value(pair["value"]) for pair in holder.get("attributes", [])}


def _value(value: dict[str, Any]) -> Any:
    """Unpack a value, whose type is its key; integers are texts."""
    ((kind, held),) = value.items()
    match kind:
        case "intValue":
            return int(held)
        case "arrayValue":
            return [_value(item) for item in held.get("values", [])]
        case "kvlistValue":
            return {pair["key"]: _value(pair["value"]) for pair in held.get("values", [])}
        case _:
            return held
