#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints each sentence of more than 25 words: in pages, manual pages and comments.

A word has a letter or a digit. A sentence ends with a full stop, a question mark or an
exclamation mark before a space. A paragraph, an item of a list and a cell of a table end it,
too. So does a colon at the end of a line, as a list or an example follows it.
"""
import ast
import itertools
import re
import sys

MOST = 25
CODE = "\x00"


def of_markdown(text):
    """(line, text) of each paragraph"""
    text = re.sub(r"(?ms)^```.*?^```$|<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text)
    text = re.sub(r"`[^`\n]+`", CODE, text)
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    for line, block in blocks(text.splitlines(), r"\s*$|#|    |\|"):
        yield line, block
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("|"):
            for cell in line.split("|"):
                yield number, cell


def blocks(lines, ends, begins=r"\s*(?:[-*•]|\d+\.)\s"):
    """Paragraphs of lines; what matches ends belongs to none, what matches begins begins one"""
    since, said = 0, []
    for number, line in enumerate([*lines, ""], 1):
        over = re.match(ends, line) if line else True
        if said and (over or re.match(begins, line)):
            yield since, "\n".join(said)
            said = []
        if not over:
            since = since if said else number
            said.append(line)


def of_manual(text):
    """Of mdoc or man: requests end a paragraph where they are not words of a sentence"""
    lines, shown = [], False
    for line in text.splitlines():
        if re.match(r"\.(Bd|nf|EX|Sh SYNOPSIS)\b", line):
            shown = True
        elif re.match(r"\.(Ed|fi|EE|Sh)\b", line):
            shown, line = False, ""
        if shown or line.startswith((".\\\"", "'")):
            line = ""
        elif re.match(r"\.(Bl|El|It|Pp|P|[HILPT]P|S[HShs]|R[ES]|T[EHS]|U[ER]|Dd|Dt|Os|Nd|In|F[acnot]|"
                      r"sp|br|ta|so|ds|de|if)\b", line):
            line = ""
        else:
            line = re.sub(r"^\.(?:[A-Z][A-Za-z]?|B[IR]|I[BR]|R[BI])\s+", "", line)
            line = re.sub(r"\\f[A-Z]|\\&|\\(?=-)|\\%", "", line)
        lines.append(line)
    return blocks(lines, r"\s*$|\S*\t")


def of_comments(text, pattern, strip):
    for match in re.finditer(pattern, text):
        yield from of_lines(match[0], text.count("\n", 0, match.start()) + 1, strip)


def of_lines(text, first, strip=""):
    """A row of a table begins with spaces, and has a tab or some spaces in it"""
    lines = [re.sub(strip, "", line) for line in text.splitlines()]
    for line, block in blocks(lines, r"\s*$|\t|SPDX|shellcheck |     ",
                              r"\s*(?:[-*@(]|\d+\.|Return)\s?|\s+\S+(?: [A-Z]+)?(?:\t|  )"):
        yield first + line - 1, block


def of_docstrings(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and \
                isinstance(node.value.value, str):
            yield from of_lines(node.value.value, node.lineno)


def prose(path, text):
    if path.endswith(".md"):
        return of_markdown(text)
    if re.search(r"\.[1-9]$", path):
        return of_manual(text)
    if re.search(r"\.([ch]|hpp|cpp)$", path):
        return of_comments(text, r"(?s)/\*.*?\*/", r"^\s*(?:/\*+|\*/|\*)? ?|\s*\*/$")
    comments = of_comments(text, r"(?m)(?:^[ \t]*#(?!!).*\n)+", r"^\s*#+ ?")
    return itertools.chain(of_docstrings(text), comments) if path.endswith(".py") else comments


def sentences(block):
    """(lines before it, sentence)"""
    begin = 0
    for end in re.finditer(r"[.!?][)\"'*]*(?=\s|$)|:(?=\n|$)|$", block):
        if re.search(r"\b(?:e\.g|i\.e|etc|vs|cf|No)\.$", block[:end.end()]):
            continue
        said = block[begin:end.end()]
        yield block.count("\n", 0, begin + len(said) - len(said.lstrip())), said
        begin = end.end()


def main():
    found = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for line, block in prose(path, text):
            for before, said in sentences(block):
                words = [word for word in said.split() if re.search(r"\w|" + CODE, word)]
                if len(words) > MOST:
                    found += 1
                    said = " ".join(said.split()).replace(CODE, "`…`")
                    print(f"{path}:{line + before}: {len(words)} words: {said}")
    sys.exit(bool(found))


main()
