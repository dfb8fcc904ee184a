// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/rank_checkpoints.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/core/when_all.hpp>
#include <starling/objects/archive.hpp>
#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/stored_ids.hpp>
#include <starling/objects/ranks.hpp>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "objects/checkpoint/in_background.hpp"
#include "objects/checkpoint/low_priority.hpp"
#include "objects/checkpoint/piece_queue.hpp"
#include "objects/checkpoint/rank_folders.hpp"

namespace starling::detail {
namespace {

/// Copies of the elements of one worker.
struct worker_copies {
  struct record {
    std::uint32_t array;
    std::size_t index_bytes;
    std::size_t state_bytes;
  };
  std::vector<record> records;
  std::vector<std::byte> bytes;  // index and state of each record in turn

  /// Keeps the memory for the next checkpoint: new memory takes longer than the copies.
  void clear() noexcept {
    records.clear();
    bytes.clear();
  }
};

/// The states that a restart gives to one worker.
struct stored_elements {
  struct element {
    std::uint32_t array;  // number in checkpoint_objects
    std::vector<std::byte> index;
    std::vector<std::byte> state;
  };
  std::vector<std::size_t> counts;  // by array
  std::vector<element> elements;
};

/// An element that `resumed()` continues.
struct waiting_element {
  array_base* array;
  std::vector<std::byte> index;
};

}  // namespace

/// The checkpoints of one rank. On worker 0, except the parts of the workers while they fill them.
struct rank_state {
  explicit rank_state(runtime& rt) : space(rt.service<object_space>()) {}

  object_space& space;
  // By worker. The thread that writes reads them: the next copies are made after its end, because
  // they await quiescence, which the thread's external work holds off.
  std::vector<worker_copies> copies;
  // A restart.
  restart_place place;
  checkpoint_objects objects;
  std::vector<bool> needed;                             // shares that have elements of this rank
  std::vector<std::vector<waiting_element>> to_resume;  // by worker
  background_writer background;  // destroyed first: its calls use the members above
};

namespace {

rank_state& state_here() { return space_here().owner().service<rank_state>(); }

/// Calls `f(worker)` on each worker of the rank, with its number. Throws the first error, after the
/// end of all calls.
template <class F>
task<> call_on_workers(object_space& space, F f) {
  std::vector<future<>> calls;
  for (std::size_t w = 0; w < space.workers().size(); ++w)
    calls.push_back(on_worker(*space.workers()[w], [f, w] { f(w); }));
  co_await when_all(std::move(calls));
}

// --- taking a checkpoint

void copy_elements(array_base& array, std::uint32_t number, std::size_t worker, worker_copies& to) {
  output_archive ar(to.bytes);
  array.visit_for_checkpoint(array.local(worker), [&](chare_core& c) {
    const std::size_t begin = to.bytes.size();
    array.save_index(c, ar);
    const std::size_t middle = to.bytes.size();
    array.save_state(c, ar);
    to.records.push_back({number, middle - begin, to.bytes.size() - middle});
  });
}

void copy_worker(rank_state& rank, const checkpoint_objects& objects, const stored_ids& ids,
                 std::size_t worker) {
  const stored_ids::scope writing(ids);
  worker_copies& to = rank.copies[worker];
  for (std::size_t i = 0; i < objects.arrays.size(); ++i)
    copy_elements(rank.space.array(objects.arrays[i]), std::uint32_t(i), worker, to);
}

void write_copies(const std::vector<worker_copies>& copies, share_writer& to) {
  for (const worker_copies& of : copies) {
    std::span<const std::byte> bytes(of.bytes);
    for (const auto& r : of.records) {
      to.add_element(r.array, bytes.first(r.index_bytes),
                     bytes.subspan(r.index_bytes, r.state_bytes));
      bytes = bytes.subspan(r.index_bytes + r.state_bytes);
    }
  }
}

share_identity identity_of(const checkpoint_place& place, const object_space& space) {
  return {place.number, place.stamp, std::uint32_t(space.rank()),
          std::uint32_t(space.rank_count())};
}

/// Writes this rank's share. `pieces`, if any, gets its bytes.
share_summary write_and_send(const std::string& path, const share_contents& contents,
                             const share_identity& mine, const std::vector<worker_copies>& copies,
                             piece_queue* pieces) {
  const at_scope_end<&piece_queue::end> all_given(pieces);
  const auto fill = [&](share_writer& to) {
    for (const stored_array& a : contents.arrays) static_cast<void>(to.add_array(a));
    for (const stored_value& v : contents.values) to.add_value(v.kind, v.name, v.bytes);
    write_copies(copies, to);
  };
  checkpoint_folder folder(path);
  if (pieces == nullptr) return folder.write_share(mine, fill);
  return folder.write_share(mine, fill, [&](owned_bytes piece) {
    pieces->put(file_piece(piece.bytes, std::move(piece.owner)));
  });
}

// --- a restart

/// Calls `take(state, number of the array, worker of this rank)` for each element whose placement
/// is on this rank.
template <class Take>
void for_each_local(const share_reader& share, std::span<array_base* const> arrays,
                    const Take& take) {
  for (const stored_state& s : share.states()) {
    if (s.kind != record_kind::element) continue;
    array_base& array = *arrays[s.array];
    const auto [local, worker] = array.locate_worker(array.home_of_stored(s.key));
    if (local->home != nullptr) take(s, worker);
  }
}

/// A state of this rank, in the reader of its share.
struct local_state {
  const stored_state* state;
  std::size_t worker;
};

std::vector<local_state> local_states(const share_reader& share,
                                      std::span<array_base* const> arrays) {
  std::vector<local_state> found;
  for_each_local(share, arrays, [&](const stored_state& s, std::size_t worker) {
    found.push_back({&s, worker});
  });
  return found;
}

/// Returns the end of the states, from `begin` on, that are read together: not too many bytes, with
/// no long gap between them. At least one state.
std::size_t end_of_batch(std::span<const local_state> all, std::size_t begin) {
  constexpr std::uint64_t most_bytes = 4 * piece_size;
  constexpr std::uint64_t longest_gap = default_block;
  std::size_t end = begin + 1;
  for (; end < all.size(); ++end) {
    const stored_state& before = *all[end - 1].state;
    const stored_state& s = *all[end].state;
    if (s.offset - (before.offset + before.size) > longest_gap ||
        s.offset + s.size - all[begin].state->offset > most_bytes)
      break;
  }
  return end;
}

/// Reads the states of this rank in one share.
task<> read_states(rank_state& rank, source_share& share, std::span<array_base* const> arrays,
                   std::vector<stored_elements>& to) {
  const auto states = local_states(share.reader(), arrays);
  for (std::size_t begin = 0; begin < states.size();) {
    const std::size_t end = end_of_batch(states, begin);
    const stored_state& last = *states[end - 1].state;
    co_await share.fetch(states[begin].state->offset, last.offset + last.size);
    const std::span batch = std::span(states).subspan(begin, end - begin);
    auto reading = in_background(rank.background, rank.space.owner(), [batch, &share, &to] {
      for (const auto& [s, worker] : batch)
        to[worker].elements.push_back(
            {s->array, {s->key.begin(), s->key.end()}, share.reader().read(*s)});
    });
    co_await std::move(reading);
    begin = end;
  }
}

/// Counts the elements of each worker, by array, and finds the shares in which they are.
task<std::vector<stored_elements>> count_states(rank_state& rank,
                                                std::span<array_base* const> arrays) {
  std::vector<stored_elements> found(rank.space.workers().size());
  for (stored_elements& of : found) of.counts.resize(arrays.size());
  source_shares shares(rank.place);
  rank.needed.assign(shares.size(), false);
  std::vector<stored_array> of_first;
  for (std::uint32_t i = 0; i < shares.size(); ++i) {
    // Each rank begins with another share, so that they do not all ask the same rank.
    const std::uint32_t s = (i + std::uint32_t(rank.space.rank())) % shares.size();
    source_share share = co_await shares.open(rank.background, s);
    const auto its = share.reader().arrays();
    if (i == 0) of_first.assign(its.begin(), its.end());
    if (!std::ranges::equal(its, of_first) || its.size() != arrays.size())
      refuse(checkpoint_fault::mismatch, share.reader().name(),
             "it has other arrays than the other shares");
    auto counting = in_background(rank.background, rank.space.owner(), [&] {
      for (const auto& [state, worker] : local_states(share.reader(), arrays)) {
        ++found[worker].counts[state->array];
        rank.needed[s] = true;
      }
    });
    co_await std::move(counting);
  }
  co_return found;
}

std::vector<array_base*> arrays_of(rank_state& rank) {
  std::vector<array_base*> arrays;
  for (const object_id id : rank.objects.arrays) arrays.push_back(&rank.space.array(id));
  return arrays;
}

/// Returns the elements that continue their work.
std::vector<waiting_element> make_on_worker(std::span<array_base* const> arrays,
                                            const stored_ids& ids, std::size_t worker,
                                            stored_elements& of) {
  const stored_ids::scope reading(ids);
  std::vector<waiting_element> resumed;
  for (auto& e : of.elements) {
    array_base& array = *arrays[e.array];
    if (array.load_element(array.local(worker), e.index, e.state))
      resumed.push_back({&array, std::move(e.index)});
    e.state = std::vector<std::byte>();  // frees the memory
  }
  return resumed;
}

/// Lets the elements of a worker begin: messages to them have waited until now.
void start_on_worker(std::span<array_base* const> arrays, std::size_t worker,
                     const std::vector<waiting_element>& resumed) {
  for (const waiting_element& e : resumed) e.array->resume_stored(e.array->local(worker), e.index);
  for (array_base* array : arrays) {
    local_elements& local = array->local(worker);
    local.is_made = true;
    if (array->space().forces_migrations())
      for (chare_core* c : local.elements) begin_forced_migrations(*c);
    local.replay_early();
  }
}

}  // namespace

task<std::vector<std::uint64_t>> copy_states(checkpoint_objects objects) {
  rank_state& rank = state_here();
  const std::size_t workers = rank.space.workers().size();
  rank.copies.resize(workers);
  drop_copies();
  const stored_ids ids(rank.space, objects.all());
  try {
    co_await call_on_workers(rank.space,
                             [&](std::size_t w) { copy_worker(rank, objects, ids, w); });
  } catch (...) {
    drop_copies();
    throw;
  }
  std::vector<std::uint64_t> counts(objects.arrays.size());
  for (const worker_copies& of : rank.copies)
    for (const auto& r : of.records) ++counts[r.array];
  co_return counts;
}

task<share_summary> write_share(share_contents contents) {
  rank_state& rank = state_here();
  const checkpoint_place place = contents.place;
  const int partner = contents.partner;
  const share_identity mine = identity_of(place, rank.space);
  const auto pieces = partner < 0 ? nullptr : std::make_shared<piece_queue>(most_pieces);
  const at_scope_end<&piece_queue::close> without_sender(pieces.get());
  auto writing =
      in_background(rank.background, rank.space.owner(),
                    [contents = std::move(contents), mine,
                     path = folders_here().own_path(place.pattern), pieces, &copies = rank.copies] {
                      lower_priority();
                      return write_and_send(path, contents, mine, copies, pieces.get());
                    });
  if (!pieces) co_return co_await std::move(writing);
  const share_address address{place.pattern, place.number, place.stamp, 0, mine.rank};
  co_return co_await send_copy(pieces, std::move(writing), address, partner);
}

void drop_copies() {
  for (worker_copies& of : state_here().copies) of.clear();
}

task<> count_elements(restart_place place, checkpoint_objects objects) {
  rank_state& rank = state_here();
  rank.place = std::move(place);
  rank.objects = std::move(objects);
  const auto arrays = arrays_of(rank);
  const auto found = co_await count_states(rank, arrays);
  co_await call_on_workers(rank.space, [&](std::size_t w) {
    for (std::size_t i = 0; i < arrays.size(); ++i)
      arrays[i]->local(w).reductions->join(found[w].counts[i]);
  });
}

task<> load_arrays() {
  rank_state& rank = state_here();
  const auto arrays = arrays_of(rank);
  const stored_ids ids(rank.space, rank.objects.all());
  std::vector<stored_elements> found(rank.space.workers().size());
  source_shares shares(rank.place);
  for (std::uint32_t s = 0; s < shares.size(); ++s) {
    if (!rank.needed[s]) continue;
    source_share share = co_await shares.open(rank.background, s);
    co_await read_states(rank, share, arrays, found);
  }
  rank.to_resume.resize(found.size());
  co_await call_on_workers(rank.space, [&](std::size_t w) {
    rank.to_resume[w] = make_on_worker(arrays, ids, w, found[w]);
  });
}

task<> start_elements() {
  rank_state& rank = state_here();
  const auto arrays = arrays_of(rank);
  co_await call_on_workers(rank.space, [&](std::size_t w) {
    start_on_worker(arrays, w, std::exchange(rank.to_resume[w], {}));
  });
}

}  // namespace starling::detail
