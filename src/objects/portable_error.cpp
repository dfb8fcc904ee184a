// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/portable_error.hpp>

#include <array>
#include <new>
#include <stdexcept>
#include <typeinfo>

#include <starling/core/detail/demangle.hpp>
#include <starling/core/error.hpp>
#include <starling/net/transport.hpp>
#include <starling/objects/error.hpp>
#include <starling/objects/exit.hpp>

namespace starling::detail {
namespace {

/// A type of exception that is constructed from its message.
struct known_error {
  const std::type_info* type;
  std::exception_ptr (*make)(const std::string& text);
};

template <class E>
constexpr known_error known() {
  return {&typeid(E), [](const std::string& text) { return std::make_exception_ptr(E(text)); }};
}
template <class E>
constexpr known_error known_without_text() {
  return {&typeid(E), [](const std::string&) { return std::make_exception_ptr(E()); }};
}

/// The position in this list, from 1 on, is the kind of an error. Matches exact types only, not
/// derived types.
const std::array known_errors{
    known<usage_error>(),
    known<option_error>(),
    known_without_text<broken_promise>(),
    known_without_text<channel_closed>(),
    known_without_text<operation_cancelled>(),
    known<hang_error>(),
    known<device_error>(),
    known<backend_unavailable>(),
    known<out_of_memory>(),
    known<no_such_element>(),
    known<archive_error>(),
    known<remote_error>(),
    known<std::runtime_error>(),
    known<std::logic_error>(),
    known<std::invalid_argument>(),
    known<std::domain_error>(),
    known<std::length_error>(),
    known<std::out_of_range>(),
    known<std::range_error>(),
    known<std::overflow_error>(),
    known<std::underflow_error>(),
    known_without_text<std::bad_alloc>(),
};
constexpr std::uint32_t entry_error_kind = 1001;
constexpr std::uint32_t exit_kind = 1002;
constexpr std::uint32_t rank_failure_kind = 1003;
constexpr std::uint32_t checkpoint_kind = 1004;

std::uint32_t kind_of(const std::exception& e) {
  for (std::size_t i = 0; i < known_errors.size(); ++i)
    if (*known_errors[i].type == typeid(e)) return static_cast<std::uint32_t>(i + 1);
  return 0;
}

}  // namespace

portable_error portable_error::of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const run_exited& e) {
    return {exit_kind, e.status(), {}, {}};
  } catch (const rank_failure& e) {
    return {rank_failure_kind, e.rank(), {}, e.what()};
  } catch (const checkpoint_error& e) {
    return {checkpoint_kind, int(e.fault()), {}, e.what()};
  } catch (const entry_error& e) {
    return {entry_error_kind, 0, {}, e.what()};
  } catch (const std::exception& e) {
    const std::uint32_t kind = kind_of(e);
    return {kind, 0, kind == 0 ? demangle(typeid(e)) : std::string(), e.what()};
  } catch (...) {
    return {0, 0, "an exception that is no std::exception", {}};
  }
}

std::exception_ptr portable_error::revive(int from) const {
  if (kind == exit_kind) return std::make_exception_ptr(run_exited(number));
  if (kind == rank_failure_kind) return std::make_exception_ptr(rank_failure(text, number));
  if (kind == checkpoint_kind)
    return std::make_exception_ptr(checkpoint_error(checkpoint_fault(number), text));
  const std::string origin = "on rank " + std::to_string(from) + ": ";
  if (kind == entry_error_kind)
    return std::make_exception_ptr(
        entry_error(origin + text, std::make_exception_ptr(remote_error(text))));
  if (kind - 1 < known_errors.size()) return known_errors[kind - 1].make(text);
  return std::make_exception_ptr(remote_error(origin + (type.empty() ? "" : type + ": ") + text));
}

}  // namespace starling::detail
