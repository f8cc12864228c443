"""Changes the engine in one place at a time, and counts the changes that no test and no recorded decision finds.

    /usr/bin/python3 tests/mutation/mutate.py build/release --mutants 120 --seed 1 [--folders plan,broker]

All sampled mutants are compiled at once: each is a choice between the code and its change, by a number that the
environment variable BERTH_MUTANT holds when a program starts. So a mutant costs runs of the tests, and no compiler.
Steps that never reach a mutant are not run for it.
Exit code 1: a mutant survives that survivors.txt does not explain."""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import shlex
import sys
import threading

import clang.cindex as ci

import overlay
from overlay import ROOT, say

K = ci.CursorKind
ON = "berth_mutation::on({})"  # {}: the number of the mutant
FUNCTIONS = (K.FUNCTION_DECL, K.CXX_METHOD, K.CONSTRUCTOR, K.FUNCTION_TEMPLATE, K.CONVERSION_FUNCTION)
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+"}
KINDS = {"&&": "logic", "||": "logic", "+": "arithmetic", "-": "arithmetic"}
NUMBERS = range(ci.TypeKind.BOOL.value, ci.TypeKind.LONGDOUBLE.value + 1)

Mutant = collections.namedtuple("Mutant", "folder file start end line kind text")  # text: the change, {} is the number

PRELUDE = """#pragma once
namespace berth_mutation {
extern int active;
extern unsigned char reached[];
inline bool on(int number) {
  reached[number] = 1;
  return active == number;
}
}  // namespace berth_mutation
"""
SWITCH = """#include <cstdio>
#include <cstdlib>
namespace berth_mutation {
int active = -1;
unsigned char reached[100000];
static void write_reached() {
  std::FILE* file = std::fopen(std::getenv("BERTH_REACHED"), "a");
  for (int i = 0; file && i < 100000; ++i)
    if (reached[i]) std::fprintf(file, "%d\\n", i);
  if (file) std::fclose(file);
}
static const bool started = [] {
  if (const char* number = std::getenv("BERTH_MUTANT")) active = std::atoi(number);
  if (std::getenv("BERTH_REACHED")) std::atexit(write_reached);
  return true;
}();
}  // namespace berth_mutation
"""


class Finder:
    """The places in the sources `files` of one translation unit that can be changed."""
    def __init__(self, folder, files, unit):
        self.folder, self.found, self.sources = folder, [], {}
        for path in files:
            with open(path, "rb") as f:
                self.sources[path] = f.read()
        for cursor in unit.cursor.get_children():
            self.outside(cursor)

    def text(self, start, end):
        return self.source[start:end].decode()

    def is_wanted(self, cursor):
        return cursor.location.file is not None and cursor.location.file.name in self.sources

    def outside(self, cursor):
        if cursor.kind == K.NAMESPACE or (self.is_wanted(cursor) and cursor.kind in (
                K.CLASS_DECL, K.STRUCT_DECL, K.CLASS_TEMPLATE, K.UNEXPOSED_DECL, K.LINKAGE_SPEC)):
            for child in cursor.get_children():
                self.outside(child)
        elif self.is_wanted(cursor) and cursor.kind in FUNCTIONS and cursor.is_definition():
            self.source = self.sources[cursor.location.file.name]
            self.file = os.path.relpath(cursor.location.file.name, ROOT)
            bodies = [c for c in cursor.get_children() if c.kind == K.COMPOUND_STMT]
            head = self.text(cursor.extent.start.offset, bodies[0].extent.start.offset) if bodies else ""
            if bodies and not re.search(r"\bconst(expr|eval)\b", head):
                self.inside(bodies[0], None)

    def add(self, cursor, kind, text):
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        self.found.append(Mutant(self.folder, self.file, start, end, cursor.extent.start.line, kind, text))

    def operator(self, cursor, children):
        """The operator between two operands, and the texts around it; None inside a macro."""
        left, right = children
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        a, b = left.extent.end.offset, right.extent.start.offset
        if not start < a < b < end:
            return None
        return self.text(start, a), self.text(a, b).strip(), self.text(b, end)

    def inside(self, cursor, parent):
        kind, children = cursor.kind, list(cursor.get_children())
        if kind == K.STATIC_ASSERT or (kind == K.VAR_DECL and "constexpr" in self.text(
                cursor.extent.start.offset, cursor.extent.end.offset).split("=")[0]):
            return
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        code = self.text(start, end)
        if "ASSERT" in code.split("(")[0]:
            return
        if kind == K.BINARY_OPERATOR and len(children) == 2:
            parts = self.operator(cursor, children)
            if parts and parts[1] in SWAPS:
                numbers = all(c.type.get_canonical().kind.value in NUMBERS for c in children)
                if parts[1] not in "+-" or numbers:
                    changed = f"{parts[0]} {SWAPS[parts[1]]} {parts[2]}"
                    self.add(cursor, KINDS.get(parts[1], "relation"), f"({ON} ? ({changed}) : ({code}))")
        if kind == K.INTEGER_LITERAL and re.fullmatch(r"\d+[uU]?", code):
            number, suffix = int(code.rstrip("uU")), "u" if code[-1] in "uU" else ""
            self.add(cursor, "constant", f"({ON} ? {number + 1}{suffix} : {code})")
        if kind in (K.IF_STMT, K.WHILE_STMT, K.CONDITIONAL_OPERATOR) and children:
            at = children[0]
            condition = self.text(at.extent.start.offset, at.extent.end.offset)
            before = self.text(start, at.extent.start.offset)
            after = self.text(at.extent.end.offset, end)
            alone = before.rstrip().endswith("(") and after.lstrip().startswith(")")  # no declaration comes first
            if at.kind not in (K.DECL_STMT, K.VAR_DECL) and (kind == K.CONDITIONAL_OPERATOR or alone):
                self.add(at, "condition", f"({ON} != static_cast<bool>({condition}))")
        if kind == K.RETURN_STMT and children and children[0].type.get_canonical().kind == ci.TypeKind.BOOL:
            at = children[0]
            value = self.text(at.extent.start.offset, at.extent.end.offset)
            self.add(at, "result", f"({ON} != static_cast<bool>({value}))")
        is_statement = parent in (K.COMPOUND_STMT, K.IF_STMT, K.FOR_STMT, K.CXX_FOR_RANGE_STMT, "statement")
        if is_statement and self.source[end:end + 1] == b";":
            effects = (kind in (K.CALL_EXPR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.CONTINUE_STMT, K.BREAK_STMT)
                       or (kind == K.BINARY_OPERATOR and "=" in code)
                       or (kind == K.UNARY_OPERATOR and ("++" in code or "--" in code)))
            if effects and "prefetch" not in code:  # which changes no result
                self.add(cursor, "statement", f"if ({ON}) {{}} else {code}")
        for child in children:
            if kind == K.CASE_STMT and child == children[0]:
                continue  # the label
            inner = "statement" if kind in (K.CASE_STMT, K.DEFAULT_STMT) else kind
            if child.kind == K.UNEXPOSED_EXPR and kind == K.COMPOUND_STMT:
                inner = kind
            self.inside(child, inner)


def find(build, folders):
    """All places in the sources of the folders, and in the broker's headers of templates."""
    index, out, done = ci.Index.create(), [], set()
    for folder, entry in build.units(folders):
        words = shlex.split(entry["command"])
        arguments = [w for w in words[1:] if w.startswith(("-D", "-I", "-std"))] + ["-w", "-x", "c++"]
        files = [entry["file"]]
        if "/Unity/" in entry["file"]:
            with open(entry["file"]) as f:
                files = re.findall(r'#include "(.*\.cc)"', f.read())
        unit = index.parse(entry["file"], args=arguments)
        broken = [str(d) for d in unit.diagnostics if d.severity >= ci.Diagnostic.Error]
        if broken:
            sys.exit(f"{entry['file']}: libclang cannot read it: {broken[0]}")
        files += [h for h in {h.include.name for h in unit.get_includes()} - done
                  if h.endswith("-inl.h") and f"/engine/{folder}/" in h]
        done.update(files)
        out += Finder(folder, files, unit).found
        say(f"{folder}: {sum(m.folder == folder for m in out)} places")
    return out


def sample(places, count, seed, folders):
    """`count` places that do not overlap, in proportion to the folders' places, at least ten of each."""
    draw, out = random.Random(seed), []
    for folder in folders:
        own = sorted(m for m in places if m.folder == folder)
        draw.shuffle(own)
        wanted, taken = max(10, round(count * len(own) / max(1, len(places)))), []
        for mutant in own:
            if len(taken) < wanted and not any(
                    m.file == mutant.file and m.start < mutant.end and mutant.start < m.end for m in taken):
                taken.append(mutant)
        out += taken
    return out


def write_sources(mutants, folder, left_out):
    """Copies of the sources with all mutants in them."""
    by_file = collections.defaultdict(list)
    for number, mutant in enumerate(mutants):
        by_file[mutant.file] += []
        if number not in left_out:
            by_file[mutant.file].append((mutant.start, mutant.end, mutant.text.replace("{}", str(number), 1)))
    for file, changes in by_file.items():
        with open(os.path.join(ROOT, file), "rb") as f:
            source = f.read()
        for start, end, text in sorted(changes, reverse=True):
            source = source[:start] + text.encode() + source[end:]
        path = os.path.join(folder, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(source)
    return set(by_file)


def compile_all(build, mutants, folders):
    """Objects of all libraries of the folders; mutants that do not compile are left out and returned."""
    sources, left_out, lock = os.path.join(build.work, "src"), set(), threading.Lock()
    prelude = os.path.join(build.work, "mutation.h")
    with open(prelude, "w") as f:
        f.write(PRELUDE)
    changed = write_sources(mutants, sources, left_out)
    entries = [entry for _, entry in build.units(folders)]
    if any(file.endswith(".h") for file in changed):  # tests instantiate templates themselves
        entries += [e for e in build.commands if "/tests/broker/" in e["file"]]

    def source_of(number, entry):
        """The entry's source with changed files in place of the originals."""
        if os.path.relpath(entry["file"], ROOT) in changed:
            return os.path.join(sources, os.path.relpath(entry["file"], ROOT))
        if "/Unity/" not in entry["file"]:
            return entry["file"]
        with open(entry["file"]) as f:
            text = f.read()
        for file in changed:
            text = text.replace(f'"{os.path.join(ROOT, file)}"', f'"{os.path.join(sources, file)}"')
        path = os.path.join(build.work, f"unit{number}.cc")
        with open(path, "w") as f:
            f.write(text)
        return path

    def compile_one(numbered):
        number, entry = numbered
        output = os.path.join(build.work, f"unit{number}.o")
        while said := build.compile(entry, output, ["-O1", "-include", prelude], source_of(number, entry),
                                    os.path.join(sources, "engine")):
            at = {(file, int(line)) for file, line in re.findall(r"(engine/\S+?):(\d+)", said) if file in changed}
            bad = {n for n, m in enumerate(mutants) if n not in left_out and any(
                m.file == file and m.line <= line <= m.line + m.text.count("\n") for file, line in at)}
            with lock:
                if not bad:
                    sys.exit(said)
                left_out.update(bad)
                write_sources(mutants, sources, left_out)
        say(f"compiled {os.path.relpath(entry['file'], build.folder)}")
        return entry, output
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(compile_one, enumerate(entries))), left_out


def link_all(build, objects, tests):
    switch = os.path.join(build.work, "switch.cc")
    with open(switch, "w") as f:
        f.write(SWITCH)
    overlay.subprocess.run(["c++", "-O1", "-c", switch, "-o", switch + ".o"], check=True)
    own = {e["file"]: o for e, o in objects if "/tests/" in e["file"]}
    for test in tests:
        replaced = [o for file, o in own.items() if f"/tests/{test}/" in file]
        build.link(overlay.program_of(test), [(e, o) for e, o in objects if "/tests/" not in e["file"]],
                   os.path.join(build.work, test), [switch + ".o"], replaced)


def judge(build, mutants, folders, left_out):
    """Per mutant: the step that found it, "" if none did, None if none reached it."""
    reached, cost = {}, {}
    steps = {step[0]: step for folder in folders for step in overlay.steps_of(folder, build.work)}
    for name, command in steps.values():
        listing = os.path.join(build.work, "reached")
        if os.path.exists(listing):
            os.remove(listing)
        code, cost[name] = overlay.run(command, {"BERTH_REACHED": listing}, 600, 1800)
        if code != 0:
            sys.exit(f"{name} fails without a mutant: exit code {code}")
        with open(listing) as f:
            reached[name] = {int(line) for line in f}
        say(f"{name}: {cost[name]:.1f} s, reaches {len(reached[name])} mutants")

    def judge_one(number):
        mutant, verdict = mutants[number], None
        for name, command in sorted(overlay.steps_of(mutant.folder, build.work), key=lambda s: cost[s[0]]):
            if number not in reached[name]:
                continue
            verdict = ""
            code, _ = overlay.run(command, {"BERTH_MUTANT": str(number)}, int(5 * cost[name]) + 5,
                                  60 * cost[name] + 120)
            if code != 0:
                verdict = name
                break
        outcome = verdict or ("SURVIVES" if verdict == "" else "not reached")
        say(f"{number} {mutant.file}:{mutant.line} {mutant.kind}: {outcome}")
        return verdict
    numbers = [n for n in range(len(mutants)) if n not in left_out]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(numbers, pool.map(judge_one, numbers)))


def reasons():
    """(file, kind, code) -> why the mutant cannot be found."""
    out = {}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "survivors.txt")) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                file, kind, rest = line.split(" | ", 2)
                code, why = rest.rsplit(" | ", 1)
                out[file.strip(), kind.strip(), code.strip()] = why.strip()
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--mutants", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folders", default=",".join(overlay.FOLDERS))
    parser.add_argument("--work")
    options = parser.parse_args()
    folders = options.folders.split(",")
    build = overlay.Build(options.build, options.work or os.path.join(ROOT, "build", "mutation"))
    places = find(build, folders)
    mutants = sample(places, options.mutants, options.seed, folders)
    objects, left_out = compile_all(build, mutants, folders)
    tests = sorted({test for folder in folders for test in overlay.TESTS[folder]}) + ["berth"]
    link_all(build, objects, tests)
    verdicts, known, unexplained = judge(build, mutants, folders, left_out), reasons(), 0
    print(f"seed {options.seed}: {len(verdicts)} mutants of {len(places)} places\n")
    print("folder       mutants  killed  survive  not reached  explained  score")
    for folder in folders:
        own = [n for n in verdicts if mutants[n].folder == folder]
        killed = sum(bool(verdicts[n]) for n in own)
        explained = sum(not verdicts[n] and name_of(mutants[n]) in known for n in own)
        unreached = sum(verdicts[n] is None for n in own)
        print(f"{folder:12} {len(own):7} {killed:7} {len(own) - killed - unreached:8} {unreached:12} {explained:10}"
              f" {100 * killed / max(1, len(own) - explained):5.0f} %")
    for number, verdict in verdicts.items():
        if verdict:
            continue
        why = known.get(name_of(mutants[number]))
        unexplained += why is None
        print(f"\n{mutants[number].file}:{mutants[number].line} {mutants[number].kind}"
              f"{'' if verdict == '' else ', never reached'}{': ' + why if why else ''}\n"
              f"  {name_of(mutants[number])[2]}")
    sys.exit(1 if unexplained else 0)


def name_of(mutant):
    """How survivors.txt names the mutant: numbers of lines change, lines rarely."""
    with open(os.path.join(ROOT, mutant.file), encoding="utf-8") as f:
        return mutant.file, mutant.kind, f.read().split("\n")[mutant.line - 1].strip()


if __name__ == "__main__":
    main()
