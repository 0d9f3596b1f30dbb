#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Plants a fault in a source: plant.py FILE FUNCTION KIND NUMBER

It is the change of that kind and number in the function, counted from 1. Without a number, all
are printed. Kinds are those of mutants/mutate.py, and two more. "always": a condition holds.
"swapped": a statement and the one after it change places.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../mutants"))
import mutate  # pylint: disable=wrong-import-position


def body(source, function):
    """Where the body of a function is"""
    found = mutate.tokens(source)
    for begin, end in mutate.bodies(found):
        i = begin
        # Behind the parameters, sparse may be told of locks.
        while i == begin or found[i].text.startswith("__"):
            i, depth = i - 1, 1
            while depth:
                i -= 1
                depth += (found[i].text == ")") - (found[i].text == "(")
            i -= 1
        if found[i].text == function:
            return found[begin].start, found[end].end
    sys.exit(f"there is no function {function}")


def changes(source, kind, begin, end):
    """(start, end, text) of each change of that kind there"""
    like = {"always": "never", "swapped": "dropped"}.get(kind, kind)
    found = [(first, last, text) for name, first, last, text in mutate.changes(source)
             if name == like and begin <= first < end]
    if kind == "always":
        return [(first, last, text.replace("0 && ", "1 || ", 1)) for first, last, text in found]
    if kind == "swapped":
        return [(a[0], b[1], f"{source[b[0]:b[1]]};{source[a[1] + 1:b[0]]}{source[a[0]:a[1]]}")
                for a, b in zip(found, found[1:])]
    return found


def main():
    path, function, kind = sys.argv[1:4]
    with open(path, encoding="utf-8") as file:
        source = file.read()
    found = changes(source, kind, *body(source, function))
    if len(sys.argv) < 5:
        for number, (start, end, text) in enumerate(found, 1):
            print(f"{number}: {mutate.one_line(source[start:end])} -> {mutate.one_line(text)}")
        return
    number = int(sys.argv[4])
    if not 0 < number <= len(found):
        sys.exit(f"{function} has {len(found)} changes of kind {kind}")
    start, end, text = found[number - 1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(source[:start] + text + source[end:])


main()
