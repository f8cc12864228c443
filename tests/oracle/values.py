"""Numbers, comparison operands, versions and typed device attributes (spec parts 02 and 03).

What a cached function returns depends on its arguments alone.
"""
import math
import os
import re
import struct
from fractions import Fraction
from functools import lru_cache

INT64_MAX = 2**63 - 1


def bits(text):
    return struct.unpack(">d", bytes.fromhex(text))[0]


def fma(a, b, c):
    """a*b + c rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


EXP_COEFFICIENTS = [bits("3f2a01a01a01a01a"), bits("3f56c16c16c16c17"), bits("3f81111111111111"),
                    bits("3fa5555555555555"), bits("3fc5555555555555"), 0.5, 1.0]


@lru_cache(maxsize=None)
def exp(x):
    """R-RANK-106."""
    if math.isnan(x) or x == math.inf:
        return x
    if x == -math.inf:
        return 0.0
    if x > 709.78271289338397:
        return math.inf
    k = round(x * bits("3ff71547652b82fe"))
    r = fma(-k, bits("3fe62e42fefa3000"), x)
    r = fma(-k, bits("3d53de6af278ece6"), r)
    r = r * 0.0625
    p = bits("3efa01a01a01a01a")
    for c in EXP_COEFFICIENTS:
        p = fma(p, r, c)
    y = r * p
    for _ in range(3):
        t = y + 2.0
        y = y * t
    t = y + 2.0
    e = fma(t, y, 1.0)
    if k + 1023 < -52:
        return 0.0
    if k >= 1024:
        return math.inf
    return float(Fraction(e) * Fraction(2) ** k)


@lru_cache(maxsize=None)
def pow10(y):
    """R-RANK-105."""
    if math.isnan(y) or y == math.inf:
        return y
    if y == -math.inf:
        return 0.0
    if y == 0:
        return 1.0
    if y == 1:
        return 10.0
    if y == 0.5:
        return math.sqrt(10.0)
    if y == -0.5:
        return 1.0 / math.sqrt(10.0)
    yf, yi = math.modf(abs(y))
    yi = int(yi)
    a, ae = 1.0, 0
    if yf != 0:
        if yf > 0.5:
            yf -= 1.0
            yi += 1
        a = exp(yf * bits("40026bb1bbb55516"))
    m, me = 0.625, 4
    while yi:
        if abs(me) > 4096:
            ae += me
            break
        if yi & 1:
            a *= m
            ae += me
        m *= m
        me *= 2
        if m < 0.5:
            m += m
            me -= 1
        yi >>= 1
    if y < 0:
        a = 1.0 / a
        ae = -ae
    try:
        return math.ldexp(a, ae)
    except OverflowError:
        return math.inf


def divide(a, b):
    """IEEE division: no exception for a zero divisor."""
    a, b = float(a), float(b)
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


# --- shuffle ---

class GoRand:
    """R-FEAS-205: the seeded version-1 generator."""
    table = None

    def __init__(self, seed):
        m = 2**31 - 1
        s = seed % m or 89482311
        for _ in range(20):
            s = s * 48271 % m
        self.words = []
        for k in range(607):
            x1 = s = s * 48271 % m
            x2 = s = s * 48271 % m
            x3 = s = s * 48271 % m
            self.words.append(((x1 << 40) ^ (x2 << 20) ^ x3 ^ self.constants()[k]) & (2**64 - 1))
        self.tap, self.feed = 0, 334

    @classmethod
    def constants(cls):
        if cls.table is None:
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "go_rand_table.txt")
            with open(path) as f:
                cls.table = [int(line, 16) for line in f if line.strip() and line[0] != "#"]
            assert len(cls.table) == 607
        return cls.table

    def next(self):
        self.tap = (self.tap - 1) % 607
        self.feed = (self.feed - 1) % 607
        x = (self.words[self.feed] + self.words[self.tap]) & (2**64 - 1)
        self.words[self.feed] = x
        return x

    def bounded(self, m):
        def d():
            return (self.next() & (2**63 - 1)) >> 32
        if m & (m - 1) == 0:
            return d() & (m - 1)
        top = 2**31 - 1 - (2**31 % m)
        v = d()
        while v > top:
            v = d()
        return v % m


def shuffled(items, eval_id, index):
    """R-FEAS-202, R-FEAS-203."""
    items = list(items)
    seed = (int.from_bytes(eval_id.encode()[-8:], "big") ^ index) >> 2
    if len(items) > 1:
        rand = GoRand(seed)
        for i in range(len(items) - 1, 0, -1):
            j = rand.bounded(i + 1)
            items[i], items[j] = items[j], items[i]
    return items


# --- text to number ---

def parse_int(text):
    """R-FEAS-612."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        return None
    v = int(text)
    return v if -2**63 <= v <= INT64_MAX else None


HEX_FLOAT = re.compile(r"[+-]?0[xX](?=[0-9a-fA-F.])([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?[pP]([+-]?[0-9]+)")
DEC_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def parse_float(text):
    """R-FEAS-613; None: not a number."""
    if re.fullmatch(r"[+-]?inf(inity)?", text, re.I):
        return -math.inf if text[0] == "-" else math.inf
    if re.fullmatch("nan", text, re.I):
        return math.nan
    plain = text
    if "_" in text:
        # Underscores only between digits, or right after 0x; decimal text with underscores is base-prefix-only in some
        # readers, but the rule allows them between digits.
        if not re.fullmatch(r"[+-]?(?:0[xX]_?)?[0-9a-fA-F]*(?:_[0-9a-fA-F]+)*(?:\.[0-9a-fA-F]*(?:_[0-9a-fA-F]+)*)?"
                            r"(?:[pPeE][+-]?[0-9]+(?:_[0-9]+)*)?", text):
            return None
        plain = text.replace("_", "")
    if HEX_FLOAT.fullmatch(plain):
        whole, frac, _ = HEX_FLOAT.fullmatch(plain).groups()
        if not (whole or frac):
            return None
        try:
            v = float.fromhex(plain)
        except OverflowError:
            return None
        return None if math.isinf(v) else v
    if DEC_FLOAT.fullmatch(plain):
        v = float(plain)
        return None if math.isinf(v) else v
    return None


def parse_bool(text):
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    return None


# --- versions ---

ID_CHARS = "0-9A-Za-z~-"
LENIENT = re.compile(
    r"v?([0-9]+(?:\.[0-9]+)*?)"
    rf"(?:-([0-9]+[{ID_CHARS}]*(?:\.[{ID_CHARS}]+)*)|(?:-?([A-Za-z\-~]+[{ID_CHARS}]*(?:\.[{ID_CHARS}]+)*)))?"
    rf"(?:\+([{ID_CHARS}]+(?:\.[{ID_CHARS}]+)*))?")
STRICT = re.compile(
    r"v?([0-9]+(?:\.[0-9]+)*?)"
    rf"(?:-([0-9]+[{ID_CHARS}]*(?:\.[{ID_CHARS}]+)*)|(?:-([A-Za-z\-~]+[{ID_CHARS}]*(?:\.[{ID_CHARS}]+)*)))?"
    rf"(?:\+([{ID_CHARS}]+(?:\.[{ID_CHARS}]+)*))?")


class Version:
    def __init__(self, segments, written, pre, text):
        self.segments, self.written, self.pre, self.text = segments, written, pre, text


def parse_version(text, strict=False):
    """R-FEAS-622, R-FEAS-623."""
    if text.endswith("\n"):
        return None
    m = (STRICT if strict else LENIENT).fullmatch(text)
    if not m:
        return None
    segments = [int(s) for s in m.group(1).split(".")]
    if any(s > INT64_MAX for s in segments):
        return None
    written = len(segments)
    segments += [0] * (3 - written)
    pre = m.group(2) or m.group(3) or ""
    canonical = ".".join(map(str, segments)) + ("-" + pre if pre else "") + ("+" + m.group(4) if m.group(4) else "")
    return Version(segments, written, pre, canonical)


def compare_part(p, q):
    """R-FEAS-627, one pair of prerelease parts."""
    if p == q:
        return 0
    pn, qn = parse_int(p) if p else None, parse_int(q) if q else None
    if p == "":
        return -1 if qn is not None else 1
    if q == "":
        return 1 if pn is not None else -1
    if pn is not None and qn is None:
        return -1
    if pn is None and qn is not None:
        return 1
    if pn is None:
        if re.fullmatch("[0-9]+", p) and not re.fullmatch("[0-9]+", q):
            return 1
        return 1 if p > q else -1
    return 1 if pn > qn else -1


def compare_pre(a, b):
    pa, pb = a.split("."), b.split(".")
    for i in range(max(len(pa), len(pb))):
        c = compare_part(pa[i] if i < len(pa) else "", pb[i] if i < len(pb) else "")
        if c:
            return c
    return 0


def compare_versions(a, b):
    """R-FEAS-625."""
    if a.text == b.text:
        return 0
    if a.segments == b.segments:
        if not a.pre and not b.pre:
            return 0
        if not a.pre:
            return 1
        if not b.pre:
            return -1
        return compare_pre(a.pre, b.pre)
    n = min(len(a.segments), len(b.segments))
    for x, y in zip(a.segments, b.segments):
        if x != y:
            return -1 if x < y else 1
    if any(a.segments[n:]):
        return 1
    if any(b.segments[n:]):
        return -1
    return 0


@lru_cache(maxsize=None)
def parse_constraints(text, semver):
    """R-FEAS-624, R-FEAS-631: list of (operator, version), or None."""
    out = []
    for piece in text.split(","):
        m = re.fullmatch(r"[\t\n\f\r ]*(=|!=|>=|<=|>|<|~>|)[\t\n\f\r ]*(.*?)[\t\n\f\r ]*", piece, re.S)
        if not m or (semver and m.group(1) == "~>"):
            return None
        v = parse_version(m.group(2), strict=semver)
        if v is None:
            return None
        out.append((m.group(1) or "=", v))
    return out


def satisfies(v, op, c, semver):
    order = compare_versions(v, c)
    if op == "=":
        return order == 0
    if op == "!=":
        return order != 0
    if not semver:
        if v.pre and not c.pre:
            return False
        if v.pre and c.pre and v.segments != c.segments:
            return False
    if op == "~>":
        if c.pre and not v.pre:
            return False
        if order < 0 or len(c.segments) > len(v.segments):
            return False
        if v.segments[:c.written - 1] != c.segments[:c.written - 1]:
            return False
        last = len(c.segments) - 1
        return v.segments[last] >= c.segments[last]
    return {">": order > 0, "<": order < 0, ">=": order >= 0, "<=": order <= 0}[op]


def version_match(left, right, semver):
    v = parse_version(left)
    constraints = parse_constraints(right, semver)
    return v is not None and constraints is not None and all(satisfies(v, op, c, semver) for op, c in constraints)


# --- operands ---

@lru_cache(maxsize=None)
def compile_regexp(text):
    """RE2 syntax read by Python's engine: the same for what the generators write; None for what is not."""
    if re.search(r"\\[1-9CQEpP]|\(\?[=!<PU(]|[*+?}]\+", text.replace("(?P<", "").replace(r"\\", "")):
        return None
    try:
        return re.compile(text.replace(r"\z", r"\Z").replace("$", r"\Z") if "(?m" not in text else text)
    except (re.error, OverflowError):
        return None


def ordered(op, left, right):
    """R-FEAS-611."""
    a, b = parse_int(left), parse_int(right)
    if a is None or b is None:
        a, b = parse_float(left), parse_float(right)
        if a is None or b is None:
            a, b = left.encode(), right.encode()
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def as_set(text):
    return [x.strip() for x in text.split(",")]


def text_operand(op, left, right):
    if op == "version" or op == "semver":
        return version_match(left, right, op == "semver")
    if op == "regexp":
        r = compile_regexp(right)
        return r is not None and r.search(left) is not None
    if op in ("set_contains", "set_contains_all"):
        have = as_set(left)
        return all(x in have for x in as_set(right))
    if op == "set_contains_any":
        have = as_set(left)
        return any(x in have for x in as_set(right))
    raise AssertionError(op)


TEXT_OPERANDS = ("version", "semver", "regexp", "set_contains", "set_contains_all", "set_contains_any")


def check(op, left, right, left_found, right_found):
    """R-FEAS-601 to R-FEAS-608."""
    if op in ("distinct_hosts", "distinct_property"):
        return True
    if op in ("=", "==", "is"):
        return left_found and right_found and left == right
    if op in ("!=", "not"):
        return left != right
    if op in ("<", "<=", ">", ">="):
        return left_found and right_found and ordered(op, left, right)
    if op == "is_set":
        return left_found
    if op == "is_not_set":
        return not left_found
    if op in TEXT_OPERANDS:
        return left_found and right_found and text_operand(op, left, right)
    return False


def resolve(target, node):
    """Section 5 of part 02: (text, found)."""
    if not target.startswith("${"):
        return target, True
    plain = {"${node.unique.id}": "ID", "${node.datacenter}": "Datacenter", "${node.unique.name}": "Name",
             "${node.class}": "NodeClass", "${node.pool}": "NodePool"}
    if target in plain:
        return node.get(plain[target]) or "", True
    for prefix, field in (("${attr.", "Attributes"), ("${meta.", "Meta")):
        if target.startswith(prefix):
            key = target[len(prefix):]
            if key.endswith("}"):
                key = key[:-1]
            table = node.get(field) or {}
            return (table[key], True) if key in table else ("", False)
    return "", False


def node_check(rule, node):
    left, lf = resolve(rule.get("LTarget") or "", node)
    right, rf = resolve(rule.get("RTarget") or "", node)
    return check(rule.get("Operand") or "", left, right, lf, rf)


def rule_text(rule):
    return " ".join((rule.get("LTarget") or "", rule.get("Operand") or "", rule.get("RTarget") or ""))


# --- device attributes ---

UNITS = {}
for _i, _p in enumerate("KMGTPE", 1):
    for _suffix, _base in (("", "byte"), ("/s", "byte rate")):
        UNITS[_p + "iB" + _suffix] = (_base, Fraction(1024) ** _i)
        UNITS[_p + "B" + _suffix] = (_base, Fraction(1000) ** _i)
UNITS["kB"], UNITS["kB/s"] = ("byte", Fraction(1000)), ("byte rate", Fraction(1000))
UNITS.update({"MHz": ("hertz", Fraction(10) ** 6), "GHz": ("hertz", Fraction(10) ** 9),
              "mW": ("watt", Fraction(1, 1000)), "W": ("watt", Fraction(1)), "kW": ("watt", Fraction(1000)),
              "MW": ("watt", Fraction(10) ** 6), "GW": ("watt", Fraction(10) ** 9)})


class NaNCompared(Exception):
    """R-FEAS-933."""


def parse_attribute(text):
    """R-FEAS-921, R-FEAS-922: (kind, value, unit)."""
    if text == "":
        return ("text", "", "")
    number, unit = text, ""
    if text[-1].isascii() and text[-1].isalpha():
        fits = [u for u in UNITS if text.endswith(u)]
        if fits:
            unit = max(fits, key=len)
            number = text[:-len(unit)].strip()
    i = parse_int(number)
    if i is not None:
        return ("int", i, unit)
    f = parse_float(number)
    if f is not None:
        return ("float", f, unit)
    b = parse_bool(text)
    if b is not None:
        return ("bool", b, "")
    return ("text", text, "")


def stored_attribute(a):
    unit = a.get("Unit") or ""
    for key, kind in (("Int", "int"), ("Float", "float"), ("String", "text"), ("Bool", "bool")):
        if a.get(key) is not None:
            return (kind, float(a[key]) if kind == "float" else a[key], unit if unit in UNITS else "")
    return ("none", None, "")


def comparable(l, r):
    """R-FEAS-931."""
    if l[2] or r[2]:
        return bool(l[2]) and bool(r[2]) and UNITS[l[2]][0] == UNITS[r[2]][0]
    number = ("int", "float")
    return (l[0] in number and r[0] in number) or (l[0] == r[0] and l[0] in ("text", "bool"))


def wrap64(v):
    return (v + 2**63) % 2**64 - 2**63


def order_attributes(l, r):
    """R-FEAS-932."""
    if l[0] == "bool":
        return 0 if l[1] == r[1] else 1
    if l[0] == "text":
        a, b = l[1].encode(), r[1].encode()
    elif l[0] == r[0] == "int":
        def scaled(x):
            factor = UNITS[x[2]][1] if x[2] else Fraction(1)
            if factor < 1:
                return int(Fraction(x[1]) * factor)  # toward zero
            return wrap64(x[1] * int(factor))
        a, b = scaled(l), scaled(r)
    else:
        def exact(x):
            if x[0] == "float" and math.isnan(x[1]):
                raise NaNCompared()
            if x[0] == "float" and math.isinf(x[1]):
                return x[1]
            return Fraction(x[1]) * (UNITS[x[2]][1] if x[2] else 1)
        a, b = exact(l), exact(r)
    return (a > b) - (a < b)


def device_check(op, l, r):
    """R-FEAS-934; l and r are attributes or None."""
    both = l is not None and r is not None
    if op in ("distinct_hosts", "distinct_property"):
        return True
    if op in ("!=", "not"):
        if not both:
            return (l is None) != (r is None)
        return comparable(l, r) and order_attributes(l, r) != 0
    if op in ("=", "==", "is"):
        return both and comparable(l, r) and order_attributes(l, r) == 0
    if op in ("<", "<=", ">", ">="):
        if not (both and comparable(l, r)):
            return False
        c = order_attributes(l, r)
        return {"<": c == -1, "<=": c != 1, ">": c == 1, ">=": c != -1}[op]
    if op in ("version", "semver"):
        return (both and l[0] in ("text", "int") and r[0] == "text"
                and version_match(str(l[1]), r[1], op == "semver"))
    if op in TEXT_OPERANDS:
        return both and l[0] == r[0] == "text" and text_operand(op, l[1], r[1])
    if op == "is_set":
        return l is not None
    if op == "is_not_set":
        return l is None
    return False


def device_target(target, group):
    """R-FEAS-911."""
    if not target.startswith("${"):
        return parse_attribute(target)
    if target == "${device.ids}":
        return ("text", ",".join(i.get("ID") or "" for i in group.get("Instances") or []), "")
    if target == "${device.model}":
        return ("text", group.get("Name") or "", "")
    if target == "${device.vendor}":
        return ("text", group.get("Vendor") or "", "")
    if target == "${device.type}":
        return ("text", group.get("Type") or "", "")
    if target.startswith("${device.attr."):
        key = target[len("${device.attr."):]
        if key.endswith("}"):
            key = key[:-1]
        a = (group.get("Attributes") or {}).get(key)
        return stored_attribute(a) if a is not None else None
    return None


def device_rule(rule, group):
    return device_check(rule.get("Operand") or "", device_target(rule.get("LTarget") or "", group),
                        device_target(rule.get("RTarget") or "", group))


def quoted(text):
    """R-FEAS-1009."""
    out = []
    escapes = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
               "\v": "\\v"}
    for ch in text:
        if ch in escapes:
            out.append(escapes[ch])
        elif ch.isprintable():
            out.append(ch)
        elif ord(ch) < 128:
            out.append("\\x%02x" % ord(ch))
        elif ord(ch) < 0x10000:
            out.append("\\u%04x" % ord(ch))
        else:
            out.append("\\U%08x" % ord(ch))
    return '"' + "".join(out) + '"'


def glob(pattern, text):
    """R-FEAS-107."""
    return re.fullmatch(".*".join(re.escape(p) for p in pattern.split("*")), text, re.S) is not None
