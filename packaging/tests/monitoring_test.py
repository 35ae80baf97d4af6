#!/usr/bin/env python3
"""Dashboard and alerts speak of metrics that the daemon has: monitoring_test.py CUZK

Starts a daemon, scrapes it, and compares. promtool judges the text and the rules and runs the
alerts' own tests.
"""

import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

CUZK = sys.argv[1]
HERE = pathlib.Path(__file__).resolve().parent.parent
RULES = HERE / "prometheus/cuzk.rules.yml"
RULES_TEST = HERE / "prometheus/cuzk.rules_test.yml"
DASHBOARD = json.loads((HERE / "grafana/cuzk.json").read_text())
OPERATORS = HERE.parent / "docs/operators.md"


def scraped():
    """The text of /metrics of a daemon that has nothing to do."""
    with socket.socket() as free, tempfile.TemporaryDirectory(prefix="cuzk-metrics-") as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        (pathlib.Path(folder) / "cuzk.toml").write_text(
            f'[daemon]\nlisten = "unix://{folder}/socket"\nstatus_listen = "127.0.0.1:{port}"\n'
            f'[srs]\nparam_cache = "{folder}"\ncircuit_cache = "{folder}"\n[jobs]\njournal = "none"\n')
        daemon = subprocess.Popen([CUZK, "serve", "--config", f"{folder}/cuzk.toml"], stderr=subprocess.DEVNULL)
        try:
            for _ in range(300):
                try:
                    return urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
                except OSError:
                    assert daemon.poll() is None, "the daemon ended"
                    time.sleep(0.1)
            raise AssertionError("no metrics within 30 seconds")
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(60)


TEXT = scraped()
FAMILIES = dict(re.findall(r"^# TYPE (\S+) (\S+)$", TEXT, flags=re.M))


def exported():
    """Every name that a query may use."""
    for name, kind in FAMILIES.items():
        yield from (f"{name}_{part}" for part in ("bucket", "sum", "count")) if kind == "histogram" else (name,)


def names_in(query):
    return set(re.findall(r"\bcuzk_\w+", query))


def dashboard_queries(node=DASHBOARD):
    if isinstance(node, dict):
        yield from (node[k] for k in ("expr", "definition") if isinstance(node.get(k), str))
        for value in node.values():
            yield from dashboard_queries(value)
    elif isinstance(node, list):
        for value in node:
            yield from dashboard_queries(value)


class Monitoring(unittest.TestCase):
    def test_what_dashboard_and_alerts_ask_for_is_exported(self):
        self.assertGreater(len(FAMILIES), 30)
        there = set(exported())
        asked = set().union(*map(names_in, dashboard_queries()), names_in(RULES.read_text()))
        self.assertGreater(len(asked), 25)
        self.assertEqual(asked - there, set())

    def test_the_dashboard_shows_every_family(self):
        shown = set().union(*map(names_in, dashboard_queries()))
        shown = {re.sub(r"_(bucket|sum|count)$", "", n) if n not in FAMILIES else n for n in shown}
        # The counts of requests by result say it by kind; the limits of pinned memory are seldom set.
        elsewhere = {"cuzk_proofs_completed_total", "cuzk_draining", "cuzk_gpu_workers",
                     "cuzk_memory_peak_reserved_bytes", "cuzk_pinned_limit_bytes", "cuzk_pinned_leased_bytes"}
        self.assertEqual(set(FAMILIES) - shown - elsewhere, set())

    def test_labels_that_queries_match_are_those_of_the_daemon(self):
        for query in [*dashboard_queries(), RULES.read_text()]:
            for priority in re.findall(r'priority="(\w+)"', query):
                self.assertIn(f'cuzk_queued_requests{{priority="{priority}"}}', TEXT)

    def test_panels_do_not_overlap(self):
        taken = set()
        for panel in DASHBOARD["panels"]:
            g = panel["gridPos"]
            cells = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(g["x"] + g["w"], 24)
            taken |= cells

    def test_every_alert_has_a_test_and_advice(self):
        alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
        self.assertEqual(len(alerts), len(set(alerts)))
        tested = set(re.findall(r"alertname: (\w+)\n\s+exp_alerts:", RULES_TEST.read_text()))
        advised = set(re.findall(r"^\| `(Cuzk\w+)` \|", OPERATORS.read_text(), flags=re.M))
        self.assertEqual(set(alerts), tested)
        self.assertEqual(set(alerts), advised)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_promtool_finds_nothing(self):
        subprocess.run(["promtool", "check", "metrics"], input=TEXT, text=True, check=True)
        subprocess.run(["promtool", "check", "rules", RULES], check=True)
        subprocess.run(["promtool", "test", "rules", RULES_TEST.name], cwd=RULES_TEST.parent, check=True)
        with tempfile.TemporaryDirectory() as folder:
            # The example as it stands, with the rules where they lie here.
            example = pathlib.Path(folder) / "prometheus.yml"
            text = (HERE / "prometheus/scrape.yml").read_text()
            example.write_text(text.replace("/usr/share/cuzk/prometheus", str(RULES.parent)))
            subprocess.run(["promtool", "check", "config", example], check=True)
            # Every query of the dashboard is one that Prometheus understands.
            queries = [re.sub(r"\$__rate_interval", "1m", q) for q in dashboard_queries() if "label_values" not in q]
            rules = [{"record": f"query:{i}", "expr": q} for i, q in enumerate(queries)]
            file = pathlib.Path(folder) / "queries.yml"
            file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
            subprocess.run(["promtool", "check", "rules", file], check=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
