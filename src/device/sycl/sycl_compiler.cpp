// SPDX-License-Identifier: Apache-2.0
#include "sycl_compiler.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <starling/core/detail/demangle.hpp>

#include "../backend.hpp"
#include "sycl_error.hpp"

namespace starling::sycl::detail {

namespace {
constinit kernel_source* g_sources = nullptr;  // filled by static initialisers, then only read
}

void enter(kernel_source& source) noexcept { source.next = std::exchange(g_sources, &source); }

}  // namespace starling::sycl::detail

namespace starling::detail {

namespace {

namespace experimental = ::sycl::ext::oneapi::experimental;
using starling::sycl::detail::kernel_file;
using starling::sycl::detail::kernel_source;
using executable = ::sycl::kernel_bundle<::sycl::bundle_state::executable>;

/// Returns the kernel's name in the generated source. @throws usage_error when it has none
std::string name_of(const kernel_source& source) {
  const std::string type = demangle(*source.entry->type);
  if (type.find("(anonymous namespace)") != std::string::npos ||
      type.find('{') != std::string::npos)
    throw usage_error("kernel " + type +
                      " cannot be compiled for SYCL: a second compiler must be able to name it; "
                      "move it out of the unnamed namespace or function");
  return std::string("starling_sycl::") + (source.per_group ? "run_groups" : "run_indices") + "<" +
         type + ">";
}

/// Returns the `include` folder of the Starling header that a file included. The compiler finds
/// Starling's headers there.
std::string own_folder(const kernel_file& file) {
  const std::string header = file.header;
  return header.substr(0, header.rfind("starling/device/interop/"));
}

void add_options(std::vector<std::string>& options, const char* flag, const char* const* values) {
  for (; *values != nullptr; ++values)
    if (**values != '\0') options.push_back(std::string(flag) + *values);
}

std::vector<std::string> options_for(const kernel_file& file) {
  std::vector<std::string> options{"-std=c++20", "-ffp-contract=off", "-I" + own_folder(file)};
  add_options(options, "-I", file.folders);
  add_options(options, "-D", file.definitions);
  return options;
}

std::vector<std::string> names_in(const kernel_file& file) {
  std::vector<std::string> names;
  for (const kernel_source* s = starling::sycl::detail::g_sources; s != nullptr; s = s->next)
    if (std::strcmp(s->file->path, file.path) == 0) names.push_back(name_of(*s));
  std::ranges::sort(names);  // a fixed order: the cache on disk compares texts
  return names;
}

executable compile(const kernel_file& file, const ::sycl::context& where,
                   const ::sycl::device& device) {
  const std::string text =
      std::string("#include <starling/device/interop/sycl/kernel_forms.hpp>\n") + "#include \"" +
      file.path + "\"\n";
  try {
    auto source = experimental::create_kernel_bundle_from_source(
        where, experimental::source_language::sycl, text);
    return experimental::build(
        source, {device},
        experimental::properties{experimental::build_options{options_for(file)},
                                 experimental::registered_names{names_in(file)}});
  } catch (const ::sycl::exception& e) {
    throw device_error(std::string("SYCL: the kernels of ") + file.path +
                           " do not compile (a file of kernels is compiled where the program runs "
                           "and needs its headers there, see starling_add_kernels): " +
                           e.what(),
                       e.code().value());
  }
}

/// The files that this process has compiled. Never destroyed, because SYCL may be shut down first.
struct compiled_files {
  std::mutex lock;  // held while compiling: other threads wait for the result
  std::vector<std::pair<::sycl::device, std::map<std::string, executable>>> of_device;

  static compiled_files& instance() {
    static compiled_files* const all = new compiled_files;
    return *all;
  }
  std::map<std::string, executable>& on(const ::sycl::device& device) {
    for (auto& [known, files] : of_device)
      if (known == device) return files;
    return of_device.emplace_back(device, std::map<std::string, executable>{}).second;
  }
};

}  // namespace

compiled_kernel sycl_compiler::make(const kernel_source& source) {
  compiled_files& all = compiled_files::instance();
  std::lock_guard lock(all.lock);
  auto& files = all.on(m_device);
  auto found = files.find(source.file->path);
  if (found == files.end()) {
    const std::uint64_t begin = tracer::now();
    found = files.emplace(source.file->path, compile(*source.file, m_context, m_device)).first;
    if (m_log->enabled())
      m_log->span(
          m_log->open_track("SYCL compiler", m_device.get_info<::sycl::info::device::name>()),
          span_kind::task, m_log->intern(std::string("compile ") + source.file->path), begin,
          tracer::now());
  }
  return guarded("ext_oneapi_get_kernel", [&] {
    ::sycl::kernel code = found->second.ext_oneapi_get_kernel(name_of(source));
    const std::size_t most =
        code.get_info<::sycl::info::kernel_device_specific::work_group_size>(m_device);
    return compiled_kernel{std::move(code), static_cast<int>(std::min<std::size_t>(most, 1 << 20))};
  });
}

const compiled_kernel& sycl_compiler::find(const kernel_source& source) {
  {
    const std::shared_lock lock(m_lock);
    if (const auto known = m_known.find(&source); known != m_known.end()) return known->second;
  }
  compiled_kernel made = make(source);
  const std::unique_lock lock(m_lock);
  return m_known.emplace(&source, std::move(made)).first->second;
}

}  // namespace starling::detail
