#!/usr/bin/env python3
"""The examples in the comments of include/berth/*.h as one C++ file that the tests compile and run.

    examples.py INCLUDE_DIR OUTPUT.cc

An example is a block of comment lines that begin with `//   `, three spaces in. Each becomes a function with predefined
names: a cluster of a few nodes, a job, their JSON, and files with them."""
import os
import re
import sys

HEAD = """// Made by tests/api/examples.py from the comments of include/berth.
#include <cstdio>
#include <string>
#include <vector>

#include "support/example_world.h"
%s
using namespace berth;
using berth::testing::ExampleWorld;

"""


def examples(path):
    block, blocks = [], []
    with open(path, encoding="utf-8") as file:
        for line in list(file) + [""]:
            match = re.match(r"//   (.*)$", line)
            if match:
                block.append(match.group(1))
            elif block:
                blocks.append(block)
                block = []
    return [b for b in blocks if any(";" in l for l in b)]


def main():
    folder, output = sys.argv[1:]
    out, calls, headers = [], [], []
    for name in sorted(os.listdir(folder)):
        # The C interface has an example of its own; strategies are compiled by tests/install/consumer.
        if not name.endswith(".h") or name in ("berth.h", "strategy.h", "preemption.h", "fleet.h", "fit.h",
                                               "lifetimes.h", "power.h", "catalogue.h"):
            continue
        headers.append('#include "berth/%s"\n' % name)
        for number, block in enumerate(examples(os.path.join(folder, name)), 1):
            function = "example_%s_%d" % (name[:-2], number)
            body = "\n".join("  " + l for l in block)
            takes = "".join("  [[maybe_unused]] auto& %s = world.%s;\n" % (each, each)
                            for each in ("cluster", "node_json", "node_id", "job") if not re.search(
                                r"(auto|Cluster|Config|LivingCluster)&? \*?%s\b" % each, body))
            body = re.sub(r"\n  +for \((.*)\) \.\.\.", r"\n  for (\1) static_cast<void>(alloc);", body)
            out.append("static void %s([[maybe_unused]] ExampleWorld& world) {\n%s%s\n}\n" % (function, takes, body))
            calls.append("  berth::testing::run_example(\"%s\", %s);\n" % (function, function))
    with open(output, "w", encoding="utf-8") as file:
        file.write(HEAD % "".join(headers) + "\n".join(out) + "\nint main() {\n" + "".join(calls) + "  return 0;\n}\n")


main()
