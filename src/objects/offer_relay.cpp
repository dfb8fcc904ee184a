// SPDX-License-Identifier: Apache-2.0
// Offers to elements that have left this rank.
#include <algorithm>
#include <utility>

#include <starling/device/device.hpp>
#include <starling/objects/detail/channel_end.hpp>

namespace starling::detail {
namespace {

/// A transfer of another rank to memory of this one.
class relayed_piece final : private transfer {
 public:
  relayed_piece(job& by, int from, std::uint64_t under, void* to, std::size_t size)
      : transfer{from, under, to, size, &on_done, {}}, m_job(by) {}
  /// Returns a future of its end. @throws std::bad_alloc
  static future<void> start(std::unique_ptr<relayed_piece> m) {
    future<void> done = m->m_done.get_future();
    m->m_job.start_receive(*m);
    static_cast<void>(m.release());
    return done;
  }

 private:
  static void on_done(transfer& t, std::exception_ptr error) noexcept {
    const std::unique_ptr<relayed_piece> self(static_cast<relayed_piece*>(&t));
    if (error)
      self->m_done.set_exception(error);
    else
      self->m_done.set_value();
    self->m_job.note_received();
  }
  job& m_job;
  promise<void> m_done;
};

/// Copies mapped memory of another rank to `into`. Returns false when it cannot be mapped, and its
/// owner sends it by transfer. @throws device_error when its owner waits for no answer
bool copy_mapped(remote_memory& from, std::span<std::byte> into, stream& by) {
  try {
    by.copy_bytes(into.data(), by.device().import_memory(from.name()).data, into.size());
    return true;
  } catch (const device_error&) {
    if (!from.ask_for_transfer()) throw;
    return false;
  }
}

task<> receive_transfers(job& by, remote_memory& from, std::span<std::byte> into) {
  std::vector<future<void>> all;
  for (const piece& each : pieces_of(from.note().bytes, from.note().is_in_pieces))
    all.push_back(relayed_piece::start(std::make_unique<relayed_piece>(
        by, from.rank(), from.note().tag, into.data() + each.from, each.bytes)));
  for (future<void>& each : all) co_await std::move(each);
}

/// Receives a remote offer into memory of this rank.
task<> receive_whole(job& by, channel_offer& offer, std::span<std::byte> into) {
  remote_memory& from = *offer.remote;
  if (from.note().way == memory_way::inside) {
    std::ranges::copy(from.inside(), into.begin());
    co_return;
  }
  if (from.note().way == memory_way::mapped) {
    stream at = devices(*runtime::current()).here().make_stream();
    if (copy_mapped(from, into, at)) {
      co_await at.completion();
      offer.answer(nullptr, nullptr);
      co_return;
    }
  }
  co_await receive_transfers(by, from, into);
}

task<> relay_remote(channel_offer offer, job& by, int rank, offer_writer writer) {
  channel_offer whole = std::move(offer);
  try {
    const auto memory = std::make_shared<buffer<std::byte>>(
        devices(*runtime::current()).here().allocate<std::byte>(memory_kind::pinned, whole.bytes));
    co_await receive_whole(by, whole, memory->span());
    channel_offer next{whole.from, whole.type, memory->data(), whole.bytes,   {},
                       nullptr,    whole.home, nullptr,        whole.position};
    std::make_shared<channel_outbox>(by, rank, std::move(writer), nullptr)
        ->send_owned(std::move(next), memory);
  } catch (...) {  // ends the run: otherwise the element would wait for ever
    end_run_and_close(*worker::current(), std::current_exception());
  }
}

}  // namespace

void relay_offer(channel_offer offer, job& by, int rank, offer_writer writer) {
  offer.position.may_overtake = true;  // one that waits for its data leaves after later ones
  if (offer.remote != nullptr) {
    offer.keep();
    return start_here(relay_remote(std::move(offer), by, rank, std::move(writer)));
  }
  std::make_shared<channel_outbox>(by, rank, std::move(writer), nullptr)->send(std::move(offer));
}

}  // namespace starling::detail
