// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <starling/net/message.hpp>

/// Memory that archives do not copy.
namespace starling::detail {

/// Memory of at least so many bytes is not copied into a message if it need not be. With 8 KiB a
/// message still fits into a segment of UCX' shared memory, 8 256 bytes; larger ones are fetched.
inline constexpr std::size_t worth_attaching = 8200;
/// And begins at a multiple of this there.
inline constexpr std::size_t attached_align = 16;
/// What is behind all else in a message.
struct attachment : attached_memory {
  std::size_t number = 0;  // of the calls of `share`, which of them it was
};
/// Where memory is that somebody shares: behind all else, or not.
enum class archive_place : std::uint8_t { here, behind };

/// Keeps the bytes of a message for who wants to use them where they are.
struct lender {
  std::shared_ptr<const void> (*lend)(void* of) = nullptr;
  void* of = nullptr;
};

}  // namespace starling::detail
