# SPDX-License-Identifier: Apache-2.0
"""Plants violations one at a time in a small clean tree: each rule must find its violation."""

import tempfile
from pathlib import Path

from .rules import RULES
from .source import read_tree

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
LONG_BODY = "".join(f"  x += {i};\n" for i in range(60))

CLEAN = {
    "CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nproject(x)\n",
    "include/starling/core.hpp": "#pragma once\n#include <starling/core/task.hpp>\n",
    "include/starling/core/task.hpp": "#pragma once\n#include <atomic>\n",
    "include/starling/core/detail/pool.hpp": "#include <starling/core/task.hpp>\n",
    "include/starling/device/stream.hpp": "#include <starling/core/task.hpp>\n",
    "include/starling/device/interop/cuda.hpp": "#include <cuda_runtime.h>\n",
    "include/starling/objects/interop/cereal.hpp": "#include <cereal/cereal.hpp>\n",
    "include/starling/net/transport.hpp": "#pragma once\n",
    "src/core/task.cpp": '#include <hwloc.h>\n#include <fmt/format.h>\nint f() {\n  return 1;\n}\n',
    "src/launch/launcher.hpp": "#include <starling/net/transport.hpp>\n",
    "src/device/cuda/backend.cpp": "#include <cuda_runtime.h>\n",
    "apps/blast/main.cpp": '#include <starling/core.hpp>\n#include "physics/flux.hpp"\n',
    "apps/blast/kernels.cu": "#include <cuda_runtime.h>\n",
    "apps/blast/physics/flux.hpp": "// an upstream cell; std::ostream is no word of ours\n",
    "apps/common/report.hpp": "#pragma once\n",
    "apps/blast/report.cpp": '#include "common/report.hpp"\n#include "../common/report.hpp"\n',
    "benchmarks/common/harness.hpp": "#pragma once\n",
    "benchmarks/tasks/floor.cpp": '#include "../common/harness.hpp"\n',
}

# (rule, path, text appended to this file, line that the report must name or None)
PLANTED = (
    ("include arrows", "src/core/bad.cpp", "#include <starling/device/stream.hpp>\n", 2),
    ("include arrows", "src/device/bad.cpp", "#include <starling/net/transport.hpp>\n", 2),
    ("include arrows", "src/launch/bad.cpp", "#include <starling/device/stream.hpp>\n", 2),
    ("include arrows", "src/launch/bad.cpp", "#include <starling/objects/archive.hpp>\n", 2),
    ("include arrows", "src/objects/balance/bad.cpp", "#include <starling/objects/archive.hpp>\n", 2),
    ("include arrows", "src/net/bad.cpp", '#include "launch/launcher.hpp"\n', 2),
    ("include arrows", "include/starling/core/bad.hpp", '#include "../../../src/core/task.cpp"\n', 2),
    ("include arrows", "src/core/bad.cpp", '#include "../../apps/blast/physics/flux.hpp"\n', 2),
    ("include arrows", "apps/blast/bad.cpp", '#include "../../src/core/task.cpp"\n', 2),
    ("include arrows", "apps/blast/bad.cpp", '#include "../../benchmarks/common/harness.hpp"\n', 2),
    ("include arrows", "examples/bad.cpp", "#include <starling/core/detail/pool.hpp>\n", 2),
    ("public headers", "include/starling/core/bad.hpp", "#include <unistd.h>\n", 2),
    ("public headers", "include/starling/device/bad.hpp", "#include <fmt/format.h>\n", 2),
    ("public headers", "include/starling/objects/bad.hpp", "#include <cereal/cereal.hpp>\n", 2),
    ("public headers", "include/starling/objects/interop/bad.hpp", "#include <cereal/cereal.hpp>\n", 2),
    ("vendor headers", "src/device/bad.cpp", "#include <cuda_runtime.h>\n", 2),
    ("vendor headers", "src/device/cuda/bad.cpp", "#include <sycl/sycl.hpp>\n", 2),
    ("vendor headers", "include/starling/device/bad.hpp", "#include <Kokkos_Core.hpp>\n", 2),
    ("vendor headers", "src/device/bad.cpp", "#include <hwloc.h>\n", 2),
    ("vendor headers", "apps/blast/bad.cpp", "#include <ucp/api/ucp.h>\n", 2),
    ("physics words", "apps/blast/physics/bad.hpp", "int gpu_cells;\n", 2),
    ("physics words", "apps/blast/physics/bad.hpp", "// runs on a Device\n", 2),
    ("folder cycles", "apps/blast/physics/bad.hpp", '#include "../kernels.cu"\n', None),
    ("file length", "src/core/bad.cpp", "int x;\n" * 400, 401),
    ("file length", "apps/blast/bad.cpp", "int x;\n" * 600, 601),
    ("function length", "src/core/bad.cpp", "a::a() : m_b{1}, m_c(2) {\n" + LONG_BODY + "}\n", 2),
    ("function length", "apps/blast/bad.cpp", "int f() {\n" + LONG_BODY + LONG_BODY + "}\n", 2),
    ("#if", "src/core/bad.cpp", "#if X\n#endif\n" * 4, 2),
    ("function-like macros", "include/starling/core/bad.hpp", "#define TWICE(x) (2 * (x))\n", 2),
    ("root CMakeLists.txt", "CMakeLists.txt", "# line\n" * 150, 151),
)

FUNCTIONS = """namespace a {
struct alignas(64) b : c<int> {
  b() : m_x{1}, m_y{2} {
    if (m_x) {
      call([&] { return "}"; });
    }
  }
  int get() const noexcept { return m_x; }
  int m_x{1};  // }
};
template <class T>
requires(sizeof(T) > 0) auto f(T t) -> decltype(t()) {
  struct local {
    void g() {}
  };
  return t();
}
constexpr int table[] = {1, 2};
}  // namespace a
"""


def _write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if name == "CMakeLists.txt" else LICENCE + text)


def _judge(root):
    sources = read_tree(root)
    return {name: rule(sources)[1] for name, _, rule in RULES}


def _check_functions(root):
    _write(root, {"src/core/shape.cpp": FUNCTIONS})
    (file,) = [item for item in read_tree(root) if item.path == "src/core/shape.cpp"]
    lengths = [(item.line, item.length) for item in file.functions]
    expected = [(4, 5), (9, 1), (13, 6)]
    return [] if lengths == expected else [f"functions found at {lengths}, expected {expected}"]


def run():
    """Returns the messages of failed checks and the number of checks."""
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), CLEAN)
        for name, found in _judge(Path(folder)).items():
            failures += [f"{name} complains about a clean tree: {item}" for item in found]
    for rule, path, text, line in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            _write(Path(folder), {**CLEAN, path: CLEAN.get(path, "") + text})
            found = _judge(Path(folder))[rule]
            if not found:
                failures.append(f"{rule} missed: {path}: {text[:60]!r}")
            elif line and not any(item.path == path and item.line == line for item in found):
                failures.append(f"{rule} named the wrong line: {found[0]}")
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), CLEAN)
        (Path(folder) / "src/core/bare.cpp").write_text("int x;\n")
        if not _judge(Path(folder))["licence lines"]:
            failures.append("licence lines missed a file without one")
    with tempfile.TemporaryDirectory() as folder:
        failures += _check_functions(Path(folder))
    covered = {rule for rule, *_ in PLANTED} | {"licence lines"}
    failures += [f"no planted violation for: {name}" for name, *_ in RULES if name not in covered]
    return failures, len(PLANTED) + 3


