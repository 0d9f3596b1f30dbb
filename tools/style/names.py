#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks that every name at file scope has a noun: names.py FILE...

A backtrace and ftrace show a static function by its bare name, among those of the whole
kernel. "base_find" says where it is, "find" does not. Prints functions at file scope that
are a single word, in the form of checkpatch. In the module and in the library it also prints
variables, types and macros.
"""
import re
import sys

WORD = r"([A-Za-z][A-Za-z0-9]*)"
KINDS = (
    ("function", re.compile(rf"^static [^=;(]*?\b{WORD}\((?!\()")),
    ("function", re.compile(rf"^(?!static|return|else)(?:[a-z]\w*[ *]+)+{WORD}\([^()]*\)?$")),
    ("variable", re.compile(rf"^static [^=;(]*?[ *]{WORD}(?:\[[^\]]*\])*(?: =|;)")),
    ("type", re.compile(rf"^(?:static )?(?:const )?(?:struct|union|enum) {WORD} \{{")),
    ("macro", re.compile(rf"^#define {WORD}\b")),
)
STRICT = re.compile("module/|tools/lib/")
# The entry of a program is called so.
ALLOWED = {"main"}


def main():
    for name in sys.argv[1:]:
        with open(name) as file:
            for number, line in enumerate(file, 1):
                for kind, pattern in KINDS:
                    match = pattern.match(line)
                    if (match and match[1] not in ALLOWED and
                            (kind == "function" or STRICT.match(name))):
                        print(f"{name}:{number}: CHECK:BARE_NAME: {kind} {match[1]} "
                              "has no noun")
                        break


main()
