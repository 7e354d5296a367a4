#!/usr/bin/env bash
# Watch a service whose labels arrive later, from a first look at its log to an alert.
#
#     bash docs/examples/monitor.sh FOLDER
#
# Two logs are simulated: 5% of the predictions are wrong, and 25% after the first two days.
set -euo pipefail
mkdir -p "$1"
cd "$1"

# A prediction a minute for three days; its label arrives half an hour later.
awk 'BEGIN {
  for (i = 0; i < 3 * 1440; i++) {
    time = 1700006400 + 60 * i
    label = i % 3 == 0
    guess = i % (i < 2 * 1440 ? 20 : 4) == 0 ? 1 - label : label
    printf "{\"ts\": %d, \"id\": %d, \"y_pred\": %d}\n", time, i, guess > "predictions.jsonl"
    printf "{\"ts\": %d, \"id\": %d, \"y_true\": %d}\n", time + 1800, i, label > "labels.jsonl"
  }
}'

# A first look at both logs gives a file of options with comments; fill in what it cannot know.
streameval watch --init predictions.jsonl --labels labels.jsonl > monitor.toml
sed -e 's/^wait = .*/wait = "1h"/' \
  -e 's/^# alerts = .*/alerts = ["accuracy < 0.9"]/' \
  -e 's/^# on_alert = .*/on_alert = ["tee -a alerts.jsonl"]/' \
  monitor.toml > filled.toml
mv filled.toml monitor.toml

# Rehearse: this reads the logs and says what would fire; it writes and sends nothing.
streameval watch --config monitor.toml --check --quiet || echo "exit code $?: an alert would fire"

# Read what is there and tell the receivers, as a job of cron does every few minutes. Without
# `--once`, the monitor keeps running; killed at any moment, it continues from its last commit.
streameval watch --config monitor.toml --once --quiet || echo "exit code $?: an alert is firing"

# The checkpoint holds a result for each hour.
streameval show monitor.db --metrics accuracy | tail -6
