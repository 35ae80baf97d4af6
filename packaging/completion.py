#!/usr/bin/env python3
"""Writes shell completions: completion.py OUT_DIRECTORY --program PATH...

OUT/bash/NAME, OUT/zsh/_NAME and OUT/fish/NAME.fish, all from the programs' own description.
"""

import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from description import Program  # noqa: E402

RAPIDSNARK = {"prover": ["zkey", "wtns", "json", "json"], "verifier": ["json", "json", "json"]}


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def identifier(text):
    return re.sub(r"\W", "_", text)


# bash: the command's path is followed word by word through tables, so that nothing of the program
# runs while one types.

BASH = """\
# bash completion of {name}; made from `{name} --describe`.

_{id}_files() {{  # GLOB-ENDING or nothing
  compopt -o filenames 2>/dev/null
  if [[ -n $1 ]]; then
    mapfile -t COMPREPLY < <(compgen -f -X "!*.$1" -- "$cur"; compgen -d -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}}

_{id}_value() {{  # what the value of an option or a positional may be
  case $1 in
    directory) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    file:*) _{id}_files "${{1#file:}}" ;;
    file) _{id}_files ;;
    words:*) mapfile -t COMPREPLY < <(compgen -W "${{1#words:}}" -- "$cur") ;;
    *) COMPREPLY=() ;;
  esac
}}

_{id}_option() {{  # COMMAND OPTION: what its value may be; fails for an option without one
  case "$1 $2" in
{valued}
    *) return 1 ;;
  esac
}}

_{id}_words() {{  # COMMAND: its commands, its options, what its positionals may be
  commands='' options='' positionals=()
  case $1 in
{tables}
  esac
}}

_{id}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} path={name} skip=0 place=0 word value i
  local commands options positionals
  _{id}_words "$path"
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    if ((skip)); then skip=0; continue; fi
    if [[ $word == -* ]]; then
      if [[ ${{COMP_WORDS[i + 1]}} == '=' ]]; then  # --option=value is three words here
        ((i += 1)); ((i + 1 < COMP_CWORD)) && ((i += 1))
        continue
      fi
      _{id}_option "$path" "$word" >/dev/null && skip=1
    elif [[ " $commands " == *" $word "* ]]; then
      path+=" $word"; _{id}_words "$path"
    else
      ((place += 1))
    fi
  done
  local previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $previous == '=' ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}} skip=1
  fi
  if [[ ${{COMP_WORDS[COMP_CWORD]}} == '=' ]]; then skip=1; fi
  if ((skip)); then
    value=$(_{id}_option "$path" "$previous") && _{id}_value "$value"
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  elif [[ -n $commands ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
  elif ((${{#positionals[@]}})); then
    ((place >= ${{#positionals[@]}})) && place=$((${{#positionals[@]}} - 1))
    _{id}_value "${{positionals[place]}}"
  fi
}}
complete -F _{id} {name}
"""


def bash_value(option):
    if option.words:
        return "words:" + " ".join(option.words)
    return option.kind if option.is_file or option.kind == "directory" else "nothing"


def bash(program):
    valued, tables = [], []
    for command in program.command.walk():
        path = " ".join(command.path)
        for option in (o for o in command.options if o.takes_value):
            names = " | ".join(f'"{path} {n}"' for n in option.names)
            valued.append(f"    {names}) echo {quoted(bash_value(option))} ;;")
        lines = []
        if command.commands:
            lines.append(f"commands={quoted(' '.join(c.name for c in command.commands))}")
        lines.append(f"options={quoted(' '.join(n for o in command.options for n in o.names))}")
        if command.positionals:
            lines.append(f"positionals=({' '.join(quoted(bash_value(p)) for p in command.positionals)})")
        tables.append(f'    "{path}")\n      ' + "\n      ".join(lines) + " ;;")
    return BASH.format(name=program.name, id=identifier(program.name), valued="\n".join(valued),
                       tables="\n".join(tables))


def bash_rapidsnark(name):
    endings = RAPIDSNARK[name]
    return f"""\
# bash completion of {name}, whose arguments are files in a fixed order.

_cuzk_{name}() {{
  local endings=({' '.join(endings)}) cur=${{COMP_WORDS[COMP_CWORD]}}
  ((COMP_CWORD > {len(endings)})) && return
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -X "!*.${{endings[COMP_CWORD - 1]}}" -- "$cur"; compgen -d -- "$cur")
}}
complete -F _cuzk_{name} {name}
"""


# zsh: one function a command, for _arguments.

def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_action(option):
    if option.words:
        return "(" + " ".join(option.words) + ")"
    if option.kind == "directory":
        return "_files -/"
    if option.is_file:
        return f'_files -g "*.{option.ending}(-.)"' if option.ending else "_files"
    return " "


def zsh_option(option):
    value = f":{zsh_text(option.metavar)}:{zsh_action(option)}" if option.takes_value else ""
    text = zsh_text(option.description)
    star = "*" if option.repeats else ""
    if len(option.names) == 1:
        return f"'{star}{option.names[0]}[{text}]{value}'"
    others = "" if star else "(" + " ".join(option.names) + ")"
    return f"'{star}{others}'{{{','.join(option.names)}}}'[{text}]{value}'"


def zsh_command(command):
    name = "_" + identifier("_".join(command.path))
    lines = [f"{name}() {{"]
    specs = [zsh_option(o) for o in command.options]
    for p in command.positionals:
        specs.append(f"'{'*' if p.repeats else ''}:{zsh_text(p.description)}:{zsh_action(p)}'")
    if command.commands:
        lines += ["  local curcontext=$curcontext state line", "  local -a commands"]
        specs += ["': :->command'", "'*:: :->arguments'"]
    lines.append("  _arguments -s -S " + " \\\n    ".join(["-C" if command.commands else ""] + specs).lstrip())
    if command.commands:
        described = "\n".join(f"        '{c.name}:{zsh_text(c.description)}'" for c in command.commands)
        cases = "\n".join(f"        {c.name}) _{identifier('_'.join(c.path))} ;;" for c in command.commands)
        lines += ["  case $state in", "    command)", "      commands=(", described, "      )",
                  "      _describe command commands ;;", "    arguments)", "      case $line[1] in", cases,
                  "      esac ;;", "  esac"]
    return "\n".join(lines + ["}", ""])


def zsh(program):
    name = program.name
    functions = "\n".join(zsh_command(c) for c in program.command.walk())
    return f"#compdef {name}\n# zsh completion of {name}; made from `{name} --describe`.\n\n{functions}\n_{identifier(name)} \"$@\"\n"


def zsh_rapidsnark(name):
    files = " ".join(f"':{e} file:_files -g \"*.{e}(-.)\"'" for e in RAPIDSNARK[name])
    return f"#compdef {name}\n_arguments {files}\n"


# fish: a condition a command.

FISH = """\
# fish completion of {name}; made from `{name} --describe`.

# Whether the command line names exactly this command so far.
function __fish_{id}_in
    set -l words (commandline -opc)
    set -e words[1]
    set -l path
    for word in $words
        if contains -- (string join ' ' -- $path $word) $__fish_{id}_commands
            set path $path $word
        end
    end
    test "$path" = "$argv"
end

set -g __fish_{id}_commands {commands}
complete -c {name} -f
"""


def fish_option(name, condition, option):
    parts = [f"complete -c {name} -n {quoted(condition)}"]
    for n in option.names:
        parts.append(("-l " + n[2:]) if n.startswith("--") else ("-s " + n[1:]))
    if option.takes_value:
        parts.append("-r")
        if option.words:
            parts.append("-f -a " + quoted(" ".join(option.words)))
        elif option.kind == "directory":
            parts.append("-f -a '(__fish_complete_directories)'")
        elif option.ending:
            parts.append(f"-k -f -a '(__fish_complete_suffix .{option.ending})'")
        elif option.is_file:
            parts.append("-F")
        else:
            parts.append("-f")
    return " ".join(parts + ["-d " + quoted(option.description)])


def fish(program):
    name, id_ = program.name, identifier(program.name)
    paths = [" ".join(c.path[1:]) for c in program.command.walk() if len(c.path) > 1]
    lines = [FISH.format(name=name, id=id_, commands=" ".join(map(quoted, paths)))]
    for command in program.command.walk():
        condition = f"__fish_{id_}_in" + "".join(" " + w for w in command.path[1:])
        lines += [fish_option(name, condition, o) for o in command.options]
        for c in command.commands:
            lines.append(f"complete -c {name} -n {quoted(condition)} -a {quoted(c.name)} -d {quoted(c.description)}")
        for p in command.positionals:
            if p.words:
                lines.append(f"complete -c {name} -n {quoted(condition)} -a {quoted(' '.join(p.words))}")
            elif p.is_file and p.ending:
                lines.append(f"complete -c {name} -n {quoted(condition)} -k -a '(__fish_complete_suffix .{p.ending})'")
            elif p.is_file:
                lines.append(f"complete -c {name} -n {quoted(condition)} -F")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--program", action="append", required=True)
    arguments = parser.parse_args()
    files = {}
    for program in map(Program, arguments.program):
        files[f"bash/{program.name}"] = bash(program)
        files[f"zsh/_{program.name}"] = zsh(program)
        files[f"fish/{program.name}.fish"] = fish(program)
    for name in RAPIDSNARK:
        files[f"bash/{name}"] = bash_rapidsnark(name)
        files[f"zsh/_{name}"] = zsh_rapidsnark(name)
    for name, text in files.items():
        path = arguments.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
