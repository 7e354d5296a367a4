"""All contests, one file per verb, in the order of the report."""

from speed.contest import Contest
from speed.verbs import (
    checks,
    commands,
    compute,
    formats,
    gather,
    groups,
    joins,
    logs,
    memory,
    merge,
    ranking,
    reading,
    state_bytes,
    stream,
    training_step,
    update,
)

VERBS: dict[str, list[Contest]] = {
    "update": update.CONTESTS,
    "stream": stream.CONTESTS,
    "compute": compute.CONTESTS,
    "merge": merge.CONTESTS,
    "gather": gather.CONTESTS,
    "bytes": state_bytes.CONTESTS,
    "ranking": ranking.CONTESTS,
    "training step": training_step.CONTESTS,
    "memory": memory.CONTESTS,
    "groups": groups.CONTESTS,
    "joins": joins.CONTESTS,
    "reading": reading.CONTESTS,
    "formats": formats.CONTESTS,
    "checks": checks.CONTESTS,
    "commands": commands.CONTESTS,
    "logs": logs.CONTESTS,
}

CONTESTS = [contest for contests in VERBS.values() for contest in contests]
