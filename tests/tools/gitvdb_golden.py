#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/gitvdb/{numbers,floats32,values,filters}.tsv by the references gitvdb_ref.py, gitvdb_refcli.py.

numbers.tsv   a number as text, what the format makes of it (or "error")
floats32.tsv  bits of a float of 32 bits in hex, its text
values.tsv    a JSON text, its canonical form (or "error"), is it unstable (0, 1)
filters.tsv   first points: id, canonical payload; behind an empty line filters: text, "error" or a 0 or 1 for each point
"""
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import gitvdb_refcli as C  # noqa: E402

R = C.R

OUT = os.path.join(HERE, "..", "golden", "gitvdb")
VECTORS = """-0|1E2|1e-5|0.00001234|18446744073709551615|-9223372036854775808|12345678901234567.0|1.7976931348623157e308
123456789012345680000|9007199254740993.0|2.2250738585072011e-308|1e16|1e15|1e-6|5e-324|18446744073709551616|-9223372036854775809
123456789.0e0|1e400|0.30000000000000004|100000000000000000000000.5|-1e-400|1.7976931348623158e308|0.99955335555768920|01|-|1.|.5|+1|1e|1e+
00|-01|0e99999999999|1e99999999999|-0e99999999999|1e-99999999999|0.0|-0.0|0|1|-1|1e308|1e309|0.1e309|1000e306|0e400
184467440737095516159|18446744073709551615.5|1844674407370955161.59|0.000000000000000000000000000000000000000000000001
123456789012345678901234567890e-20|123456789012345678901234567890.123e-40|9007199254740992|9007199254740993|1e22|1e23|1e-22|1e-23
2147483648e-2147483648|1e2147483647|1e-2147483648|12345678901234567890123e2147483647|0.000001|0.0000012|999999999999999.9|9999999999999999.9"""


def number(rng):
    digits = lambda n: "".join(rng.choice("0123456789") for _ in range(n))  # noqa: E731
    kind = rng.randrange(10)
    if kind == 0:
        return repr(struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0])
    if kind == 1:
        return "%.17g" % (rng.uniform(-1, 1) * 10 ** rng.randrange(-30, 30))
    if kind == 2:
        return repr(rng.uniform(-1, 1))
    if kind == 3:
        return str(rng.getrandbits(rng.randrange(1, 80)) * rng.choice((1, -1)))
    if kind == 4:
        return "%.16g" % rng.uniform(0, 1e6)
    sign, whole = rng.choice(("", "-")), rng.choice(("0", str(rng.randrange(1, 10)) + digits(rng.randrange(0, 25))))
    text = sign + whole
    if kind < 8 or rng.randrange(2):
        text += "." + digits(rng.randrange(1, 25))
    if kind > 6:
        text += rng.choice("eE") + rng.choice(("", "+", "-")) + str(rng.choice((rng.randrange(0, 30), rng.randrange(0, 400))))
    return text


def canonical(text):
    try:
        return R.canon(R.parse_json(text))
    except R.JsonError:
        return "error"


def numbers(rng):
    texts = [t for line in VECTORS.splitlines() for t in line.split("|")]
    while len(texts) < 3000:
        t = number(rng)
        if t[-1] in "0123456789":  # not inf, nan
            texts.append(t)
    return ["%s\t%s" % (t, canonical(t)) for t in texts]


def floats32(rng):
    bits = [0, 0x80000000, 1, 0x7F7FFFFF, 0x00800000, 0x007FFFFF, 0x3F800000, 0x358637BD, 0x49742400, 0x5368D4A5, 0x5368D4A6]
    while len(bits) < 800:
        b = rng.getrandbits(32) if rng.randrange(2) else R.f32_bits(rng.uniform(-1, 1) * 10 ** rng.randrange(-9, 15))
        if b >> 23 & 255 != 255:
            bits.append(b)
    return ["%08x\t%s" % (b, R.format_f32(struct.unpack("<f", struct.pack("<I", b))[0])) for b in bits]


def value(rng, depth):
    kind = rng.randrange(9 if depth else 6)
    space = lambda: rng.choice(("", "", "", " ", "\t"))  # noqa: E731
    if kind == 0:
        return rng.choice(("null", "true", "false"))
    if kind < 3:
        t = number(rng)
        return t if t[-1] in "0123456789" else "1"
    if kind < 6:
        return string(rng)
    n = rng.randrange(0, 5)
    if kind == 6:
        return "[" + ",".join(space() + value(rng, depth - 1) + space() for _ in range(n)) + "]"
    pairs = (space() + string(rng) + space() + ":" + space() + value(rng, depth - 1) + space() for _ in range(n))
    return "{" + space() + ",".join(pairs) + "}"


def string(rng):
    pieces = ["a", "b", "A", "\\u0041", "\\n", "\\u000a", "\\u001f", "\\\"", "\\\\", "\\/", "/", "\u00e9", "\\u00e9", "\u20ac", "\U0001f600",
              "\\ud83d\\ude00", "\\uD83D\\uDE00", "\x7f", "\\u0000", " ", "\\b\\f\\r\\t", "\\u0008", "longer than eight bytes"]
    return '"' + "".join(rng.choice(pieces) for _ in range(rng.randrange(0, 4))) + '"'


def values(rng):
    out = []
    for _ in range(700):
        t = value(rng, 4)
        if rng.randrange(8) == 0:
            i = rng.randrange(len(t))
            t = t[:i] + rng.choice(('"', "\\", ",", "]", "}", "", "0", "\\ud800")) + t[i + 1 :]
        c = canonical(t)
        again = c if c == "error" else canonical(c)
        out.append("%s\t%s\t%d" % (t.replace("\t", "  ").replace("\n", " "), c, c != again))
    return out


POINTS = r"""1|{}
"1"|{"n":1}
2|{"n":1.0,"s":"x"}
"b"|{"n":-0.0,"a":{"b":1}}
"\u00e9"|{"n":9007199254740993,"a":{"b":{"c":null}}}
3|{"n":"1","s":"","a":[]}
4|{"n":null,"s":"a\"b\\","a":[1,"x",null]}
5|{"n":true,"a":[[1],{"b":1},1.5,true]}
"long id that is longer than a block"|{"n":false,"a":{"":1,"b":"x"},"":{"":2}}
7|{"document":"The quick brown fox\njumps","n":-5}
8|{"document":"","n":1e300}
9|{"document":"caf\u00e9 \"quoted\" \\n","n":18446744073709551615}
10|{"document":7,"n":0.1}
11|{"document":"line one\nline two\u0001","z":{"document":"fox"},"n":3}
12|{"a.b":1,"a":{"b":false},"document":"FOX 123"}
13|{"n":2,"s":"\u20ac","a":["a\"b\\","\u20ac"]}"""
PATHS = ["n", "s", "a", "a.b", "a.b.c", "document", "z", "a.", "", "a..b", "x", "\u00e9", "z.document", "n.x"]
SCALARS = r'1 1.0 0 -0.0 -5 9007199254740992 18446744073709551615 1e300 0.1 "1" "x" "" "a\"b\\" "\u20ac" null true false 2 1.5 3'.split()
TEXTS = ["fox", "FOX", r"\n", r"quoted\"", "caf\u00e9", r"\\n", r"line two\u0001", "", "e", r"\\"]
PATTERNS = ["fox", "(?i)fox", "^line", "(?m)^line two", r"\\d+", "o.j", "(?s)x.j", r"\"", "[a-c]{2}", "x$", "(", r"\\w+ \\w+"]
BAD = ["{}", "[]", '{"foo":1}', "3", "null", '"x"', '{"must":3}', '{"must":null}', '{"must":[]}', '{"must_not":[{"has_field":"n"}]}',
       '[[{"has_field":"n"}]]', '{"key":"n"}', '{"match":{"value":1}}', '{"key":"n","match":null}', '{"key":"n","match":{}}', '{"has_field":3}',
       '{"key":3,"any":[1]}', '{"key":"n","any":1}', '{"key":"n","any":"1","match":{"value":1}}', '{"key":"n","any":[],"match":{"value":1}}',
       '{"has_id":"1"}', '{"has_id":[]}', '{"has_id":[1,-1]}', '{"has_id":[1.0]}', '{"key":"n","range":{"gte":"1"}}',
       '{"key":"n","match":{"value":[1]}}', '{"key":"n","contains":{}}', '{"document_contains":3}', '{"document_regex":["x"]}',
       '{"key":"n","range":{}}', '{"key":"n","range":{"gt":null,"x":1}}', '{"has_field":"n","must":[]}', '{"has_field":3,"must":[{"has_field":"s"}]}']


def condition(rng, depth):
    q = lambda s: '"' + s + '"'  # noqa: E731
    key = '"key":' + q(rng.choice(PATHS[:7] if rng.randrange(12) else PATHS))
    some = lambda: "[" + ",".join(rng.choice(SCALARS) for _ in range(rng.choice((1, 1, 2, 3, 12)))) + "]"  # noqa: E731
    bounds = lambda: ",".join('"%s":%s' % (b, rng.choice(SCALARS[:9] + ["null", "2", "3"])) for b in rng.sample(("gt", "gte", "lt", "lte"), rng.randrange(3)))  # noqa: E731
    kind = rng.randrange(12 if depth else 11)
    if kind == 0:
        return '{"has_field":%s}' % q(rng.choice(PATHS))
    if kind == 1:
        return '{%s,"any":%s}' % (key, some())
    if kind == 2:
        return '{%s,"none":%s}' % (key, some())
    if kind == 3:
        return '{%s,"contains":%s}' % (key, rng.choice(SCALARS))
    if kind == 4:
        return '{"document_contains":%s}' % q(rng.choice(TEXTS))
    if kind == 5:
        return '{"document_regex":%s}' % q(rng.choice(PATTERNS))
    if kind == 6:
        return '{%s,"match":{"value":%s}}' % (key, rng.choice(SCALARS))
    if kind == 7:
        return '{%s,"range":{%s}}' % (key, bounds())
    if kind == 8:
        return '{%s,"match":{"value":%s},"range":{%s}}' % (key, rng.choice(SCALARS), bounds())
    if kind == 9:
        return '{"has_id":[%s]}' % ",".join(rng.choice(("1", '"1"', "2", '"b"', r'"\u00e9"', "9", "99")) for _ in range(rng.randrange(1, 4)))
    if kind == 10:
        return rng.choice(BAD) if rng.randrange(3) == 0 else '{"has_field":"n"}'
    return group(rng, depth - 1)


def group(rng, depth):
    parts = []
    for clause in rng.sample(("must", "should", "must_not"), rng.choice((1, 1, 2, 3))):
        parts.append('"%s":[%s]' % (clause, ",".join(condition(rng, depth) for _ in range(rng.choice((0, 1, 1, 1, 2))))))
    return "{" + ",".join(parts) + "}"


def compile_all(f):
    for c in f[0] + f[1] + f[2]:
        if c[0] == "rx":
            C.re.compile(c[1])
        if c[0] == "nested":
            compile_all(c[1])


def matched(text, points):
    try:
        f = C.filter_arg(text)
        C.check_filter(f)
        compile_all(f)
        return "".join("01"[C.matches(f, p)] for p in points)
    except (C.Fail, C.re.error):
        return "error"


def filters(rng):
    lines = [line.partition("|") for line in POINTS.splitlines()]
    points = [(R.parse_json(i), [], R.parse_json(p)) for i, _, p in lines]
    texts = ['{"must":[%s]}' % b for b in BAD] + BAD + [group(rng, 2) for _ in range(900)]
    return ["%s\t%s" % (i, R.canon(R.parse_json(p))) for i, _, p in lines] + [""] + ["%s\t%s" % (t, matched(t, points)) for t in texts]


def main():
    rng = random.Random(20260)
    for name, make in (("numbers", numbers), ("floats32", floats32), ("values", values), ("filters", filters)):
        with open(os.path.join(OUT, name + ".tsv"), "w", encoding="utf-8", newline="\n") as f:
            f.write("\n".join(make(rng)) + "\n")


main()
