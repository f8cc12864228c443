#!/usr/bin/env python3
"""House rules about the text of the sources: words, sizes, fields, weight of headers, links, commit subjects, numbers.

Usage: sources.py SOURCE_DIR. Rules 1 to 10 are in check.sh. Prints each violation with file and line; exit code 1."""
import os
import re
import subprocess
import sys

os.chdir(sys.argv[1])
problems = []


def broken(place, text):
    problems.append(f"{place}: {text}")


def listed():
    """The files of the project: what git tracks or would track; without git everything outside build/."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    git = subprocess.run(command, capture_output=True, text=True)
    if git.returncode == 0:
        return [name for name in git.stdout.splitlines() if os.path.isfile(name)]
    return [os.path.join(folder, name)[2:] for folder, _, names in os.walk(".") for name in names
            if not folder.startswith(("./build", "./.git/"))]


FILES = listed()
SOURCES = [f for f in FILES if re.match(r"(engine|bench|include|tests)/.*\.(h|cc)$", f)]
TEXTS = {f: open(f, encoding="utf-8").read() for f in SOURCES}
PAGES = {f: open(f, encoding="utf-8").read() for f in FILES
         if f.endswith(".md") and not re.match(r"tests/spec/|profiles/|CHANGELOG|engine/http/refused", f)}


LARGE = {}  # what may be larger: from large.txt, by name, its own limit
for entry in open("tests/house/large.txt", encoding="utf-8"):
    if entry.strip() and not entry.startswith("#"):
        subject, limit_text = re.fullmatch(r"(.*?)\s+(\d+)(?:\s+.*)?", entry.strip()).groups()
        LARGE[subject] = [int(limit_text), False]


def larger(subject, size, limit):
    """The limit of a subject: the usual one, or its own in large.txt, which it must need."""
    if subject not in LARGE or size <= limit:
        return limit
    LARGE[subject][1] = True
    return LARGE[subject][0]


# 11. Words: comments, pages and the texts of the program use none of words.txt.
def comments(text):
    """(line number, comment) of each line that has one."""
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r"\s*//+(.*)", line) or re.search(r"[;{},)]\s+//+(.*)", line)
        if found:
            yield number, found.group(1)


def hash_comments(text):
    """(line number, comment) of each line of Python, Bash, CMake or TOML that has one."""
    for number, line in enumerate(text.split("\n"), 1):
        found = re.search(r"(?:^|\s)# (.*)", line)
        if found:
            yield number, found.group(1)


def literals(text):
    """(line number, text) of each string literal outside of comments."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.lstrip().startswith(("//", "#include")):
            for literal in re.findall(r'"((?:\\.|[^"\\])*)"', line):
                yield number, literal


def prose(page):
    """(line number, text) of each line of a page outside of samples and fenced blocks."""
    fenced = False
    for number, line in enumerate(page.split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def check_words():
    words, excused = {}, {}
    for line in open("tests/house/words.txt", encoding="utf-8"):
        if line.startswith("except "):
            _, name, word, _ = line.split(maxsplit=3)
            excused[name, word] = False
        elif line.strip() and not line.startswith("#"):
            word, instead = re.split(r"\s{2,}", line.strip())
            words[word] = instead
    pattern = re.compile(r"\b(" + "|".join(words) + r")\b", re.I)

    def search(name, lines):
        for number, line in lines:
            for word in {w.lower() for w in pattern.findall(re.sub(r"`[^`]*`", "", line))}:
                if (name, word) in excused:
                    excused[name, word] = True
                else:
                    broken(f"{name}:{number}", f'"{word}" is a private word; instead: {words[word]}')

    for name, text in TEXTS.items():
        search(name, comments(text))
        if not name.startswith("tests/"):  # tests have words of users and of Nomad as input
            search(name, literals(text))
    for name in FILES:
        if name.startswith(("profiles/", "datasets/")):
            continue
        if re.search(r"\.(py|sh|cmake|toml)$|CMakeLists\.txt$", name):
            search(name, hash_comments(open(name, encoding="utf-8").read()))
    for name, page in PAGES.items():
        search(name, prose(page))
    for (name, word), used in excused.items():
        if not used:
            broken("tests/house/words.txt", f'the exception "{name} {word}" is not needed')


# 12. Sizes: a file of C++ has at most FILE_LINES lines, a function FUNCTION_LINES, both with their comments.
FILE_LINES, FUNCTION_LINES = 800, 60


def functions(text):
    """(first line, number of lines, head) of each function at namespace scope or directly in a class; by layout."""
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        line = lines[index]
        indent = len(line) - len(line.lstrip())
        if not line.endswith("{") or indent > 2 or re.match(r"\s*(//|#|\*|namespace|extern)", line):
            index += 1
            continue
        first = index
        while first > 0 and lines[first - 1].strip() and not re.search(r"[;{}:]$|^\s*(//|#)", lines[first - 1]):
            first -= 1
        head = " ".join(part.strip() for part in lines[first:index + 1])
        is_type = re.match(r"(template <.*> )?(struct|class|enum|union) ", head) and not head.endswith(") {")
        is_statement = re.search(r"= ?\{$|\) ?= ", head) or re.match(r"(for|if|while|switch) \(", head)
        if is_type or is_statement or "(" not in head:
            index += 1
            continue
        end = index + 1
        while end < len(lines) and not lines[end].startswith(" " * indent + "}"):
            end += 1
        yield first + 1, end - first + 1, head
        index = end + 1


def check_sizes():
    for name, text in TEXTS.items():
        lines = text.count("\n")
        if lines > larger(name, lines, FILE_LINES):
            broken(name, f"has {lines} lines, more than {larger(name, lines, FILE_LINES)}")
        if name.startswith("tests/"):
            continue  # a table of cases is long, and reads better in one piece
        for line, size, head in functions(text):
            function = head.split("(")[0].split()[-1]
            limit = larger(f"{name} {function}", size, FUNCTION_LINES)
            if size > limit:
                broken(f"{name}:{line}", f"{function}() has {size} lines, more than {limit}")


# 13. Fields: a class has at most CLASS_FIELDS data members.
CLASS_FIELDS = 20


def fields(text):
    """(name, number of members that end in `_`) of each class."""
    text = re.sub(r'//[^\n]*|"(\\.|[^"\\\n])*"', "", text)
    for found in re.finditer(r"^ *class (\w+)[^;{(]*\{", text, re.M):
        depth, at, statement, count = 1, found.end(), "", 0
        while depth and at < len(text):
            char = text[at]
            depth += {"{": 1, "}": -1}.get(char, 0)
            if depth == 1 and char == ";":
                count += members(statement)
                statement = ""
            elif depth == 1 and char == "}" and not re.match(r"\s*[;,]", text[at + 1:at + 9]):
                statement = ""  # the end of a function's body
            elif depth == 1 and char != "}":
                statement += char
            at += 1
        yield found.group(1), count


def members(statement):
    statement = re.sub(r"\s*(public|private|protected):\s*", "", statement).strip()
    if re.match(r"(using|friend|static|typedef|class|struct|enum|template|virtual|explicit|BERTH_)\b", statement):
        return 0
    while re.search(r"<[^<>]*>", statement):
        statement = re.sub(r"<[^<>]*>", "", statement)
    names = re.sub(r"=[^,]*", "", statement)
    return 0 if "(" in names else len(re.findall(r"\b\w+_(?=\s*(?:,|$|\[|:))", names))


def check_fields():
    for name, text in TEXTS.items():
        if not name.startswith("tests/"):
            for class_name, count in fields(text):
                limit = larger(f"{name} class {class_name}", count, CLASS_FIELDS)
                if count > limit:
                    broken(name, f"class {class_name} has {count} fields, more than {limit}")


# 14. Weight: at most this share of the files of C++ is compiled again when the header changes.
def check_weight():
    roots = ["engine", "include", "bench", "", "tests"]
    known = set(SOURCES)
    includes = {}
    for name, text in TEXTS.items():
        found = set()
        for header in re.findall(r'^#include ["<]([^">]+)[">]', text, re.M):
            paths = (os.path.normpath(os.path.join(root, header)) for root in [os.path.dirname(name)] + roots)
            found.update(path for path in paths if path in known)
        includes[name] = found
    users = {header: 0 for header in WEIGHTS}
    units = [name for name in SOURCES if name.endswith(".cc")]
    for name in units:
        seen, stack = set(), [name]
        while stack:
            for header in includes[stack.pop()] - seen:
                seen.add(header)
                stack.append(header)
        for header in seen & users.keys():
            users[header] += 1
    for header, limit in WEIGHTS.items():
        share = 100 * users[header] / len(units)
        if share > limit:
            broken(header, f"{share:.1f} % of the files include it, more than {limit} %: declare its types in headers")


# 15. Links of all pages lead to a file, and to a heading of it.
def anchors(page):
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", page, re.M)}


def check_links():
    for name, page in PAGES.items():
        for number, line in prose(page):
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
                if not os.path.exists(path):
                    broken(f"{name}:{number}", f"links to {path}, which does not exist")
                elif anchor and path.endswith(".md") and anchor not in anchors(open(path, encoding="utf-8").read()):
                    broken(f"{name}:{number}", f"links to #{anchor}, which {path} does not have")


# 16. Subjects of the last commits: imperative, at most 72 characters, no full stop. A copy without history has none.
def check_subjects():
    log = subprocess.run(["git", "log", "-n", "100", "--no-merges", "--format=%h %s"], capture_output=True, text=True)
    for line in log.stdout.splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > 72 or subject.endswith(".") or not subject[:1].isupper():
            broken(f"commit {commit}", f"subject '{subject}': at most 72 characters, a capital first, no full stop")


# 17. Numbers: what a page counts is so many. Each pattern is in the page; its group is the number.
def check_numbers():
    for name, pattern, count, what in NUMBERS:
        found = re.search(pattern, open(name, encoding="utf-8").read())
        if not found:
            broken(name, f"'{pattern}' is not there: mend NUMBERS in tests/house/sources.py")
        elif int(found.group(1).replace(",", "")) != count():
            broken(name, f"says {found.group(1)} {what}, there are {count()}")


# 18. Layouts: tables of columns or rows at the head of a file name what its folder has, and give a type's true size.
def check_layouts():
    for name, text in TEXTS.items():
        folder = os.path.dirname(name) + "/"
        own = "\n".join(other for path, other in TEXTS.items() if path.startswith(folder))
        code = re.sub(r"//[^\n]*", "", own).lower().replace("_", "")
        heading = r"^// +(?:column|rows|field) [^\n]*bytes[^\n]*\n"
        for table in re.finditer(heading + r"((?://   ? ?[^\s][^\n]*\n)+)", text, re.M):
            for row in table.group(1).splitlines():
                label, *cells = re.split(r"\s{2,}|, ", row[2:].strip())
                if label.replace("_", "").replace(" ", "").lower() not in code and label.split()[0].lower() not in code:
                    broken(name, f"its layout has a row '{label}', which the folder does not have")
                if re.fullmatch(r"([A-Z][a-z]+)+", label.split()[0]) and cells[0] != "-":
                    size = re.search(r"\d+", row)
                    if not size or not re.search(rf"sizeof\({label.split()[0]}\) == {size.group(0)}\b", own):
                        broken(name, f"no static_assert holds this size of its layout: {row[2:].strip()}")


# 19. Lines of Python and Bash have at most LINE characters. A quoted text of QUOTED and more may take a line past it.
LINE, QUOTED = 120, 60


def check_lines():
    for name in FILES:
        if name.endswith((".py", ".sh")):
            long = [number for number, line in enumerate(open(name, encoding="utf-8").read().split("\n"), 1)
                    if len(line) > LINE
                    and not any(len(text) >= QUOTED for text in re.findall(r'"(?:\\.|[^"\\])*"|\'[^\']*\'', line))]
            if len(long) > larger(f"{name} long lines", len(long), 0):
                broken(f"{name}:{long[0]}", f"has more than {LINE} characters; lines like it: {len(long)}")


# Headers that many files include, and the largest share of them in percent.
WEIGHTS = {
    # For files that look into a value, a job or the tables. Declared by retained_json.h, resources.h and alloc_table.h.
    "engine/base/json.h": 40, "engine/model/job.h": 35, "engine/tables/state.h": 39,
    # Caches of a worker and what holds them: behind the forward declaration of Lane.
    "engine/sched/scratch.h": 14, "engine/sched/source/ask_table.h": 14, "engine/sched/source/retry_memo.h": 14,
    "engine/sched/source/by_table.h": 11, "engine/feasible/class_cache.h": 12, "engine/server/lane.h": 7,
    "engine/server/server.h": 18,
    # Libraries with large headers.
    "engine/sim/toml_section.h": 2, "bench/cli/common.h": 3,
}
def recordings():
    return sum(f.startswith("tests/golden/http/") and f.endswith(".gz") for f in FILES)


def answers():
    return int(re.search(r"Of ([\d,]+) answers", PAGES["tests/serve/replay/README.md"]).group(1).replace(",", ""))


NUMBERS = [
    ("README.md", r"(\d+) recorded sessions", recordings, "recorded conversations"),
    ("README.md", r"of ([\d,]+)\s+answers", answers, "answers"),
]

CHECKS = (check_words, check_sizes, check_fields, check_weight, check_links, check_subjects, check_numbers,
          check_layouts, check_lines)
for check in CHECKS:
    check()
for subject, (_, needed) in LARGE.items():
    if not needed:
        broken("tests/house/large.txt", f"'{subject}' is not larger than usual, or gone: take it off the list")
if len(FILES) < 20:
    broken(".", f"only {len(FILES)} files found: the check runs in the wrong folder")
if problems:
    sys.exit("\n".join(problems))
print(f"house: the sources keep all rules, {len(SOURCES)} files and {len(PAGES)} pages")
