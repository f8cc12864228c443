#!/usr/bin/env python3
"""Runs the commands that README.md and the guide show, and compares what they print.

    commands_test.py ROOT BUILD PAGE...

A page shows a command in an indented block whose first line begins with `$ `; what follows is its output. A line `[...]` stands for any
number of lines, `[...]` inside a line for any text. A command must exit with 0, or with N where the line before the block says
`<!-- exits with N -->`. In README.md every other command of a block is run too, but for the scripts that .ci/run itself runs.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

GAP = "[...]"


def blocks(text):
    """(number of the first line, the line before, lines without their indentation) of every indented block."""
    lines = text.split("\n")
    k = 0
    while k < len(lines):
        if not lines[k].startswith("    ") or (k > 0 and lines[k - 1].strip()):
            k += 1
            continue
        first = k
        while k < len(lines) and (lines[k].startswith("    ") or not lines[k].strip()):
            k += 1
        body = [line[4:].rstrip() for line in lines[first:k]]
        while body and not body[-1]:
            body.pop()
        before = next((line for line in reversed(lines[:first]) if line.strip()), "")
        yield first + 1, before, body


def pattern(expected):
    parts = []
    for line in expected:
        if line == GAP:
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(r"[^\n]*".join(re.escape(piece) for piece in line.split(GAP)) + r"\n")
    return re.compile("".join(parts) + r"\Z")


def first_missing(expected, printed):
    """The first expected line that no printed line matches, for the message."""
    for line in expected:
        if line != GAP and not re.search("^" + r"[^\n]*".join(re.escape(p) for p in line.split(GAP)) + "$", printed, re.M):
            return line
    return "(all lines are there, in another order or with others between)"


def run(command, folder):
    try:
        done = subprocess.run(["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return None, "", "takes more than 120 s"
    printed = "".join(line.rstrip() + "\n" for line in done.stdout.split("\n")).rstrip("\n") + "\n"
    return done.returncode, printed, done.stderr


def self_test():
    """The comparison finds a line that is missing, another number, and lines in the wrong order."""
    expected = ["a 1", GAP, "b [...] c"]
    assert pattern(expected).match("a 1\nx\nb 2 c\n") and pattern(expected).match("a 1\nb  c\n")
    for printed in ["a 2\nb 2 c\n", "a 1\n", "b 2 c\na 1\n", "a 1\nb 2 c\nrest\n"]:
        assert not pattern(expected).match(printed), printed
    shown = "text\n\n    $ one\n    two\n\n    three\n\ntext\n    no block\n"
    assert [block for block in blocks(shown)] == [(3, "text", ["$ one", "two", "", "three"])], list(blocks(shown))


def main():
    self_test()
    root, build, pages = sys.argv[1], sys.argv[2], sys.argv[3:]
    ci = open(os.path.join(root, ".ci/run"), encoding="utf-8").read()
    failures = ran = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(root):
            if name not in ("build", ".git"):
                os.symlink(os.path.join(root, name), os.path.join(folder, name))
        os.mkdir(os.path.join(folder, "build"))
        os.symlink(build, os.path.join(folder, "build/release"))
        for page in pages:
            for number, before, body in blocks(open(os.path.join(root, page), encoding="utf-8").read()):
                said = re.fullmatch(r"<!-- exits with (\d) -->", before)
                wanted = int(said.group(1)) if said else 0
                if body[0].startswith("$ "):
                    commands, expected = [body[0][2:]], body[1:]
                elif page == "README.md":
                    commands, expected = [line.split("  #")[0].strip() for line in body if line.strip()], None
                else:
                    continue
                for command in commands:
                    words = shlex.split(command)
                    if expected is None and words[0] == "bash" and words[1] in ci:
                        continue
                    ran += 1
                    status, printed, said_wrong = run(command, folder)
                    problem = ""
                    if status != wanted:
                        problem = f"exits with {status}, not {wanted}: {said_wrong.strip()[-400:]}"
                    elif expected is not None and not pattern(expected).match(printed):
                        problem = f"prints something else; not found: {first_missing(expected, printed)}"
                    if problem:
                        failures += 1
                        print(f"{page}:{number}: {command}: {problem}")
    print(f"{ran} commands, {failures} problems")
    return 1 if failures or ran < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
