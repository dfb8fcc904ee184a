// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <starling/core/detail/worker.hpp>
#include <starling/core/task.hpp>
#include <starling/device/event.hpp>
#include <starling/device/stream.hpp>
#include <starling/objects/detail/array_of.hpp>
#include <starling/objects/detail/type_text.hpp>

/// What the two ends of a channel give each other.
namespace starling::detail {

/// A send or a receive that has begun. Shared by who awaits it and by the channel or the message
/// that ends it; used on the worker of its chare, save for its destruction.
class channel_operation : public described_wait {
 public:
  /// `what` of `channel`.
  channel_operation(std::shared_ptr<const std::string> channel, const char* what) noexcept
      : m_channel(std::move(channel)), m_what(what) {
    describe = &text_of;
  }

  /// Goes on with who waits; a second end is ignored.
  void finish(const std::exception_ptr& error) noexcept;

  [[nodiscard]] bool is_over() const noexcept { return m_is_over; }
  void enlist(promise_base& c) noexcept { m_waiting = &c; }
  /// False: it is being resumed.
  [[nodiscard]] bool withdraw() noexcept {
    m_is_withdrawn = m_waiting != nullptr;
    return std::exchange(m_waiting, nullptr) != nullptr;
  }
  /// By the hang diagnosis: the memory and streams of who waited may be gone.
  [[nodiscard]] bool is_withdrawn() const noexcept { return m_is_withdrawn; }
  void check() const;

 private:
  static std::string text_of(const described_wait& w) {
    const auto& self = static_cast<const channel_operation&>(w);
    return *self.m_channel + self.m_what;
  }
  std::shared_ptr<const std::string> m_channel;
  const char* m_what;
  promise_base* m_waiting = nullptr;
  std::exception_ptr m_error;
  bool m_is_over = false;
  bool m_is_withdrawn = false;
};

bool withdraw_channel_wait(promise_base& c) noexcept;

/// On the calling worker.
void start_here(task<> t);

/// Which end a message is from, as the other one knows it.
struct channel_name {
  const array_base* array = nullptr;
  std::uint64_t number = 0;           // of the chare in a dense array
  std::shared_ptr<const void> index;  // in a sparse one
  bool (*same_index)(const void*, const void*) = nullptr;
  int id = 0;
  friend bool operator==(const channel_name& a, const channel_name& b) {
    return a.array == b.array && a.number == b.number && a.id == b.id &&
           (a.same_index == nullptr || a.same_index(a.index.get(), b.index.get()));
  }
};

template <class T>
bool same_key(const void* a, const void* b) {
  using key = typename array_of<T>::key;
  return *static_cast<const key*>(a) == *static_cast<const key*>(b);
}

template <class T>
[[nodiscard]] channel_name name_end(const array_of<T>& array, const typename array_of<T>::key& k,
                                    int id) {
  if constexpr (dense_index<typename T::index_type>)
    return {&array, k, nullptr, nullptr, id};
  else
    return {&array, 0, std::make_shared<const typename array_of<T>::key>(k), &same_key<T>, id};
}

/// What the two ends compare. Of one build on all ranks.
template <class T>
inline constexpr std::uint32_t element_type = hash_more(empty_hash, type_text<T>);

/// When data are complete: at a point of a stream, or now where there is none.
struct stream_point {
  stream* at = nullptr;
  event ready;
};

class remote_memory;

/// What one end offers the other: memory to be copied from, or read in place.
struct channel_offer {
  channel_name from;
  std::uint32_t type = 0;
  const void* data = nullptr;
  std::size_t bytes = 0;
  stream_point when;                        // without a stream: host memory
  std::shared_ptr<channel_operation> sent;  // told when the memory may be used again; null: nobody
  worker* home = nullptr;                   // of the sender
  std::shared_ptr<remote_memory> remote;    // of another rank: it brings the data; else null

  /// Somebody wants to know what becomes of it.
  [[nodiscard]] bool is_answered() const noexcept;
  /// It will have to wait for its receiver.
  void keep();
  /// The memory is not needed any more once `reader` has passed this point; null: now.
  void answer(stream* reader, std::exception_ptr error);
};

/// What a receiver asks for.
struct channel_request {
  void* into = nullptr;  // null: to read it in place
  std::size_t bytes = 0;
  stream* at = nullptr;
  std::shared_ptr<struct lent_memory> lent = nullptr;
  std::size_t most_in_place = 0;  // of another device's memory, in bytes
  std::shared_ptr<channel_operation> received = nullptr;
};

}  // namespace starling::detail
