# SPDX-License-Identifier: GPL-2.0-only
"""Small changes to C sources, each of which makes a mutant: what tests ought to notice.

Only bodies of functions are changed. What is left alone, because no test can or ought to
notice it: constants of macros, hints to the compiler, and statements that only check.
"""
import collections
import os
import random
import re

TOKEN = re.compile(r"""
    (?P<skip>\s+|/\*.*?\*/|//[^\n]*|^\#(?:[^\n\\]|\\.)*)
  | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<mark>->|\+\+|--|<<=|>>=|<=|>=|==|!=|&&|\|\||<<|>>|[-+*/%&|^]=|\.\.\.|.)
    """, re.X | re.S | re.M)

# Binary operators, and what takes their place.
OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "/", "/": "*", "%": "/",
    "<<": ">>", ">>": "<<", "&": "|", "|": "&", "+=": "-=", "-=": "+=",
    "|=": "&=", "&=": "|=", "++": "--", "--": "++",
}
WORDS = {"true": "false", "false": "true", "min": "max", "max": "min"}
# Before one of these a sign has one operand only.
UNARY_AFTER = set("( [ { } , ; = ? : ! ~ && || == != < > <= >= + - * / % & | << >> += -= "
                  "|= &= return case".split())
# Statements that begin with these do nothing that a test could see.
CHECKS = {"lockdep_assert_held", "lockdep_assert_irqs_disabled", "OPTIMIZER_HIDE_VAR",
          "BUILD_BUG_ON", "cpu_relax", "cond_resched", "might_sleep", "might_sleep_if",
          "lockdep_assert_preemption_enabled", "cancel_may_wait"}
TYPES = set("""struct union enum unsigned signed int long short char bool void const static
    u8 u16 u32 u64 s8 s16 s32 s64 size_t ktime_t spinlock_t twheel_fn""".split())

Token = collections.namedtuple("Token", "kind text start end")
Mutant = collections.namedtuple("Mutant",
                                "path number line kind start end text before after")


def tokens(source):
    found = []
    for match in TOKEN.finditer(source):
        if match.lastgroup != "skip":
            found.append(Token(match.lastgroup, match[0], match.start(), match.end()))
    return found


def closing(found, i):
    """The index of what closes the bracket at i"""
    pairs = {"(": ")", "{": "}", "[": "]"}
    opens, closes = found[i].text, pairs[found[i].text]
    depth = 0
    for j in range(i, len(found)):
        if found[j].text == opens:
            depth += 1
        elif found[j].text == closes:
            depth -= 1
            if not depth:
                return j
    raise ValueError("unbalanced")


def bodies(found):
    """The ranges of tokens that are bodies of functions"""
    i = 0
    while i < len(found):
        if found[i].text != "{":
            i += 1
            continue
        end = closing(found, i)
        # A body follows the arguments, and what is said about them, as __must_hold(x).
        if found[i - 1].text == ")":
            yield i, end
        i = end + 1


def statement_end(found, i, end):
    """The index of the semicolon that ends the statement at i, or None"""
    while i < end:
        text = found[i].text
        if text in "([{":
            i = closing(found, i)
        elif text == ";":
            return i
        elif text == "}":
            return None
        i += 1
    return None


def declares(found, i):
    first, second = found[i], found[i + 1]
    if first.text in TYPES:
        return True
    return first.kind == "name" and second.kind == "name"


def dropped(found, begin, end):
    """(start, end) of statements that can be left out, as indices of tokens"""
    for i in range(begin + 1, end):
        before = found[i - 1].text
        starts = before in ("{", "}", ";", "else", "do") or (
            before == ":" and found[i - 3].text in ("{", "}", ";", "case"))
        if before == ")":
            opening = i - 1
            depth = 0
            while True:
                depth += (found[opening].text == ")") - (found[opening].text == "(")
                if not depth:
                    break
                opening -= 1
            starts = found[opening - 1].text in ("if", "while", "for") or \
                found[opening - 1].text.startswith("tw_for_each")
        first = found[i]
        if not starts or (first.kind != "name" and first.text not in ("*", "++", "--")):
            continue
        if first.text in ("if", "while", "for", "do", "switch", "else", "case",
                          "default") or first.text in CHECKS:
            continue
        if first.text not in ("return", "goto") and declares(found, i):
            continue
        last = statement_end(found, i, end)
        if last is None or found[i + 1].text == ":":
            continue
        # Without its last statement a function would return anything.
        if first.text == "return" and found[i + 1].text != ";" and last + 1 == end:
            continue
        # In a for's head.
        if before == ";" and any(t.text == ")" and closing_is_below(found, i, last)
                                 for t in found[i:last]):
            continue
        yield i, last


def closing_is_below(found, i, last):
    depth = 0
    for token in found[i:last]:
        depth += (token.text == "(") - (token.text == ")")
        if depth < 0:
            return True
    return False


def changes(source):
    """(kind, start, end, text) of each change, as offsets"""
    found = tokens(source)
    for begin, end in bodies(found):
        for i in range(begin + 1, end):
            token, before = found[i], found[i - 1]
            if token.text in ("if", "while") and found[i + 1].text == "(":
                last = closing(found, i + 1)
                condition = source[found[i + 1].end:found[last].start]
                yield ("negated", found[i + 1].end, found[last].start,
                       f"!({condition})")
                if token.text == "if":
                    yield ("never", found[i + 1].end, found[last].start,
                           f"0 && ({condition})")
            elif token.kind == "mark" and token.text in OPERATORS:
                unary = before.text in UNARY_AFTER
                # A pointer's star, and a sign.
                if unary and token.text in ("*", "&", "-", "+"):
                    continue
                if token.text == "*" and (before.text in TYPES or
                                          found[i - 2].text == "struct"):
                    continue
                yield "operator", token.start, token.end, OPERATORS[token.text]
            elif token.text in ("!", "~"):
                yield "operator", token.start, token.end, ""
            elif token.kind == "name" and token.text in WORDS:
                yield "constant", token.start, token.end, WORDS[token.text]
            elif token.kind == "number":
                digits = re.match(r"(0[xX][0-9a-fA-F]+|\d+)(.*)", token.text)
                octal = digits[1] != "0" and re.fullmatch("0[0-7]+", digits[1])
                value = int(digits[1], 8 if octal else 0)
                yield "constant", token.start, token.end, f"{value + 1}{digits[2]}"
                if value:
                    yield "constant", token.start, token.end, f"{value - 1}{digits[2]}"
        for first, last in dropped(found, begin, end):
            yield "dropped", found[first].start, found[last].start, ""


def emptied(source, at, body):
    """The source with another body of the function that has this offset"""
    found = tokens(source)
    begin, end = next((found[begin].start, found[end].end) for begin, end in bodies(found)
                      if found[begin].start <= at < found[end].end)
    return source[:begin] + body + "\n" * source.count("\n", begin, end) + source[end:]


def woven(source, number):
    """The source with all conditions behind switches: mutant_is(N), from @number. One is never
    met, by the next N always. Returns it, and (line, condition, what it becomes) of each N"""
    out, made, at = [], [], 0
    for kind, start, end, _ in changes(source):
        if kind == "never":
            line, text = source.count("\n", 0, start) + 1, one_line(source[start:end])
            out += [source[at:start], f"mutant_is({number + 1}) || (!mutant_is({number}) && (",
                    source[start:end], "))"]
            made += [(line, text, 0), (line, text, 1)]
            number, at = number + 2, end
    return "".join(out) + source[at:], made


def one_line(text):
    return " ".join(text.split())


def mutants(path, source):
    """All mutants of a source"""
    for number, (kind, start, end, text) in enumerate(changes(source)):
        line = source.count("\n", 0, start) + 1
        left = source.rfind("\n", 0, start) + 1
        right = source.find("\n", end)
        before = one_line(source[left:right])
        after = one_line(source[left:start] + text + source[end:right])
        yield Mutant(path, number, line, kind, start, end, text, before, after)


def sample(found):
    """What is to be tried of these: all, every Nth, or so many of them at random"""
    every, number = int(os.environ.get("EVERY", 1)), int(os.environ.get("SAMPLE", 0))
    if number:
        found = random.Random(int(os.environ.get("SEED", 1))).sample(found, len(found))
        return found[:number]
    return found[every - 1::every]


def applied(source, mutant):
    # Lines keep their numbers, which warnings and assertions hold.
    lost = source.count("\n", mutant.start, mutant.end) - mutant.text.count("\n")
    return source[:mutant.start] + mutant.text + "\n" * lost + source[mutant.end:]
