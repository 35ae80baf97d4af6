#!/usr/bin/env python3
"""Shells complete what the programs take: completion_test.py COMPLETIONS CUZK CUZK_BENCH

bash runs the functions as its line editor would; fish answers `complete -C`; zsh is asked in a
pseudo terminal. The latter two are skipped where they are not installed.
"""

import functools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

COMPLETIONS, CUZK, BENCH = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]

BASH = """
source "$1"; shift
function=$1; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
"$function"
printf '%s\\n' "${COMPREPLY[@]}"
"""

ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=($1 \\$fpath); autoload -U compinit; compinit -u -D; LISTMAX=10000; PS1=; cd $2"
zpty -w shell "zstyle ':completion:*' list-grouped false; bindkey '^X' list-choices; setopt no_beep; print RE''ADY"
zpty -r -m shell out '*READY*'
zpty -n -w shell "$3"$'\\x18'
sleep 1
while zpty -r -t shell line; do print -rn -- $line; done
zpty -d shell
"""


@functools.cache
def help_words(*command):
    text = subprocess.run([*command, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
    options = {n for head in re.findall(r"^  ((?:-\w,)?--\S+)", text, flags=re.M) for n in head.split(",")}
    block = re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, flags=re.M)
    commands = re.findall(r"^  (\S+)", block.group(1), flags=re.M) if block else []
    return options, set(commands)


def bash(*words, folder="."):
    name = words[0]
    function = "_" + name.replace("-", "_") if name.startswith("cuzk") else "_cuzk_" + name
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", (COMPLETIONS / "bash" / name).resolve(), function, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return {line for line in done.stdout.splitlines() if line}


def fish(line, folder="."):
    name = line.split()[0]
    script = f"source {(COMPLETIONS / 'fish' / name).resolve()}.fish; complete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, cwd=folder)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return {found.split("\t")[0] for found in done.stdout.splitlines()}


def zsh(line, folder="."):
    done = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", str((COMPLETIONS / "zsh").resolve()), str(folder), line],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Folder:
    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="cuzk-completion-")
        path = pathlib.Path(self.folder.name)
        for name in ("circuit.zkey", "witness.wtns", "c1.json", "notes.txt"):
            (path / name).touch()
        (path / "below").mkdir()
        return path

    def __exit__(self, *_):
        self.folder.cleanup()


class Bash(unittest.TestCase):
    def walk(self, program, path):
        """Every command's commands and options, against --help."""
        options, commands = help_words(program, *path[1:])
        self.assertEqual(bash(*path, "-"), options, path)
        if commands:
            self.assertEqual(bash(*path, ""), commands, path)
        count = 1
        for command in commands:
            count += self.walk(program, path + [command])
        return count

    def test_every_command_offers_its_commands_and_options(self):
        self.assertGreater(self.walk(CUZK, ["cuzk"]), 20)
        self.assertGreater(self.walk(BENCH, ["cuzk-bench"]), 4)

    def test_the_beginning_of_a_word_narrows(self):
        self.assertEqual(bash("cuzk", "pr"), {"prove"})
        self.assertEqual(bash("cuzk", "prove", "w"), {"winning-post", "window-post"})
        self.assertEqual(bash("cuzk", "prove", "porep", "--mi"), {"--miner"})

    def test_files_have_the_ending_that_the_option_takes(self):
        with Folder() as here:
            self.assertEqual(bash("cuzk", "prove", "circom", "--zkey", "", folder=here), {"circuit.zkey", "below"})
            self.assertEqual(bash("cuzk", "prove", "porep", "--c1", "c", folder=here), {"c1.json"})
            self.assertEqual(bash("cuzk", "prove", "porep", "--params", "", folder=here), {"below"})
            self.assertEqual(bash("cuzk", "prove", "porep", "-o", "n", folder=here), {"notes.txt"})
            self.assertEqual(bash("cuzk", "zkey", "info", "c", folder=here), {"circuit.zkey", "c1.json"})
            self.assertEqual(bash("cuzk", "prove", "porep", "--miner", "", folder=here), set())

    def test_an_option_with_an_equals_sign(self):
        with Folder() as here:
            self.assertEqual(bash("cuzk", "prove", "circom", "--zkey", "=", folder=here), {"circuit.zkey", "below"})
            self.assertEqual(bash("cuzk", "prove", "circom", "--wtns", "=", "w", folder=here), {"witness.wtns"})
            self.assertEqual(bash("cuzk", "params", "setup", "--sector-size", "=", "2KiB", "--ki"), {"--kind"})

    def test_words_are_those_of_the_engine(self):
        self.assertEqual(bash("cuzk", "params", "setup", "--kind", ""),
                         {"porep", "winning-post", "window-post", "update"})
        self.assertLessEqual({"2KiB", "32GiB", "64GiB"}, bash("cuzk", "params", "setup", "--sector-size", ""))
        self.assertEqual(bash("cuzk", "prove", "window-post", "--registered-proof", "StackedDrgWindow64"),
                         {"StackedDrgWindow64GiBV1", "StackedDrgWindow64GiBV1_1"})
        self.assertEqual(bash("cuzk", "prove", "update", "--registered-proof", "StackedDrg64"), {"StackedDrg64GiBV1"})
        self.assertEqual(bash("cuzk", "serve", "--log-level", "d"), {"debug"})

    def test_an_option_value_is_no_command(self):
        self.assertEqual(bash("cuzk", "serve", "--listen", "prove", "--log-f"), {"--log-format"})

    def test_prover_and_verifier_take_files_in_order(self):
        with Folder() as here:
            self.assertEqual(bash("prover", "", folder=here), {"circuit.zkey", "below"})
            self.assertEqual(bash("prover", "circuit.zkey", "", folder=here), {"witness.wtns", "below"})
            self.assertEqual(bash("verifier", "", folder=here), {"c1.json", "below"})
            self.assertEqual(bash("verifier", "a", "b", "c", "", folder=here), set())


@unittest.skipUnless(shutil.which("fish"), "fish is not installed")
class Fish(unittest.TestCase):
    def test_commands_options_words_and_files(self):
        self.assertEqual(fish("cuzk "), help_words(CUZK)[1])
        self.assertEqual(fish("cuzk prove "), help_words(CUZK, "prove")[1])
        self.assertEqual(fish("cuzk prove porep --"),
                         {o for o in help_words(CUZK, "prove", "porep")[0] if o.startswith("--")})
        self.assertEqual(fish("cuzk params setup --kind w"), {"winning-post", "window-post"})
        self.assertEqual(fish("cuzk-bench "), help_words(BENCH)[1])
        with Folder() as here:
            self.assertLessEqual({"circuit.zkey"}, fish("cuzk prove circom --zkey c", folder=here))
            self.assertEqual(fish("cuzk prove porep --params ", folder=here), {"below/"})


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class Zsh(unittest.TestCase):
    def test_the_files_are_good_zsh(self):
        for file in (COMPLETIONS / "zsh").iterdir():
            subprocess.run(["zsh", "-n", file], check=True)

    def test_commands_options_words_and_files(self):
        found = zsh("cuzk prove ")
        for command in help_words(CUZK, "prove")[1]:
            self.assertIn(command, found)
        found = zsh("cuzk prove porep --")
        for option in help_words(CUZK, "prove", "porep")[0]:
            self.assertIn(option, found)
        self.assertIn("winning-post", zsh("cuzk params setup --kind "))
        with Folder() as here:
            found = zsh("cuzk prove circom --zkey ", folder=here)
            self.assertIn("circuit.zkey", found)
            self.assertNotIn("notes.txt", found)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
