#!/usr/bin/env python3
"""Writes the man pages: manual.py OUT_DIRECTORY --program PATH... --changelog DEBIAN_CHANGELOG

Commands, options and configuration keys come from the programs themselves (description.py), the
prose about them from man/NAME.SECTION, whose parts stand between `.\\" part NAME` lines.
"""

import argparse
import email.utils
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from compress import compressed  # noqa: E402
from description import WORDS, Program, sentence  # noqa: E402

PROSE = pathlib.Path(__file__).parent / "man"
SECTION_8 = {"cuzk-serve"}  # what only an administrator runs
VALUES = {word for words in WORDS.values() for word in words}


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"^\.", "\\\\&.", text, flags=re.M)


def bold(text):
    return "\\fB" + roff(text) + "\\fR"


def italic(text):
    return "\\fI" + roff(text) + "\\fR"


def running_text(text):
    """Prose of a help text: what looks like an option, a variable or a file stands out."""
    out, at = [], 0
    for found in re.finditer(r"(?<![\w-])(--[a-z][\w-]*)|(\$[A-Z][A-Z_]+)|((?<![\w:/])~?/[\w./-]*\w)", text):
        out += [roff(text[at:found.start()]), bold(found.group(1)) if found.group(1) else italic(found.group())]
        at = found.end()
    return "".join(out) + roff(text[at:])


class Page:
    def __init__(self, name, section, version, date):
        self.name, self.section = name, section
        self.lines = [f'.TH {name.upper()} {section} {date} "cuzk {version}" "cuzk manual"']
        self.prose = self._parts()

    def _parts(self):
        file = PROSE / f"{self.name}.{self.section}"
        parts = {}
        for block in re.split(r'^\.\\" part ', file.read_text(), flags=re.M)[1:] if file.exists() else []:
            name, _, body = block.partition("\n")
            parts[name.strip()] = body.strip("\n")
        return parts

    def add(self, *lines):
        for line in lines:
            if line == ".PP" and self.lines[-1].startswith((".SH", ".SS")):
                continue  # a section begins with a paragraph anyway
            if line:
                self.lines.append(line)

    def head(self, title):
        self.add(f".SH {title}")

    def part(self, name):
        if name in self.prose:
            self.add(self.prose.pop(name))
            return True
        return False

    def footer(self, text):
        for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
            prose, example = [], []
            for line in paragraph.splitlines():
                if line.startswith("  "):
                    example.append(line[2:].rstrip())
                    continue
                if line.rstrip().endswith(":") and prose:
                    self.add(".PP", running_text(" ".join(prose)))
                    prose = []
                prose.append(line.strip())
            if prose:
                self.add(".PP", running_text(" ".join(prose)))
            if example:
                self.add(".PP", ".RS 4", ".EX", *map(roff, example), ".EE", ".RE")

    def options(self, options):
        for option in options:
            if option.names == ["-h", "--help"] and self.name != "cuzk":
                continue  # every command has it
            head = italic(option.metavar) if option.positional else ", ".join(map(bold, option.names))
            if option.takes_value and not option.positional:
                head += " " + italic(option.metavar)
            text = running_text(sentence(option.description))
            if len(option.choices) > 0 and option.metavar == "WORD":
                text += " One of " + ", ".join(map(bold, option.choices)) + "."
            if option.default:
                text += f" Default: {bold(option.default)}."
            if option.repeats and "repeatable" not in option.description:
                text += " Several may be given."
            self.add(".TP", head, text)

    def write(self, folder):
        if self.prose:
            raise SystemExit(f"man/{self.name}.{self.section}: no place for the part {sorted(self.prose)}")
        folder.mkdir(parents=True, exist_ok=True)
        text = "\n".join(self.lines) + "\n"
        (folder / f"{self.name}.{self.section}").write_text(text)
        (folder / f"{self.name}.{self.section}.gz").write_bytes(compressed(text.encode()))


def synopsis_words(command, with_commands):
    for option in command.options:
        if option.names == ["-h", "--help"]:
            continue
        word = bold(option.name) + (" " + italic(option.metavar) if option.takes_value else "")
        yield word if option.required else f"[{word}]"
    for option in command.positionals:
        word = italic(option.metavar) + ("..." if option.repeats else "")
        yield word if option.required else f"[{word}]"
    if command.commands and with_commands:
        yield italic("COMMAND")


def add_synopsis(page, command, with_commands=True):
    name = " ".join(command.path)
    page.add(f'.SY "{roff(name)}"', *synopsis_words(command, with_commands), ".YS")


def shared_options(leaves):
    """Options that more than one command has, saying the same: explained once."""
    seen = {}
    for leaf in leaves:
        for option in leaf.options:
            seen.setdefault(option.key, []).append(option)
    return [options[0] for options in seen.values() if len(options) > 1]


def add_commands(page, leaves):
    """The commands one after the other, and what they have in common after them."""
    shared = shared_options(leaves)
    shared_keys = {o.key for o in shared}
    page.head("COMMANDS")
    for leaf in leaves:
        page.add(f'.SS "{roff(" ".join(leaf.path))}"', running_text(sentence(leaf.description)))
        page.options(leaf.positionals + [o for o in leaf.options if o.key not in shared_keys])
        page.part("command " + leaf.name)
        page.footer(leaf.footer)
    if shared:
        page.head("COMMON OPTIONS")
        page.add("Each of these belongs to the commands in whose synopsis it stands.")
        page.options(shared)


def page_of_command(command, program, date, others):
    name = "-".join(command.path)
    page = Page(name, 8 if name in SECTION_8 else 1, program.version, date)
    page.head("NAME")
    brief = command.description.rstrip(".")
    page.add(roff(name) + " \\- " + running_text(brief))
    page.head("SYNOPSIS")
    leaves = command.leaves()
    for leaf in leaves:
        add_synopsis(page, leaf)
    page.head("DESCRIPTION")
    if not page.part("description"):
        page.add(running_text(sentence(command.description)))
    if command.commands:
        add_commands(page, leaves)
        page.footer(command.footer)
    else:
        page.head("OPTIONS")
        page.options(command.positionals + command.options)
        page.footer(command.footer)
    page.part("after")
    add_see_also(page, others)
    return page


def add_see_also(page, others):
    page.head("SEE ALSO")
    here = (page.name, page.section)
    page.add(",\n".join(f"{bold(n)}({s})" for n, s in others if (n, s) != here))


def exit_codes(footer):
    found = re.search(r"Exit codes:(.*?)\.\s*$", footer, flags=re.S)
    if not found:
        raise SystemExit("the program's help ends without its exit codes")
    return re.split(r",\s+(?=\d+ )", " ".join(found.group(1).split()))


def root_page(program, date, others):
    page = Page("cuzk", 1, program.version, date)
    root = program.command
    page.head("NAME")
    page.add("cuzk \\- makes and verifies Groth16 proofs for Filecoin and circom")
    page.head("SYNOPSIS")
    page.add('.SY "cuzk"', italic("COMMAND"), "\\&...", ".YS")
    add_synopsis(page, root, with_commands=False)
    page.head("DESCRIPTION")
    page.part("description")
    page.head("COMMANDS")
    for command in root.commands:
        name = "-".join(command.path)
        section = 8 if name in SECTION_8 else 1
        words = ", ".join(bold(c.name) for c in command.commands)
        page.add(".TP", f"{bold(command.name)}" + (f" {words}" if words else ""),
                 running_text(sentence(command.description)) + f" See {bold(name)}({section}).")
    page.head("OPTIONS")
    page.options(root.options)
    page.part("after options")
    page.head("EXIT STATUS")
    for code in exit_codes(root.footer):
        number, _, meaning = code.partition(" ")
        page.add(".TP 4", bold(number), running_text(sentence(meaning.capitalize())))
    page.part("after")
    page.head("EXAMPLES")
    page.footer(re.sub(r"^Examples:\n", "", re.sub(r"\n\s*\nExit codes:.*", "", root.footer, flags=re.S)))
    add_see_also(page, others)
    return page


def bench_page(program, date, others):
    page = Page("cuzk-bench", 1, program.version, date)
    page.head("NAME")
    page.add("cuzk\\-bench \\- makes inputs for cuzk, measures it, and is a client of its daemon")
    page.head("SYNOPSIS")
    leaves = program.command.leaves()
    for leaf in leaves:
        add_synopsis(page, leaf)
    page.head("DESCRIPTION")
    page.part("description")
    add_commands(page, leaves)
    page.head("OPTIONS")
    page.add("Before the command:")
    page.options(program.command.options)
    page.footer(program.command.footer)
    page.part("after")
    add_see_also(page, others)
    return page


def as_sentence(text):
    """A help text as a sentence; what a user would type keeps its letters."""
    first = text.split(" ")[0].rstrip(",:;")
    if re.fullmatch(r"[a-z]+", first) and first not in VALUES:
        text = text[0].upper() + text[1:]
    return running_text(sentence(text))


def add_config_keys(page, keys):
    section = None
    for key in (k for k in keys if not k["no_effect"]):
        this, _, leaf = key["name"].partition(".")
        if this != section:
            section = this
            page.add(f'.SS "[{roff(section)}]"')
            page.part(section)
        text = as_sentence(key["help"].replace("(ours)", "").strip().rstrip(".;"))
        notes = [f"Default: {bold(key['default'])}."] if key["default"] else []
        notes += ["Taken over by a reload."] if key["reloadable"] else []
        page.add(".TP", bold(leaf), " ".join([text, *notes]))


def config_page(program, date, others):
    page = Page("cuzk.toml", 5, program.version, date)
    page.head("NAME")
    page.add("cuzk.toml \\- configuration of the proving daemon cuzk serve")
    page.head("SYNOPSIS")
    page.add(italic("/etc/cuzk/cuzk.toml"), ".br", italic("/data/zk/cuzk.toml"))
    page.head("DESCRIPTION")
    page.part("description")
    page.head("KEYS")
    add_config_keys(page, program.config_keys)
    without = [k for k in program.config_keys if k["no_effect"]]
    if without:
        page.head("KEYS WITHOUT EFFECT")
        page.add("Keys of Curio's daemon that mean nothing here are taken with a warning:".replace("'", "\\(aq"))
        for key in without:
            page.add(".TP", bold(key["name"]), as_sentence(key["no_effect"]))
    page.part("after")
    add_see_also(page, others)
    return page


def plain_page(name, section, version, date, others):
    page = Page(name, section, version, date)
    page.part("all")
    add_see_also(page, others)
    return page


def pages(programs, date):
    cuzk = programs["cuzk"]
    commands = ["-".join(c.path) for c in cuzk.command.commands]
    names = sorted([("cuzk", 1), ("cuzk-bench", 1), ("prover", 1), ("verifier", 1), ("cuzk.toml", 5)] +
                   [(n, 8 if n in SECTION_8 else 1) for n in commands], key=lambda p: (p[1], p[0]))
    yield root_page(cuzk, date, names)
    for command in cuzk.command.commands:
        yield page_of_command(command, cuzk, date, names)
    yield config_page(cuzk, date, names)
    yield bench_page(programs["cuzk-bench"], date, names)
    for name in ("prover", "verifier"):
        near = [n for n in names if n[0] in ("cuzk", "cuzk-prove", "cuzk-verify", "prover", "verifier")]
        yield plain_page(name, 1, cuzk.version, date, near)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--program", action="append", required=True)
    parser.add_argument("--changelog", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    programs = {p.name: p for p in map(Program, arguments.program)}
    signed = re.search(r"^ -- .*>  (.*)$", arguments.changelog.read_text(), flags=re.M).group(1)
    date = email.utils.parsedate_to_datetime(signed).date().isoformat()
    for page in pages(programs, date):
        page.write(arguments.out)


if __name__ == "__main__":
    main()
