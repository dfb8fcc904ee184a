# SPDX-License-Identifier: Apache-2.0
"""The rules for includes, for folders of vendors' headers and for budgets. Each rule is a function
(sources) -> (measured, [violation...]); RULES at the end lists them with their limits."""

import math
import posixpath
import re
from dataclasses import dataclass

# resident -> objects -> { device, net } -> core -> std; `launch` is the program that starts ranks;
# `balance` is the part of objects without a runtime, which the program `starling balance` uses, too
MAY_INCLUDE = {
    "core": {"core"},
    "device": {"core", "device"},
    "net": {"core", "net"},
    "balance": {"core", "balance"},
    "objects": {"core", "device", "net", "objects", "balance"},
    "resident": {"core", "device", "net", "objects", "resident", "balance"},
    "launch": {"core", "net", "launch", "balance"},
}
PARTS = re.compile(r"(?:include/starling|src)/objects/(balance)(?:\.hpp$|/)")
USERS = ("apps", "examples", "benchmarks", "python")
VENDORS = {
    "cuda": re.compile(r"^(cuda|cu(blas|fft|rand|sparse|solver|pti)|nv(ml|tx|rtc)|cub/|thrust/"
                       r"|cooperative_groups|nccl|nvshmem)"),
    "sycl": re.compile(r"^(sycl/|CL/)"),
    "kokkos": re.compile(r"^Kokkos"),
    "ucx": re.compile(r"^uc[pst]/"),
    "pmix": re.compile(r"^pmix"),
    "hwloc": re.compile(r"^hwloc"),
}
PRIVATE_LIBRARIES = re.compile(r"^(fmt|CLI|nlohmann|hdf5|cereal|concurrentqueue|xxhash)\b")
PHYSICS_WORDS = re.compile(
    r"(?<![a-z])(starling|cuda|gpu|sycl|kokkos|stream|device|threadidx|__global__|__device__)s?"
    r"(?![a-z])", re.I)
DEVICE_QUALIFIER = "STARLING_DEVICE_FUNCTION"


@dataclass(frozen=True)
class violation:
    path: str
    line: int
    text: str
    remedy: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}\n    remedy: {self.remedy}"


def module_of(path):
    part = PARTS.match(path)
    if part:
        return part.group(1)
    match = re.match(r"(?:include/starling|src)/([a-z_]+)(?:\.hpp$|/)", path)
    return match.group(1) if match and match.group(1) in MAY_INCLUDE else None


def resolve(file, item, paths):
    """Returns the path in this tree that an include names, or None if it is outside."""
    tried = []
    if item.quoted:
        tried.append(posixpath.normpath(posixpath.join(file.folder, item.name)))
        tried.append("src/" + item.name)
    tried.append("include/" + item.name)
    top = "/".join(file.path.split("/")[:2])
    tried += [top + "/" + item.name, file.path.split("/")[0] + "/" + item.name]
    return next((name for name in tried if name in paths), None)


def _edges(sources):
    """Yields (file, include, resolved path or None) for every C++ include."""
    paths = {file.path for file in sources}
    for file in sources:
        if file.is_cpp:
            for item in file.includes:
                yield file, item, resolve(file, item, paths)


def arrows(sources):
    count, bad = 0, []
    for file, item, target in _edges(sources):
        count += 1
        where, name = file.path.split("/")[0], target or item.name
        mine, theirs = module_of(file.path), module_of(name if target else "include/" + name)

        def report(text, remedy):
            bad.append(violation(file.path, item.line, text, remedy))

        if mine and theirs and theirs not in MAY_INCLUDE[mine]:
            report(f"{mine} includes {item.name} of {theirs}",
                   f"{mine} may include {', '.join(sorted(MAY_INCLUDE[mine]))}; what needs both "
                   "belongs in a higher module")
        if where == "include" and target and not target.startswith("include/"):
            report(f"a public header includes the private {target}",
                   "move the declaration into include/starling or hide it behind a pointer")
        if where in ("include", "src") and name.split("/")[0] in USERS + ("tests",) and target:
            report(f"the library includes {target}", "the arrow points the other way")
        if where in USERS:
            _user_arrow(file, item, target, report)
    return f"{count} includes", bad


def _user_arrow(file, item, target, report):
    where = file.path.split("/")[0]
    own = "/".join(file.path.split("/")[:2]) if where in ("apps", "benchmarks") else where
    allowed = (own + "/", "include/starling/") + (
        (where + "/common/",) if where in ("apps", "benchmarks") else ())
    if target and not target.startswith(allowed):
        report(f"{own} includes {target}",
               "users of the library include include/starling, their own folder and common/ only")
    if re.search(r"(^|/)src/", item.name):
        report(f"{own} reaches into {item.name}", "use a public header of include/starling")
    if (target or item.name).startswith(("include/starling/", "starling/")):
        if "/detail/" in item.name:
            report(f"{own} includes the internal {item.name}", "include the public header")


def public_headers(sources):
    count, bad = 0, []
    for file, item, target in _edges(sources):
        if not file.path.startswith("include/"):
            continue
        count += 1
        library = PRIVATE_LIBRARIES.match(item.name)
        if library and not re.match(rf"include/starling/[a-z]+/interop/{library.group(1)}\b",
                                    file.path):
            bad.append(violation(file.path, item.line, f"a public header includes {item.name}",
                                 "include it in a .cpp file: users must not need this library"))
        elif module_of(file.path) == "core" and not target and not re.fullmatch(
                r"[a-z_0-9]+|experimental/[a-z_]+|sanitizer/[a-z_]+\.h", item.name):
            bad.append(violation(file.path, item.line, f"core includes {item.name}, not of std",
                                 "public headers of core include the standard library only"))
    return f"{count} includes", bad


def vendors(sources):
    count, bad = 0, []
    for file, item, target in _edges(sources):
        for vendor, pattern in VENDORS.items():
            if target or not pattern.match(item.name):
                continue
            count += 1
            if file.suffix in (".cu", ".cuh") and vendor == "cuda":
                continue
            places = [rf"src/[a-z]+/(bootstrap/)?{vendor}/", rf"include/starling/device/interop/{vendor}\b"]
            places.append(rf"benchmarks/[a-z_]+/{vendor}(_[a-z]+)?\.[ch]pp$")  # hand-written
            places.append(rf"tests/[a-z]+/{vendor}/")  # hand-written peers
            if vendor == "hwloc":
                places.append(r"src/core/")
            if file.path.startswith("include/starling/device/interop/"):
                places.append(rf"include/starling/device/interop/{vendor}")
            if not any(re.match(place, file.path) for place in places):
                bad.append(violation(
                    file.path, item.line, f"{item.name} ({vendor}) outside its place",
                    f"vendor headers belong in src/<module>/{vendor}/, .cu files or "
                    f"include/starling/device/interop/{vendor}.hpp"))
    return f"{count} vendor includes", bad


def physics(sources):
    count, bad = 0, []
    for file in sources:
        if file.is_cpp and "/physics/" in file.path:
            count += 1
            for number, line in enumerate(file.lines, 1):
                for match in PHYSICS_WORDS.finditer(line):
                    bad.append(violation(file.path, number, f"'{match.group()}' under physics/",
                                         "say it in the words of the science, or move it out"))
    return f"{count} files", bad


def _unit(path):
    """Returns the folder a file belongs to; detail/ belongs to its parent folder."""
    folder = path.rsplit("/", 1)[0]
    return re.sub(r"/detail$", "", folder)


def cycles(sources):
    graph, where = {}, {}
    for file, item, target in _edges(sources):
        if target and _unit(file.path) != _unit(target):
            graph.setdefault(_unit(file.path), set()).add(_unit(target))
            where.setdefault((_unit(file.path), _unit(target)), (file.path, item.line))
    bad, seen = [], set()

    def reaches(start):
        found, todo = set(), [start]
        while todo:
            for child in graph.get(todo.pop(), ()):
                if child not in found:
                    found.add(child)
                    todo.append(child)
        return found

    for folder in sorted(graph):
        for child in sorted(graph[folder]):
            if frozenset((folder, child)) not in seen and folder in reaches(child):
                seen.add(frozenset((folder, child)))
                path, line = where[folder, child]
                bad.append(violation(path, line, f"cycle: {folder} -> {child} -> … -> {folder}",
                                     "move what both need into one of them, or below both"))
    return f"{len(graph)} folders", bad


def file_lengths(sources):
    bad, worst = [], 0
    for file in sources:
        limit = 600 if file.path.startswith("apps/") else 400
        worst = max(worst, len(file.lines) / limit)
        if len(file.lines) > limit:
            bad.append(violation(file.path, limit + 1, f"{len(file.lines)} lines (limit {limit})",
                                 "split it by purpose"))
    return f"longest at {100 * worst:.0f} %", bad


def function_lengths(sources):
    bad, shown = [], []
    for name, limit, mine in (("apps", 80, True), ("library", 45, False)):
        found = sorted(((item.length, file.path, item) for file in sources if file.is_cpp
                        and file.path.startswith("apps/") == mine for item in file.functions),
                       key=lambda entry: entry[:2])
        if not found:
            continue
        p99 = found[math.ceil(0.99 * len(found)) - 1][0]
        shown.append(f"{name} p99 {p99} of {len(found)}")
        if p99 > limit:
            for length, path, item in reversed(found):
                if length > limit:
                    bad.append(violation(path, item.line, f"{length} lines: {item.head}",
                                         f"99 % of functions must have at most {limit} lines"))
    return ", ".join(shown) or "none", bad


def conditionals(sources):
    lines, found = 0, []
    for file in sources:
        if file.is_cpp:
            lines += len(file.lines)
            found += [(file.path, number) for number, _ in file.directives(r"if(n?def)?\b")]
    rate = 1000 * len(found) / max(lines, 1000)
    bad = [violation(path, number, f"one of {len(found)} #if in {lines} lines",
                     "choose by which file is linked, or with a template")
           for path, number in found] if rate > 3 else []
    return f"{rate:.2f} per 1000 lines", bad


def macros(sources):
    bad, count = [], 0
    for file in sources:
        if file.is_cpp and file.path.startswith("include/"):
            count += 1
            for number, match in file.directives(r"define\s+(\w+)\("):
                if match.group(1) != DEVICE_QUALIFIER:
                    bad.append(violation(file.path, number, f"function-like macro {match.group(1)}",
                                         "use a template or a constexpr function"))
    return f"{count} public headers", bad


def root_lists(sources):
    for file in sources:
        if file.path == "CMakeLists.txt":
            bad = [violation(file.path, 151, f"{len(file.lines)} lines (limit 150)",
                             "move parts into cmake/")] if len(file.lines) > 150 else []
            return f"{len(file.lines)} lines", bad
    return "none", [violation("CMakeLists.txt", 1, "not there", "the root needs one")]


def licences(sources):
    bad = [violation(file.path, 1, "no licence line",
                     "begin the file with SPDX-License-Identifier: Apache-2.0")
           for file in sources
           if not any("SPDX-License-Identifier: Apache-2.0" in line for line in file.lines[:3])]
    return f"{len(sources)} files", bad


RULES = (
    ("include arrows", "DESIGN of the layers", arrows),
    ("public headers", "core: std only", public_headers),
    ("vendor headers", "in their folders", vendors),
    ("physics words", "none", physics),
    ("folder cycles", "none", cycles),
    ("file length", "400 (apps 600)", file_lengths),
    ("function length", "p99 45 (apps 80)", function_lengths),
    ("#if", "3 per 1000 lines", conditionals),
    ("function-like macros", "none but one", macros),
    ("root CMakeLists.txt", "150 lines", root_lists),
    ("licence lines", "every file", licences),
)
