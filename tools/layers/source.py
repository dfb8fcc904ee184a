# SPDX-License-Identifier: Apache-2.0
"""Reads C++ as far as the rules need it: text without comments, includes, functions.

The function finder matches braces; it has no C++ grammar. At namespace or class scope a block whose
head holds a parameter list is a function; its length is the number of lines from the opening to the
closing brace, both included. Lambdas and local classes belong to the enclosing function.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

CPP = {".hpp", ".h", ".cpp", ".cu", ".cuh"}
SCRIPTS = {".py", ".sh", ".cmake"}
ROOTS = ("include", "src", "apps", "examples", "benchmarks", "tests", "python", "tools", "cmake")

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
_SKIP = re.compile(
    r'R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'                         # string
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'"        # character, not a digit separator
    r"|//[^\n]*|/\*.*?\*/", re.S)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M)
_CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
# A constructor's `: m_a` before `{`: the brace initialises a member and opens no body.
_MEMBER_INIT = re.compile(r"\)\s*(?:noexcept(?:\([^)]*\))?\s*)?:(?!:)(?:[^;]*,)?\s*[\w:<>, ]*[\w>]\s*$")
_QUALIFIED = re.compile(r"\b(const|noexcept|override|final|mutable|try)\s*$|&\s*$")


@dataclass(frozen=True)
class include:
    line: int
    name: str
    quoted: bool


@dataclass(frozen=True)
class function:
    line: int
    length: int
    head: str


def _blank(text):
    """Replaces every character but newlines by a space, so that positions are kept."""
    return re.sub(r"[^\n]", " ", text)


class source:
    """One file of the tree; everything but the text is computed on demand."""

    def __init__(self, root: Path, path: Path):
        self.path = path.relative_to(root).as_posix()
        self.suffix = path.suffix
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.splitlines()

    @property
    def folder(self):
        return self.path.rsplit("/", 1)[0] if "/" in self.path else "."

    @property
    def is_cpp(self):
        return self.suffix in CPP

    @functools.cached_property
    def bare(self):
        """The text with comments and literals blanked."""
        return _SKIP.sub(lambda match: _blank(match.group()), self.text)

    @functools.cached_property
    def includes(self):
        found = []
        for number, line in enumerate(self.lines, 1):
            match = _INCLUDE.match(line)
            if match:
                found.append(include(number, match.group(2), match.group(1) == '"'))
        return found

    def directives(self, pattern):
        """Yields (line, match) for each preprocessor line that matches."""
        for number, line in enumerate(self.bare.splitlines(), 1):
            match = re.match(r"\s*#\s*" + pattern, line)
            if match:
                yield number, match

    @functools.cached_property
    def functions(self):
        return list(_functions(_DIRECTIVE.sub(lambda m: _blank(m.group()), self.bare)))


def _matching(text, start):
    depth = 0
    for i in range(start, len(text)):
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            depth -= 1
            if depth == 0:
                return i
    return len(text) - 1


def _functions(text):
    head_start, i = 0, 0
    head = ""  # the text since the last ; { or }
    while i < len(text):
        c = text[i]
        if c == ";" or c == "}":
            head = ""
        elif c == "{":
            end = _matching(text, i)
            kind = _kind(head)
            if kind == "member":
                head += "()"
                i = end + 1
                continue
            if kind == "container":
                head = ""
            else:
                if kind == "function":
                    first = text.count("\n", 0, i) + 1
                    last = text.count("\n", 0, end) + 1
                    yield function(first, last - first + 1, " ".join(head.split())[-60:])
                head = ""
                i = end
        else:
            head += c
        i += 1


def _kind(head):
    plain = head.strip()
    if ")" not in plain:
        return "container" if _CONTAINER.search(plain) else "other"
    if _MEMBER_INIT.search(plain) and not _QUALIFIED.search(plain):
        return "member"
    # `struct alignas(64) name` and `class name : base<decltype(x)>` are containers, too.
    without = re.sub(r"\balignas\s*\([^()]*\)|\[\[.*?\]\]", " ", plain)
    without = re.sub(r"^\s*template\s*<.*?>\s*(requires\b.*?)?(?=\b(struct|class)\b)", "", without,
                     flags=re.S)
    if re.match(r"\s*(struct|class|union|enum|namespace)\b[^()]*(:[^:].*)?$", without, re.S):
        return "container"
    return "function"


def read_tree(root: Path):
    """Returns every source below the known folders, and the CMake files, sorted by path."""
    found = []
    for name in ROOTS:
        for path in sorted((root / name).rglob("*")) if (root / name).is_dir() else []:
            known = path.suffix in CPP | SCRIPTS or path.name == "CMakeLists.txt"
            if path.is_file() and known and "__pycache__" not in path.parts:
                found.append(source(root, path))
    top = root / "CMakeLists.txt"
    if top.is_file():
        found.append(source(root, top))
    return found
