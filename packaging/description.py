"""What `PROGRAM --describe` says, with what the parser does not know: the kind of each value.

A kind says what a shell offers and how a manual names the value. Choices and numbers are known to
the parser; for the rest the name decides, and what no rule knows is a file.
"""

import json
import re
import subprocess

# name of an option or positional -> kind; `file:GLOB` is a file with that ending.
KINDS = {
    "--addr": "address", "--listen": "address", "--status-listen": "address",
    "--c1": "file:json", "--vanilla": "file:json", "--sectors": "file:json",
    "--statement": "file:json", "--public": "file:json", "--proof": "file",
    "--zkey": "file:zkey", "--wtns": "file:wtns", "--r1cs": "file:r1cs", "--sym": "file:sym",
    "--vk": "file", "--srs": "file", "--trace": "file:json", "--config": "file:toml",
    "--output": "file", "--piece": "file", "FILE": "file:toml",
    "--params": "directory", "--cache-dir": "directory", "--out": "directory",
    "--sector-size": "sector_size", "--seal-proof": "seal_proof",
    "--circuit": "circuit", "--circuit-id": "circuit", "--circuits": "circuit",
    "--log-level": "level", "--log-format": "format",
    "--memory": "size", "--memory-budget": "size", "--vram-budget": "size", "--cap": "size",
    "--stream-chunk": "size",
    "--randomness": "hex", "--ticket": "hex", "--comm-d": "hex", "--comm-r": "hex",
    "--porep-id": "hex", "--comm-r-old": "hex", "--comm-r-new": "hex", "--comm-d-new": "hex",
    "--type": "proof_type", "--priority": "priority", "--input": "directory",
    "--json": "file:json", "--json-file": "file:json", "--svg": "file:svg", "--timeline-svg": "file:svg",
    "--tls-ca": "file:pem", "--tls-certificate": "file:pem", "--tls-key": "file:pem",
    "--token": "text", "--token-file": "file", "--tls-server-name": "text", "--set": "text",
    "--rate": "text", "--mix": "text", "--duration": "text", "--cancel-within": "text",
    "--priorities": "text", "--sweep-jobs": "text", "--sweep-workers": "text",
    "--miner": "text", "--seed": "text", "--device": "text", "--backend": "text", "--version": "text",
    "--challenges": "number", "--proofs": "number", "--sector": "number",
}
METAVARS = {"address": "ADDRESS", "directory": "DIR", "sector_size": "SIZE", "size": "SIZE",
            "seal_proof": "PROOF", "post_proof": "PROOF", "update_proof": "PROOF", "any_proof": "PROOF",
            "circuit": "ID", "level": "LEVEL", "format": "FORMAT", "hex": "HEX", "text": "TEXT",
            "number": "N",
            "proof_type": "TYPE", "priority": "PRIORITY"}
WORDS = {"level": ["trace", "debug", "info", "warn", "error"], "format": ["text", "json"],
         "proof_type": ["porep", "snap", "wpost", "winning"], "priority": ["critical", "high", "normal", "low"]}
NUMBER_TYPES = {"INT", "UINT", "FLOAT", "NUMBER"}


class Option:
    def __init__(self, raw, path, values):
        self.names, self.positional = raw["names"], raw["positional"]
        self.description = raw["description"].strip()
        self.takes_value, self.repeats, self.required = raw["takes_value"], raw["repeats"], raw["required"]
        self.default, self.choices = raw["default"], raw["choices"]
        self.kind = self._kind(raw, path) if self.takes_value else None
        self.words = self.choices or self._words(values)

    def _kind(self, raw, path):
        if raw["choices"]:
            return "choice"
        # The parser writes the type of a list of numbers with brackets.
        if raw["type"].strip("[] ") in NUMBER_TYPES:
            return "number"
        for name in reversed(self.names):
            if name == "--registered-proof":
                command = path[-1]
                return ("update_proof" if command == "update" else
                        "post_proof" if command.endswith("post") else "any_proof")
            if name in KINDS:
                return KINDS[name]
        return "file"

    def _words(self, values):
        if self.kind == "any_proof":
            return [w for k in ("seal_proof", "post_proof", "update_proof") for w in values[k]]
        return values.get(self.kind, WORDS.get(self.kind, [])) if self.kind else []

    @property
    def name(self):
        """The one name a manual uses: the first long one."""
        return next((n for n in self.names if n.startswith("--")), self.names[0])

    @property
    def is_file(self):
        return bool(self.kind) and self.kind.split(":")[0] == "file"

    @property
    def ending(self):
        return self.kind.split(":")[1] if self.is_file and ":" in self.kind else None

    @property
    def metavar(self):
        if self.positional:
            return self.names[0].upper()
        if self.choices and sum(map(len, self.choices)) + len(self.choices) <= 40:
            return "|".join(self.choices)
        if self.choices:
            return "WORD"
        return "FILE" if self.is_file else METAVARS[self.kind]

    @property
    def key(self):  # equal for options that say the same wherever they stand
        return (tuple(self.names), self.description, self.kind, tuple(self.choices), self.default, self.repeats)


class Command:
    def __init__(self, raw, path, values):
        self.path = path + [raw["name"]] if raw["name"] else path
        self.name = self.path[-1]
        self.description, self.footer = raw["description"].strip(), raw["footer"].strip()
        self.needs_command = raw["needs_command"]
        everything = [Option(o, self.path, values) for o in raw["options"]]
        self.options = [o for o in everything if not o.positional]
        self.positionals = [o for o in everything if o.positional]
        self.commands = [Command(c, self.path, values) for c in raw["commands"]]

    def leaves(self):
        return [leaf for c in self.commands for leaf in c.leaves()] if self.commands else [self]

    def walk(self):
        yield self
        for command in self.commands:
            yield from command.walk()


class Program:
    def __init__(self, executable, name=None):
        text = subprocess.run([executable, "--describe"], check=True, stdout=subprocess.PIPE, text=True).stdout
        raw = json.loads(text)
        self.name, self.version = name or raw["program"], raw["version"]
        self.config_keys = raw["config_keys"]
        self.command = Command(raw["command"], [self.name], raw["values"])


def sentence(text):
    """Help texts end without a full stop, as tables want it; prose wants one."""
    text = text.strip()
    return text if not text or re.search(r"[.!?:]$", text) else text + "."
