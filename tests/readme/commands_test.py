#!/usr/bin/env python3
"""Runs the commands that README.md and the guide show, and compares what they print.

    commands_test.py ROOT BUILD PAGE...
    commands_test.py ROOT BUILD --write       writes what the commands of README.md print into its samples

A page shows a command in an indented block whose first line begins with `$ `; what follows is its output. A line
`[...]` stands for any number of lines, `[...]` inside a line for any text. A command must exit with 0, or with N where
the line before the block says `<!-- exits with N -->`. In README.md every other command of a block is run too, but for
the scripts that .ci/run itself runs.

README.md shows real numbers, which differ from run to run. So what its commands must print is in README.patterns, in
blocks of the same form, and each line of a sample must follow the pattern's line; `...` stands where the pattern has a
line `[...]`.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

GAP = "[...]"
SHOWN_GAP = "..."  # in a sample
PATTERNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "README.patterns")


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


def of_line(line):
    return r"[^\n]*".join(re.escape(piece) for piece in line.split(GAP))


def pattern(expected):
    parts = [r"(?:[^\n]*\n)*?" if line == GAP else of_line(line) + r"\n" for line in expected]
    return re.compile("".join(parts) + r"\Z")


def sample_problem(sample, expected):
    """The first line of a sample that does not follow its pattern, or ""."""
    for k, line in enumerate(expected):
        shown = sample[k] if k < len(sample) else "(nothing)"
        if shown != SHOWN_GAP and shown != GAP if line == GAP else not re.fullmatch(of_line(line), shown):
            return shown
    return sample[len(expected)] if len(sample) > len(expected) else ""


def sample_of(expected, printed):
    """What a command printed, as a sample: the lines of the pattern, and a gap between them."""
    out, at, lines = [], 0, printed.split("\n")
    for line in expected:
        if line == GAP:
            out.append(SHOWN_GAP)
            continue
        while at < len(lines) and not re.fullmatch(of_line(line), lines[at]):
            at += 1
        out.append(lines[at] if at < len(lines) else line)
        at += 1
    return out


def patterns():
    with open(PATTERNS, encoding="utf-8") as file:
        return {body[0][2:]: body[1:] for _, _, body in blocks(file.read())}


def first_missing(expected, printed):
    """The first expected line that no printed line matches, for the message."""
    for line in expected:
        if line != GAP and not re.search("^" + of_line(line) + "$", printed, re.M):
            return line
    return "(all lines are there, in another order or with others between)"


def run(command, folder):
    try:
        done = subprocess.run(["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)
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
    assert not sample_problem(["a 1", "...", "b 7 c"], expected) and not sample_problem(expected, expected)
    assert sample_problem(["a 1", "b 7 c"], expected) and sample_problem(["a 2", "...", "b 7 c"], expected)
    assert sample_problem(["a 1", "...", "b 7 c", "d"], expected) == "d"
    assert sample_of(expected, "a 1\nx\nb 2 c\n") == ["a 1", "...", "b 2 c"]
    shown = "text\n\n    $ one\n    two\n\n    three\n\ntext\n    no block\n"
    assert [block for block in blocks(shown)] == [(3, "text", ["$ one", "two", "", "three"])], list(blocks(shown))


def main():
    self_test()
    root, build, pages = sys.argv[1], sys.argv[2], sys.argv[3:]
    write = pages == ["--write"]
    if write:
        pages = ["README.md"]
    wanted_of = patterns()
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
                sample = expected
                if page == "README.md" and expected is not None:
                    expected = wanted_of.pop(commands[0], None)
                    if expected is None:
                        failures += 1
                        print(f"{page}:{number}: {commands[0]}: is not in README.patterns")
                        continue
                    if not write and sample_problem(sample, expected):
                        failures += 1
                        print(f"{page}:{number}: {commands[0]}: the sample does not follow its pattern: {sample_problem(sample, expected)}")
                elif write:
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
                    elif write:
                        old = "\n".join(("    " + line).rstrip() for line in ["$ " + command, *sample])
                        new = "\n".join(("    " + line).rstrip()
                                        for line in ["$ " + command, *sample_of(expected, printed)])
                        path = os.path.join(root, page)
                        text = open(path, encoding="utf-8").read()
                        assert text.count(old) == 1, f"{page}:{number}: the block is not there once"
                        with open(path, "w", encoding="utf-8") as file:
                            file.write(text.replace(old, new))
                    if problem:
                        failures += 1
                        print(f"{page}:{number}: {command}: {problem}")
    for command in wanted_of if "README.md" in pages else ():
        failures += 1
        print(f"README.patterns: {command}: README.md does not show it")
    print(f"{ran} commands, {failures} problems")
    return 1 if failures or ran < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
