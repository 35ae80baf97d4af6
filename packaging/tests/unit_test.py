#!/usr/bin/env python3
"""The service's unit and its configuration agree with the daemon: unit_test.py CUZK UNIT CONFIG"""

import configparser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CUZK, UNIT, CONFIG = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


class Keys(dict):
    """Keys of a unit may stand more than once."""

    def __setitem__(self, key, value):
        if key in self and isinstance(value, list):
            self[key].extend(value)
        else:
            super().__setitem__(key, value)


def unit():
    parser = configparser.ConfigParser(dict_type=Keys, strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(UNIT)
    return {k: v.splitlines() for k, v in parser["Service"].items()}


def seconds(text):
    number, name = re.fullmatch(r"(\d+)\s*(\w*)", text).groups()
    return int(number) * SECONDS[name or "s"]


def shown(file=None):
    text = subprocess.run([CUZK, "config", "show", *([file] if file else [])], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    section, out = None, {}
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif " = " in line:
            key, value = line.rsplit("  #", 1)[0].split(" = ", 1)
            out[f"{section}.{key}"] = value.strip('"')
    return out


class Unit(unittest.TestCase):
    def test_the_example_configuration_is_good(self):
        done = subprocess.run([CUZK, "config", "check", CONFIG], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(" 0 warnings", done.stdout)

    def test_what_is_commented_out_is_good_too(self):
        text = re.sub(r"^#(\[|\w+ = )", r"\1", CONFIG.read_text(), flags=re.M)
        with tempfile.TemporaryDirectory() as folder:
            text = re.sub(r'^listen = .*', 'listen = "0.0.0.0:9820"', text, flags=re.M)  # TLS is for TCP
            for name in ("tokens", "server.pem", "server.key"):
                text = text.replace(f"/etc/cuzk/{name}", f"{folder}/{name}")
            tokens = pathlib.Path(folder) / "tokens"
            tokens.write_text("curio submit secret-of-curio-0123456789\n")
            tokens.chmod(0o600)
            (pathlib.Path(folder) / "all.toml").write_text(text)
            values = shown(f"{folder}/all.toml")
            self.assertEqual(values["auth.tokens_file"], str(tokens))
            self.assertTrue(values["tls.certificate"].endswith("server.pem"))

    def test_stopping_takes_no_longer_than_systemd_waits(self):
        stop = seconds(unit()["TimeoutStopSec"][0])
        for values in (shown(), shown(CONFIG)):
            self.assertGreater(stop, seconds(values["daemon.drain_timeout"]) + 60)

    def test_what_the_configuration_names_is_where_the_unit_lets_it_be(self):
        values, keys = shown(CONFIG), unit()
        self.assertEqual(keys["RuntimeDirectory"], ["cuzk"])
        self.assertTrue(values["daemon.listen"].startswith("unix:///run/cuzk/"))
        self.assertEqual(keys["StateDirectory"], ["cuzk"])
        self.assertTrue(values["srs.param_cache"].startswith("/var/lib/cuzk/"))
        self.assertTrue(values["daemon.status_listen"].startswith("127.0.0.1:"))

    def test_it_starts_the_command_that_there_is(self):
        words = unit()["ExecStart"][0].split()
        text = subprocess.run([CUZK, *words[1:2], "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(words[1], "serve")
        for word in words[2:]:
            if word.startswith("--"):
                self.assertIn(word + " ", text)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_takes_it_and_finds_it_confined(self):
        with tempfile.TemporaryDirectory() as folder:
            # As it is, but for the program, which need not be installed here.
            file = pathlib.Path(folder) / "cuzk.service"
            file.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={CUZK}", UNIT.read_text(), flags=re.M))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", file],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=25", file],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
