// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <starling/core/detail/frame_pool.hpp>
#include <starling/core/detail/spin_lock.hpp>
#include <starling/core/detail/work_item.hpp>
#include <starling/net/message.hpp>
#include <starling/objects/archive.hpp>
#include <starling/objects/detail/message_receipt.hpp>
#include <starling/objects/detail/value_writer.hpp>

/// Messages to other ranks: a function to be called there, and its arguments as bytes.
///
/// Functions are identified by numbers. Functions get their numbers while the program is loaded, in
/// an order that is the same on all ranks of a build; the ranks compare their lists when they
/// connect.
namespace starling::detail {

class job;
class object_space;
class received_call;

/// Identifies an object on all ranks: the rank that made it, and a counter of that rank.
using object_id = std::uint64_t;
inline constexpr int object_counter_bits = 40;
[[nodiscard]] constexpr std::uint64_t maker_of(object_id id) noexcept {
  return id >> object_counter_bits;
}
[[nodiscard]] constexpr std::uint64_t count_of(object_id id) noexcept {
  return id & ((std::uint64_t{1} << object_counter_bits) - 1);
}
/// Returns a name of the object for error messages. @throws std::bad_alloc
[[nodiscard]] std::string name_of(object_id id);

/// Thrown when a message names an object that is not made on this rank yet: the message then waits
/// for the object. Not an error.
struct not_made_yet {
  object_id id;
};

/// A function that messages can name.
struct remote_function {
  enum class kind : std::uint8_t {
    call,
    target,
    share,
    message,
    mail,
    value,
    channel,
    channel_name
  };
  std::string_view name;
  kind what;
  void (*address)();
  bool is_counted = true;                  // of a call: quiescence counts it
  const std::type_info* result = nullptr;  // of a maker: the type of the results
  bool ends_run = false;                   // of a call: run by run_ender, as workers may be busy
};
/// Registers a function and returns its number.
std::uint32_t add_remote_function(const remote_function& f);
/// @throws archive_error when no function has this number and kind
[[nodiscard]] const remote_function& remote_function_at(std::uint32_t number,
                                                        remote_function::kind kind);
/// Returns the name of a function, by which a later run finds it. @throws std::out_of_range
[[nodiscard]] std::string_view name_of_remote_function(std::uint32_t number);
/// @throws archive_error when no function has this name and kind
[[nodiscard]] remote_function find_remote_function(std::string_view name,
                                                   remote_function::kind kind);
/// The functions that ranks compare: their count, and a hash of all names in order. Messages can
/// name the functions registered until agree_on_remote_functions() returns. @throws std::bad_alloc
struct remote_function_list {
  std::uint32_t count;
  std::uint32_t hash;
  friend bool operator==(const remote_function_list&, const remote_function_list&) = default;
};
[[nodiscard]] remote_function_list agree_on_remote_functions();

/// Whether quiescence counts calls of the handler. Handlers of the runtime's own protocol declare
/// `static constexpr bool is_counted = false`.
template <class Handler>
inline constexpr bool is_counted_call = !requires {
  requires !Handler::is_counted;
};

/// Whether calls of the handler end the run and need no worker. These handlers declare `static
/// constexpr bool ends_run = true`.
template <class Handler>
inline constexpr bool ends_run_by_call = requires {
  requires Handler::ends_run;
};

/// The number of `Handler::run(received_call&)`.
template <class Handler>
inline const std::uint32_t number_of_call = add_remote_function(
    {type_text<Handler>, remote_function::kind::call, reinterpret_cast<void (*)()>(&Handler::run),
     is_counted_call<Handler>, nullptr, ends_run_by_call<Handler>});
/// The number of `Maker::make`, which makes an object of kind `Maker::made` from an input_archive,
/// for results or elements of type `Maker::result`.
template <class Maker>
inline const std::uint32_t number_of_maker =
    add_remote_function({type_text<Maker>, Maker::made, reinterpret_cast<void (*)()>(&Maker::make),
                         true, &typeid(typename Maker::result)});

/// The first bytes of a message.
struct remote_header {
  static constexpr std::uint16_t every_worker = 0xffff;

  std::uint32_t function;
  std::uint32_t size;       // of the message, modulo 2^32: detects lost bytes
  std::uint16_t worker;     // of the receiving rank
  std::uint8_t priority;    // a `starling::priority`
  std::uint8_t is_counted;  // as declared by the function
};

/// The worker of the receiving rank that calls the function, and the priority of the message.
struct remote_way {
  std::uint16_t worker = 0;
  starling::priority priority = starling::priority::high;
};

/// The function that a message calls, as its header has it.
struct called_function {
  std::uint32_t number;
  bool is_counted;
};
/// Makes a message that calls `f` with what `values(ar)` writes to an archive of either kind.
/// @throws archive_error, std::bad_alloc
template <class Values>
[[nodiscard]] message pack_values(const called_function& f, const remote_way& way,
                                  const Values& values) {
  attachment attached;
  counting_archive count(&attached);
  values(count);
  const std::size_t own = sizeof(remote_header) + count.position();
  const std::size_t padding = attached.owner ? -own % attached_align : 0;
  message m =
      attached.owner ? message(own + padding, attached.bytes, attached.owner) : message(own);
  const remote_header header{f.number, static_cast<std::uint32_t>(m.size()), way.worker,
                             static_cast<std::uint8_t>(way.priority), f.is_counted};
  std::memcpy(m.data(), &header, sizeof(header));
  output_archive to(m.bytes().subspan(sizeof(header)), attached.owner ? &attached : nullptr);
  values(to);
  if (to.left() != padding) [[unlikely]]
    throw_miscounted(to.left() - padding);
  if (padding != 0) std::memset(m.data() + own, 0, padding);
  return m;
}
/// As above, compiled once for all types of values.
[[nodiscard]] message pack_call(const called_function& f, const remote_way& way,
                                const value_writer& values);
/// As above, with values of the user for ranks of the job: see writing_for.
[[nodiscard]] message pack_call_for(job& j, const called_function& f, const remote_way& way,
                                    const value_writer& values);

/// Makes a message that calls `Handler::run` with `values`. Compiled for these types, for the hot
/// path. @throws archive_error, std::bad_alloc
template <class Handler, class... V>
[[nodiscard]] message make_call(const remote_way& way, const V&... values) {
  const auto write = [&](auto& ar) { (save_value(ar, values), ...); };
  return pack_values({number_of_call<Handler>, is_counted_call<Handler>}, way, write);
}
/// Makes the same message with less code, but with more instructions.
template <class Handler, class... V>
[[nodiscard]] message make_remote(const remote_way& way, const V&... values) {
  const auto write = [&](auto& ar) { (save_value(ar, values), ...); };
  return pack_call({number_of_call<Handler>, is_counted_call<Handler>}, way, value_writer(write));
}
/// As above, with values of the user. Any thread.
template <class Handler, class... V>
[[nodiscard]] message make_remote_for(job& j, const remote_way& way, const V&... values) {
  const auto write = [&](auto& ar) { (save_value(ar, values), ...); };
  return pack_call_for(j, {number_of_call<Handler>, is_counted_call<Handler>}, way,
                       value_writer(write));
}

/// Throws usage_error that names `what` and the type.
[[noreturn]] void throw_cannot_travel(std::string_view what, std::string_view type);

/// Whether F has no state: functions and operations without state travel as their type alone.
template <class F>
inline constexpr bool is_mere_type = std::is_empty_v<F>&& std::is_default_constructible_v<F>;
template <class F>
inline constexpr bool function_travels = is_mere_type<F> || travels<F>;

/// Throws usage_error that names the first of the types that cannot travel.
template <class... T>
[[noreturn]] void refuse_to_travel(std::string_view what) {
  const auto check = [what]<class U>(std::type_identity<U>) {
    if constexpr (!std::is_void_v<U> && !function_travels<U>)
      throw_cannot_travel(what, type_text<U>);
  };
  (check(std::type_identity<T>()), ...);
  throw_cannot_travel(what, "");
}

template <class F>
[[nodiscard]] F load_function(input_archive& ar) {
  if constexpr (is_mere_type<F>)
    return F();
  else
    return ar.read<F>();
}
/// An argument of make_remote that load_function reads.
template <class F>
struct sent_function {
  const F& function;
};
template <class Out, class F>
void save_value(Out& ar, const sent_function<F>& f) {
  if constexpr (!is_mere_type<F>) save_value(ar, f.function);
}

/// Packs the number of a maker and what `write` writes. @throws archive_error, std::bad_alloc
[[nodiscard]] std::vector<std::byte> pack_numbered(std::uint32_t maker,
                                                   function_ref<void(output_archive&)> write);
/// Packs the number of a maker and its arguments. @throws archive_error, std::bad_alloc
template <class Maker, class... A>
[[nodiscard]] std::vector<std::byte> pack_made(const A&... values) {
  return pack_numbered(number_of_maker<Maker>,
                       [&](output_archive& ar) { (save_value(ar, values), ...); });
}

/// A message that another rank has sent to this one.
struct received_message {
  message bytes;
  message_receipt receipt;
  std::shared_ptr<const void> lent;  // owner of the bytes after lend()

  /// Returns an owner that keeps the bytes longer than this object.
  [[nodiscard]] std::shared_ptr<const void> lend() {
    if (lent == nullptr) lent = message::share(bytes);
    return lent;
  }
};
/// A received message for several workers.
struct shared_received_message : received_message {
  explicit shared_received_message(received_message m) noexcept : received_message(std::move(m)) {}
  spin_lock lock;  // guards lend() and leave_window()
};

/// The header of a received message after its only check, with the function that it names.
struct checked_header {
  const remote_function* function;
  int from;              // rank that made the message
  std::uint16_t worker;  // of this rank
  starling::priority priority;
  bool is_for_every_worker;  // `worker` is then that of the single call
};

/// The call of a received message on the worker that it is for. Calls its function there, in order
/// of arrival, and waits while an object that it names is not made on this rank.
class received_call final : public work_item, public pooled<block_kind::state> {
 public:
  received_call(object_space& space, const checked_header& header, received_message whole) noexcept;
  /// `bytes`: a part of `whole`, which several workers share.
  received_call(object_space& space, const checked_header& header,
                std::shared_ptr<shared_received_message> whole,
                std::span<const std::byte> bytes) noexcept;

  [[nodiscard]] object_space& space() const noexcept { return m_space; }
  [[nodiscard]] const checked_header& header() const noexcept { return m_header; }
  [[nodiscard]] int from() const noexcept { return m_header.from; }
  [[nodiscard]] starling::priority priority() const noexcept { return m_header.priority; }
  /// Returns the arguments given to make_remote. Valid as long as this object.
  [[nodiscard]] input_archive arguments() noexcept {
    return input_archive(m_bytes.subspan(sizeof(remote_header)), {&lend, this});
  }
  /// Takes the message, to keep memory to which `arguments` refers. @throws archive_error when
  /// several workers share the message
  [[nodiscard]] message take_message() {
    require(m_shared == nullptr, "it is for one worker, and has come for several");
    return std::move(m_own.bytes);
  }
  /// Returns the number of the worker whose elements the call is for: the one that runs it.
  [[nodiscard]] std::uint32_t worker_index() const noexcept { return m_header.worker; }
  /// Takes the receipt of a message to one worker, for the object that replaces the message.
  [[nodiscard]] message_receipt take_receipt() noexcept { return std::move(m_own.receipt); }

  /// Calls the function. An exception ends the run with an error that names the sender. Returns
  /// false when an object that the message names is not made yet.
  [[nodiscard]] bool perform() noexcept;
  /// Returns the id of the object that was not made yet when `perform` returned false.
  [[nodiscard]] object_id missing() const noexcept { return m_missing; }

  /// Checks the message's form. @throws archive_error with `otherwise` unless `is_right`
  void require(bool is_right, const char* otherwise) const;
  /// Checks that worker 0 runs the call. @throws archive_error
  void require_first_worker() const;
  /// Takes the message out of its sender's window while it waits, so that later messages can
  /// arrive.
  void leave_window() noexcept;
  /// Returns an error about this message: its sender, its function and the cause.
  [[nodiscard]] std::exception_ptr blame(const std::exception_ptr& cause) const noexcept;

 private:
  static void run(void* item) noexcept;
  static void drop(void* item) noexcept { delete static_cast<received_call*>(item); }
  static std::shared_ptr<const void> lend(void* self);

  object_space& m_space;
  checked_header m_header;
  object_id m_missing = 0;
  received_message m_own;
  std::shared_ptr<shared_received_message> m_shared;  // instead of m_own
  std::span<const std::byte> m_bytes;
};

/// @throws archive_error when bytes are left behind the arguments of a call
void require_end(const input_archive& ar);
/// Reads all arguments of a call. @throws archive_error, not_made_yet
template <class... V>
[[nodiscard]] std::tuple<V...> read_arguments(received_call& a) {
  input_archive ar = a.arguments();
  std::tuple<V...> values{ar.read<V>()...};  // braces: evaluated from left to right
  require_end(ar);
  return values;
}

/// Sets the space whose message the calling thread reads, null: none, and returns the one before.
[[nodiscard]] object_space* set_receiving_space(object_space* s) noexcept;
/// Returns the space whose message the calling thread reads. @throws usage_error when it reads none
[[nodiscard]] object_space& receiving_space();

}  // namespace starling::detail
