"""The files that deploy a monitor: their commands run, and what judges them finds nothing.

No container is built or started here: the image needs a registry, and the manifest a cluster.
"""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml
from monitoring.prometheus_server import DOCS, free_port
from waiting import until

FILES = DOCS / "deploy"
UNIT = (FILES / "streameval.service").read_text()
DOCKERFILE = (FILES / "Dockerfile").read_text()
STATEFUL_SET, SERVICE = yaml.safe_load_all((FILES / "kubernetes.yaml").read_text())
POD = STATEFUL_SET["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
FOLDERS = ("/etc/streameval", "/var/lib/streameval", "/var/log/model")


def of_unit():
    (line,) = re.findall(r"^ExecStart=(.+)$", UNIT, re.MULTILINE)
    return shlex.split(line)


def of_image():
    lines = dict(re.findall(r"^(ENTRYPOINT|CMD) (.+)$", DOCKERFILE, re.MULTILINE))
    return json.loads(lines["ENTRYPOINT"]), json.loads(lines["CMD"])


COMMANDS = {
    "systemd": of_unit(),
    "docker": [*of_image()[0], *of_image()[1]],
    "kubernetes": [*of_image()[0], *CONTAINER["args"]],
}


def asked(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status
    except OSError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("where", COMMANDS)
def test_command_runs_answers_its_probes_and_ends(tmp_path, where):
    port, (_, *words) = free_port(), COMMANDS[where]

    def here(text):
        for folder in FOLDERS:
            text = text.replace(folder, f"{tmp_path}{folder}")
        return text.replace(":8765", f":{port}")

    for folder in FOLDERS:
        Path(f"{tmp_path}{folder}").mkdir(parents=True)
    config = Path(here(f"{FOLDERS[0]}/monitor.toml"))
    config.write_text(here((FILES / "monitor.toml").read_text()))
    rows = [{"ts": 1_700_000_000 + i, "y_true": i % 2, "y_score": i % 7 / 7} for i in range(300)]
    log = Path(here(f"{FOLDERS[2]}/predictions.jsonl"))
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "streameval", *map(here, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            path = CONTAINER[name]["httpGet"]["path"]
            until(lambda path=path: asked(port, path) == 200)
        until(lambda: asked(port, "/metrics"))
    finally:
        process.send_signal(signal.SIGTERM)
        _, logged = process.communicate(timeout=60)
    assert process.returncode == 0, logged
    assert all(json.loads(line)["level"] != "error" for line in logged.splitlines())
    assert list(Path(here(FOLDERS[1])).glob("monitor.db")), "the only folder that it writes to"


def test_unit_is_one_that_systemd_takes(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: the unit is parsed, not verified")
    unit = tmp_path / "streameval.service"
    unit.write_text(UNIT.replace(of_unit()[0], sys.executable))
    verify = ["systemd-analyze", "verify", "--man=no", str(unit)]
    found = subprocess.run(verify, capture_output=True, text=True, check=False)
    lines = [line for line in found.stderr.splitlines() if unit.name in line]
    assert (found.returncode, lines) == (0, [])


def test_unit_stops_where_a_restart_does_not_help():
    from streameval.cli.errors import BAD_DATA, INCOMPATIBLE, USAGE

    (statuses,) = re.findall(r"^RestartPreventExitStatus=(.+)$", UNIT, re.MULTILINE)
    assert {*map(int, statuses.split())} == {USAGE, BAD_DATA, INCOMPATIBLE}
    assert "Restart=on-failure" in UNIT


def test_image_is_slim_and_its_user_is_not_root():
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert all(re.fullmatch(r"python:3\.\d+-slim", base) for base in bases)
    assert re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE) == ["10001"]
    written = re.findall(r"^VOLUME (\S+)$", DOCKERFILE, re.MULTILINE)
    assert written == [FOLDERS[1]]


def test_pod_is_confined_and_writes_to_its_checkpoint_only():
    assert POD["securityContext"]["runAsNonRoot"] is True
    confined = CONTAINER["securityContext"]
    assert (confined["readOnlyRootFilesystem"], confined["allowPrivilegeEscalation"]) == (
        True,
        False,
    )
    writable = [one["mountPath"] for one in CONTAINER["volumeMounts"] if not one.get("readOnly")]
    assert writable == [FOLDERS[1], "/tmp"]
    claims = STATEFUL_SET["spec"]["volumeClaimTemplates"]
    named = {one["name"] for one in POD["volumes"]} | {one["metadata"]["name"] for one in claims}
    assert {one["name"] for one in CONTAINER["volumeMounts"]} == named
    assert STATEFUL_SET["spec"]["replicas"] == 1, "a checkpoint has one monitor"
    assert CONTAINER["resources"]["limits"].keys() == {"cpu", "memory"}
    labels = STATEFUL_SET["spec"]["template"]["metadata"]["labels"]
    assert STATEFUL_SET["spec"]["selector"]["matchLabels"] == labels == SERVICE["spec"]["selector"]


@pytest.mark.server(name="linters")
@pytest.mark.parametrize(
    "command",
    [
        ["kubernetes-validate", "--strict", FILES / "kubernetes.yaml"],
        ["hadolint", FILES / "Dockerfile"],
    ],
    ids=lambda command: command[0],
)
def test_linter_finds_nothing(command):
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
