// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <starling/net/message.hpp>

/// Shared memory that is attached to a message instead of copied into it.
namespace starling::detail {

/// Smallest size, in bytes, of memory of `message::share` that is attached rather than copied. With
/// 8 KiB of data and its headers a message still fits into one segment that UCX sends, 8 256 bytes;
/// the receiver fetches larger messages, and then a copy by the sender is wasted.
inline constexpr std::size_t worth_attaching = 8200;
/// Alignment of attached memory in a message.
inline constexpr std::size_t attached_align = 16;
/// Memory that is sent behind all other bytes of a message.
struct attachment : attached_memory {
  std::size_t number = 0;  // number of the call of `share` that attached it, from 1
};
/// Where the bytes of shared memory are: in the archive's sequence, or behind all other bytes.
enum class archive_place : std::uint8_t { here, behind };

/// Callback that keeps the bytes of a message alive for a reader that uses them in place.
struct lender {
  std::shared_ptr<const void> (*lend)(void* of) = nullptr;
  void* of = nullptr;
};

}  // namespace starling::detail
