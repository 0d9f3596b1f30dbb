#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Resolve what a header asks about the kernel. resolve.py TREE FILE...

Out of the tree twheel builds on several kernels. It asks for what the compiler has found
there (TW_HAS_*), and for versions, headers and macros. In the tree of one kernel TREE the
answers are known: it has all that the newest kernels have. Each FILE is rewritten with only
what is for that kernel. A comment right above such a question goes with it. Other conditions
stay.
"""
import pathlib
import re
import sys

VERSION = re.compile(r"LINUX_VERSION_CODE (>=|<) KERNEL_VERSION\((\d+), (\d+), (\d+)\)$")
HEADER = re.compile(r"__has_include\(<(.*)>\)$")
HAS = re.compile(r"(!?)TW_HAS_\w+$")
FEATURES = re.compile(r"(/\*(?:(?!\*/).)*\*/\n)?#include <twheel_features\.inc>\n", re.S)
DEFINED = re.compile(r"(!?)defined\((\w+)\)$")
# What depends on the configuration, and the guards of our own headers.
KEPT = re.compile(r"CONFIG_|(_LINUX)?_TWHEEL")


class Tree:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        text = (self.path / "Makefile").read_text()
        self.version = tuple(int(re.search(rf"^{name} = (\d+)", text, re.M)[1])
                             for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))
        self.macros = {}

    def defines(self, name):
        if name not in self.macros:
            pattern = re.compile(rf"^#\s*define\s+{name}\b", re.M)
            self.macros[name] = any(pattern.search(path.read_text(errors="replace"))
                                    for path in (self.path / "include").rglob("*.h"))
        return self.macros[name]

    def answer(self, term):
        """True, False, or None where that is left to the compiler"""
        if match := VERSION.match(term):
            asked = tuple(int(part) for part in match.groups()[1:])
            return self.version >= asked if match[1] == ">=" else self.version < asked
        if match := HEADER.match(term):
            return (self.path / "include" / match[1]).exists()
        if match := HAS.match(term):
            return not match[1]
        if (match := DEFINED.match(term)) and match[2] in ("__KERNEL__", "__has_include"):
            # Out of the tree, the engine compiles in programs as well, and sparse reads it.
            return not match[1]
        if (match := DEFINED.match(term)) and not KEPT.match(match[2]):
            return self.defines(match[2]) != bool(match[1])
        return None

    def decide(self, condition):
        """The answer to a chain of "&&", and what remains of it"""
        left = []
        for term in re.split(r"\s*&&\s*", condition):
            answer = self.answer(term)
            if answer is False:
                return False, ""
            if answer is None:
                left.append(term)
        return (None, " && ".join(left)) if left else (True, "")


def condition_of(line):
    words = re.match(r"#(if|ifdef|ifndef|elif|else|endif)\b\s*(.*?)\s*$", line)
    if not words:
        return None, ""
    kind, rest = words.groups()
    if kind in ("ifdef", "ifndef"):
        return "if", f"{'!' if kind == 'ifndef' else ''}defined({rest})"
    return kind, rest


def drop_comment(out):
    """Remove the comment that ends OUT."""
    if not out or not out[-1].endswith("*/"):
        return
    while not out.pop().lstrip().startswith("/*"):
        pass


class Block:
    """An #if and its branches: is one chosen, does it stay as a condition"""

    def __init__(self, outer):
        self.outer, self.stays, self.chosen, self.shown = outer, False, False, False


def resolve(tree, text):
    out, stack = [], [Block(True)]
    stack[0].shown = True
    lines = iter(text.splitlines())
    for line in lines:
        original = [line]
        while line.startswith("#") and line.endswith("\\"):
            original.append(next(lines))
            line = line[:-1].rstrip() + " " + original[-1].strip()
        kind, condition = condition_of(line)
        block = stack[-1]
        if kind is None:
            # The line after a block that has gone may be a second empty one.
            if block.shown and (original != [""] or (out and out[-1])):
                out += original
        elif kind == "if":
            inner = Block(block.shown)
            stack.append(inner)
            answer, left = tree.decide(condition)
            if answer is None:
                inner.stays, inner.shown = True, inner.outer
                if inner.outer:
                    out += original if left == condition else ["#if " + left]
            else:
                if inner.outer:
                    drop_comment(out)
                inner.chosen = answer
                inner.shown = inner.outer and answer
        elif kind in ("elif", "else"):
            answer, left = tree.decide(condition) if kind == "elif" else (True, "")
            if block.stays:
                if block.outer:
                    out += original
                block.shown = block.outer
            elif block.chosen:
                block.shown = False
            elif answer is None:
                sys.exit("resolve.py: an #elif that depends on the configuration")
            else:
                block.chosen = answer
                block.shown = block.outer and answer
        else:
            stack.pop()
            if block.stays and block.outer:
                out += original
    text = "\n".join(out) + "\n"
    if "LINUX_VERSION_CODE" not in text:
        text = text.replace("#include <linux/version.h>\n", "")
    return re.sub(r"\n{3,}", "\n\n", FEATURES.sub("", text))


def main():
    tree = Tree(sys.argv[1])
    for name in sys.argv[2:]:
        path = pathlib.Path(name)
        path.write_text(resolve(tree, path.read_text()))


main()
