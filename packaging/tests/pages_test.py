#!/usr/bin/env python3
"""Man pages say what the programs say: pages_test.py PAGES CUZK CUZK_BENCH

The judge is --help, which comes from the parser by another way than --describe, and `config show`.
"""

import functools
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

PAGES, CUZK, BENCH = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@functools.cache
def help_of(command):
    """Long options and commands that --help names."""
    text = output(*command, "--help")
    heads = re.findall(r"^  ((?:-\w,)?--\S+)", text, flags=re.M)
    options = [name for head in heads for name in head.split(",") if name.startswith("--")]
    block = re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, flags=re.M)
    commands = re.findall(r"^  (\S+)", block.group(1), flags=re.M) if block else []
    return options, commands


def plain(page):
    """A page's text as it is read, in one line."""
    text = page.read_text().replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\").replace("\\&", "")
    return " ".join(re.sub(r"\\f[BIR]", "", text).split())


def commands_below(command):
    for name in help_of(command)[1]:
        yield command + (name,)
        yield from commands_below(command + (name,))


class Pages(unittest.TestCase):
    def page_of(self, command):
        """The page that explains a command, and the part of it that is about it."""
        words = [pathlib.Path(command[0]).name, *command[1:]]
        if words[0] == "cuzk-bench":
            return PAGES / "cuzk-bench.1"
        name = "-".join(words[:2])
        found = [p for p in (PAGES / f"{name}.1", PAGES / f"{name}.8") if p.exists()]
        self.assertEqual(len(found), 1, f"one page for {words}")
        return found[0]

    def test_every_command_and_option_of_help_is_in_a_page(self):
        seen = 0
        for program in (CUZK, BENCH):
            for command in commands_below((program,)):
                page = self.page_of(command)
                text = plain(page)
                words = " ".join([pathlib.Path(program).name, *command[1:]])
                if not help_of(command)[1]:
                    self.assertIn(f'.SY "{words}"', text, page)
                for option in help_of(command)[0]:
                    if option == "--help":
                        continue
                    seen += 1
                    self.assertRegex(text, rf"\.TP (?:-\w, )?(?:--[\w-]+, )*{option}\b", f"{words}: {page}")
        self.assertGreater(seen, 100)
        root = plain(PAGES / "cuzk.1")
        for name in help_of((CUZK,))[1]:
            self.assertRegex(root, rf"\.TP {name}\b")

    def test_every_configuration_key_with_its_default_is_in_the_page(self):
        text = plain(PAGES / "cuzk.toml.5")
        section, seen = None, 0
        for line in output(CUZK, "config", "show").splitlines():
            if line.startswith("["):
                section = line
            elif " = " in line:
                key, value = line.removesuffix("  # default").split(" = ", 1)
                part = text.split(f'.SS "{section}"')[1].split(".SS ")[0].split(".SH ")[0]
                self.assertRegex(part, rf"\.TP {key} [^\\]*Default: {re.escape(value)}\.", section)
                seen += 1
        self.assertGreater(seen, 30)

    def test_pages_refer_to_pages_that_are_there(self):
        there = {p.name for p in PAGES.iterdir()}
        for page in PAGES.glob("*.[158]"):
            self.assertIn(page.name + ".gz", there)
            for name, section in re.findall(r"\b((?:cuzk|prover|verifier)[\w.-]*)\s?\(([158])\)", plain(page)):
                self.assertIn(f"{name}.{section}", there, page.name)

    def test_pages_are_good_roff(self):
        for page in sorted(PAGES.glob("*.[158]")):
            text = page.read_text()
            self.assertTrue(text.startswith(".TH "))
            if shutil.which("groff"):
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page], stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.stderr, "", page.name)
            if shutil.which("mandoc"):
                done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], stdout=subprocess.PIPE, text=True)
                self.assertEqual(done.stdout, "", page.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
