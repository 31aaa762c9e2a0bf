#!/usr/bin/env python3
"""Writes the man pages:  manual.py NETPROXY OUTPUT-DIRECTORY

netproxy(1) is made of the program's own help (--experimental-dump-help) and of netproxy.1.txt,
netproxy.yaml(5) of config/netproxy.example.yaml. Neither has words of its own besides.
"""

import datetime
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(os.path.dirname(HERE), "netproxy.example.yaml")


def roff(text):
    """Text as roff: nothing in it is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti")
    return "\n".join("\\&" + line if line.startswith((".", "\\(aq")) else line
                     for line in text.split("\n"))


def bold(text):
    return f"\\fB{roff(text)}\\fR"


def header(name, section, title, version):
    date = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")),
                                           datetime.timezone.utc).strftime("%Y-%m-%d")
    return [f'.TH "{name.upper()}" "{section}" "{date}" "netproxy {version}" "netproxy"', ".nh", ".ad l",
            ".SH NAME", f"{roff(name)} \\- {roff(title)}"]


def argument_name(argument):
    if argument["kind"] == "positional":
        name = f"\\fI{roff(argument.get('valueName', 'value'))}\\fR"
        return name + ("..." if argument["isRepeating"] else "")
    names = [("-" if name["kind"] == "short" else "--") + name["name"]
             for name in argument["names"]]
    text = ", ".join(bold(name) for name in names)
    if argument["kind"] == "option":
        text += f" \\fI{roff(argument.get('valueName', 'value'))}\\fR"
    return text


def shown(arguments):
    return [argument for argument in arguments or [] if argument.get("shouldDisplay", True)]


def is_common(argument):
    """Every command has these."""
    return {name["name"] for name in argument.get("names", [])} & {"help", "version"}


def synopsis(command):
    words = []
    for argument in shown(command.get("arguments")):
        if is_common(argument):
            continue
        word = argument_name(argument)
        words.append(f"[{word}]" if argument["isOptional"] else word)
    return " ".join(words)


def sentences(*texts):
    return [roff(text.strip()) for text in texts if text and text.strip()]


def describe(arguments):
    lines = []
    for argument in arguments:
        text = " ".join(sentences(argument.get("abstract"), argument.get("discussion")))
        if argument.get("defaultValue") and "Default" not in text:
            text += f" Default: {roff(argument['defaultValue'])}."
        lines += [".TP", argument_name(argument), text or "\\&"]
    return lines


def visible(command, parent=""):
    """The commands below one, each before its own, with their whole names."""
    for child in command.get("subcommands") or []:
        if child["commandName"] == "help" or not child.get("shouldDisplay", True):
            continue
        child = {**child, "commandName": parent + child["commandName"]}
        yield child
        yield from visible(child, child["commandName"] + " ")


def commands(root):
    lines = [".SH COMMANDS"]
    for command in visible(root):
        lines += [f".SS {bold(command['commandName'])} {synopsis(command)}"]
        for text in (command.get("abstract"), command.get("discussion")):
            for paragraph in re.split(r"\n\s*\n", text or ""):
                lines += sentences(paragraph) + [".PP"]
        own = [argument for argument in shown(command.get("arguments")) if not is_common(argument)]
        lines += describe(own)
    return lines


def sections(path):
    """Sections (##), terms (@) and paragraphs of a plain text."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for line in file.read().split("\n"):
            if line.startswith("## "):
                lines.append(f".SH {roff(line[3:])}")
            elif line.startswith("@ "):
                lines += [".TP", bold(line[2:])]
            elif line:
                lines.append(roff(line))
    return lines


def command_page(program, version):
    dump = subprocess.run([program, "--experimental-dump-help"], check=True, capture_output=True)
    root = json.loads(dump.stdout)["command"]
    lines = header("netproxy", 1, root["abstract"].rstrip("."), version)
    lines += [".SH SYNOPSIS", f"{bold('netproxy')} \\fIcommand\\fR [\\fIoption\\fR...]",
              ".SH DESCRIPTION", *sentences(root.get("discussion"))]
    lines += commands(root)
    lines += [".SH OPTIONS", *describe([a for a in shown(root.get("arguments")) if is_common(a)])]
    lines += sections(os.path.join(HERE, "netproxy.1.txt"))
    lines += [".SH SEE ALSO", ".BR netproxy.yaml (5)"]
    return "\n".join(lines) + "\n"


def configuration_page(version):
    """The example file: its comments as paragraphs, what they are about as examples."""
    with open(EXAMPLE, encoding="utf-8") as file:
        source = file.read().rstrip("\n").split("\n")
    title, source = source[0].lstrip("# "), source[1:]
    lines = header("netproxy.yaml", 5, "the configuration of netproxy", version)
    lines += [".SH DESCRIPTION", roff(title.split(": ", 1)[-1].capitalize())]
    # Up to the first key it is about the file as a whole.
    first = next(number for number, line in enumerate(source) if line and not line.startswith("#"))
    while source[first - 1].startswith("#"):
        first -= 1
    is_term = False
    for line in source[:first]:
        text = line.lstrip("#")
        was_term, is_term = is_term, text.startswith("   ")
        if not text.strip():
            lines.append(".PP")
        elif is_term:
            term, _, meaning = text.strip().partition("   ")
            lines += [".TP", bold(term), roff(meaning.strip()) or "\\&"]
        else:
            lines += [".PP"] * was_term + [roff(text.strip())]
    lines.append(".SH KEYS")
    is_example = False
    for line in source[first:]:
        text = line.strip()
        if text.startswith("#") or not text:
            if is_example:
                lines += [".fi", ".RE"]
                is_example = False
            lines.append(roff(text.lstrip("#").strip()) if text else ".PP")
        else:
            if not is_example:
                lines += [".RS 4", ".nf"]
                is_example = True
            lines.append("\\&" + bold(line).replace("\n", " "))
    if is_example:
        lines += [".fi", ".RE"]
    lines += [".SH SEE ALSO", ".BR netproxy (1)"]
    return "\n".join(line for line in lines if line) + "\n"


def main():
    program, output = sys.argv[1:]
    version = subprocess.run([program, "version"], check=True, capture_output=True,
                             text=True).stdout.split()[1]
    for name, page in (("netproxy.1", command_page(program, version)),
                       ("netproxy.yaml.5", configuration_page(version))):
        with open(os.path.join(output, name), "w", encoding="utf-8") as file:
            file.write(page)


if __name__ == "__main__":
    main()
