// SPDX-License-Identifier: Apache-2.0
#include "quiescence_detector.hpp"

#include <tuple>

#include <starling/core/detail/worker.hpp>
#include <starling/objects/detail/send.hpp>

#include "job_impl.hpp"

namespace starling::detail {
namespace {

quiescence_detector& detector_of(received_call& a) {
  return static_cast<job_impl*>(a.space().current_job())->quiescence();
}

rank_tree ranks_around(const received_call& a) {
  return {a.space().rank(), a.space().rank_count()};
}

/// Reads the values of a message, which must be for the first worker.
template <class... V>
std::tuple<V...> taken_from(received_call& a) {
  std::tuple<V...> values = read_arguments<V...>(a);
  a.require_first_worker();
  return values;
}

/// Checks that `rank` is 0, for messages that only rank 0 may send, or receive.
void require_leader(const received_call& a, int rank) {
  a.require(rank == 0, "it is of rank 0, or for rank 0, alone");
}

/// Base of the handlers of this protocol.
struct arrival {
  static constexpr bool is_counted = false;
};

struct wanted_arrival : arrival {
  static void run(received_call& a) {
    taken_from<>(a);
    require_leader(a, a.space().rank());
    detector_of(a).on_wanted();
  }
};
struct wave_arrival : arrival {
  static void run(received_call& a) {
    const auto [wave, quiescences] = taken_from<std::uint64_t, std::uint64_t>(a);
    const rank_tree ranks = ranks_around(a);
    a.require(ranks.rank != 0 && a.from() == ranks.above(), "waves come from the rank above");
    a.require(detector_of(a).is_next(wave), "a wave comes before the one ahead of it is over");
    a.require(detector_of(a).may_have_been(quiescences), "a wave counts quiescences ahead of time");
    detector_of(a).on_quiescence(quiescences);
    detector_of(a).on_wave(wave);
  }
};
struct counts_arrival : arrival {
  static void run(received_call& a) {
    const auto [wave, counts] = taken_from<std::uint64_t, quiescence_counts>(a);
    a.require(detector_of(a).take_answer(a.from(), wave),
              "an answer that the wave under way has had, or does not ask for");
    detector_of(a).on_counts(counts);
  }
};
struct quiescence_arrival : arrival {
  static void run(received_call& a) {
    const auto [quiescences] = taken_from<std::uint64_t>(a);
    require_leader(a, a.from());
    a.require(detector_of(a).may_have_been(quiescences), "quiescence comes ahead of time");
    detector_of(a).on_quiescence(quiescences);
  }
};
/// Handler: all ranks are quiescent, but messages wait for objects, or loads have no marks.
struct stranded_arrival : arrival {
  static void run(received_call& a) {
    taken_from<>(a);
    require_leader(a, a.from());
    a.space().refuse_stranded();
    static_cast<job_impl*>(a.space().current_job())->broadcasts().refuse_left_over();
  }
};
struct question_arrival : arrival {
  static void run(received_call& a) {
    taken_from<>(a);
    require_leader(a, a.from());
    detector_of(a).on_question();
  }
};
struct description_arrival : arrival {
  static void run(received_call& a) {
    const auto [text] = taken_from<std::string>(a);
    require_leader(a, a.space().rank());
    detector_of(a).on_description(a.from(), text);
  }
};

/// Calls `f()` on a worker once its runtime is quiescent: no task runs, nothing is in flight.
template <class F>
void call_at_quiescence(worker& on, F f) {
  auto& call = *new call_message<F>(std::move(f));
  detail::resume_at_quiescence(addressed(on, call, priority::high));
}

}  // namespace

template <class Handler, class... V>
void quiescence_detector::tell(int rank, const V&... values) {
  m_job.send(rank, make_remote<Handler>({}, values...));
}

void quiescence_detector::resume_at_quiescence(promise_base& c, bool before_others) {
  {
    const std::lock_guard guard(m_mutex);
    if (!m_is_over) (before_others ? m_first : m_waiting).push(c);
    // The run is over: waits for the quiescence of this rank only.
    if (m_is_over) return detail::resume_at_quiescence(c);
  }
  tell<wanted_arrival>(0);
}

void quiescence_detector::release_all() noexcept {
  ready_list released;
  {
    const std::lock_guard guard(m_mutex);
    m_is_over = true;
    m_counted = 0;
    while (promise_base* c = m_first.pop()) released.push(*c);
    while (promise_base* c = m_waiting.pop()) released.push(*c);
  }
  while (promise_base* c = released.pop()) schedule(*c);
}

void quiescence_detector::look() noexcept {
  if (m_is_looking.exchange(true)) return;
  or_end_run(*m_space.workers().front(), [this] { tell<wanted_arrival>(0); });
}

// --- waves

void quiescence_detector::on_wanted() {
  if (std::exchange(m_is_active, true)) {
    m_was_wanted = true;
    return;
  }
  m_has_before = false;
  on_wave(m_wave + 1);
}

void quiescence_detector::on_wave(std::uint64_t wave) {
  m_wave = wave;
  m_counts = {};
  m_has_answered = {};
  m_missing =
      1 + tree().for_each_below([&](int rank) { tell<wave_arrival>(rank, wave, m_quiescences); });
  call_at_quiescence(*m_space.workers().front(), [this] {
    quiescence_counts mine{
        m_flow.sent_in_all() + m_traffic.loads_sent.load(std::memory_order_relaxed),
        m_traffic.received.load(std::memory_order_relaxed),
        m_traffic.transfers_begun.load(std::memory_order_relaxed),
        m_traffic.transfers_over.load(std::memory_order_relaxed),
        0,
        m_space.stranded(),
        will_have_ended()};
    {
      const std::lock_guard guard(m_mutex);
      mine.waiting = m_counted = m_waiting.size();
    }
    on_counts(mine);
  });
}

/// Returns 1 if the run has ended on this rank or will end: after a refused message another thread
/// ends it, perhaps after this wave.
std::uint64_t quiescence_detector::will_have_ended() const noexcept {
  return run_has_ended() || m_traffic.refused.load(std::memory_order_relaxed) != 0 ? 1 : 0;
}

bool quiescence_detector::take_answer(int from, std::uint64_t wave) noexcept {
  const auto side = std::size_t(from - (2 * m_job.rank() + 1));
  return side < m_has_answered.size() && wave == m_wave && m_missing != 0 &&
         !std::exchange(m_has_answered[side], true);
}

void quiescence_detector::on_counts(const quiescence_counts& of_subtree) {
  m_counts.sent += of_subtree.sent;
  m_counts.received += of_subtree.received;
  m_counts.transfers_begun += of_subtree.transfers_begun;
  m_counts.transfers_over += of_subtree.transfers_over;
  m_counts.waiting += of_subtree.waiting;
  m_counts.stranded += of_subtree.stranded;
  m_counts.ended += of_subtree.ended;
  if (--m_missing == 0) answer();
}

void quiescence_detector::answer() {
  if (m_job.rank() != 0) return tell<counts_arrival>(tree().above(), m_wave, m_counts);
  if (m_has_before && m_counts == m_before && m_counts.sent == m_counts.received) {
    // A receive in progress changes no count until it is complete.
    if (m_counts.transfers_begun == m_counts.transfers_over) return conclude();
    m_is_active = false;  // until the next call of `look`
    m_is_looking.store(false);
    return;
  }
  m_before = m_counts;
  m_has_before = true;
  on_wave(m_wave + 1);
}

/// Ends the waves, as all ranks are quiescent.
void quiescence_detector::conclude() {
  m_is_active = false;
  m_is_looking.store(false);
  const bool was_wanted = std::exchange(m_was_wanted, false);
  // Rank 0 will be notified of the end, and then releases all waiting coroutines.
  if (m_counts.ended != 0) return;
  if (m_counts.stranded != 0) {
    for (int rank = 0; rank < m_job.size(); ++rank) tell<stranded_arrival>(rank);
    return;
  }
  if (release_first()) {  // the others wait for the next quiescence
    if (m_counts.waiting != 0 || m_is_first_left || was_wanted) on_wanted();
    return;
  }
  if (m_counts.waiting != 0) {
    for (int rank = 1; rank < m_job.size(); ++rank)
      tell<quiescence_arrival>(rank, m_quiescences + 1);
    on_quiescence(m_quiescences + 1);
  } else if (!was_wanted) {
    return report_hang();
  }
  if (was_wanted) on_wanted();
}

/// Makes one of the coroutines ready that wait before the others. Returns false if there is none.
bool quiescence_detector::release_first() noexcept {
  promise_base* first = nullptr;
  {
    const std::lock_guard guard(m_mutex);
    first = m_first.pop();
    m_is_first_left = !m_first.empty();
  }
  if (first != nullptr) schedule(*first);
  return first != nullptr;
}

void quiescence_detector::on_quiescence(std::uint64_t count) {
  // Already handled: a wave with this count overtook the message.
  if (count <= m_quiescences) return;
  m_quiescences = count;
  ready_list released;
  {
    const std::lock_guard guard(m_mutex);
    // Coroutines added later, after released coroutines made them ready, wait for the next
    // quiescence.
    for (std::size_t n = std::exchange(m_counted, 0); n > 0; --n)
      if (promise_base* c = m_waiting.pop()) released.push(*c);
  }
  while (promise_base* c = released.pop()) schedule(*c);
}

// --- hangs

void quiescence_detector::report_hang() {
  const bool is_known = !m_descriptions.empty();
  if (is_known || !m_is_waited_for.load() || !m_space.owner().options().hang_diagnosis) return;
  m_descriptions.assign(std::size_t(m_job.size()), {});
  m_undescribed = m_job.size();
  for (int rank = 0; rank < m_job.size(); ++rank) tell<question_arrival>(rank);
}

void quiescence_detector::on_question() {
  tell<description_arrival>(0, m_space.owner().describe_awaiters(true));
}

void quiescence_detector::on_description(int rank, const std::string& text) {
  if (m_undescribed == 0) return;  // rank 0 has not asked for it
  m_descriptions[std::size_t(rank)] = text;
  if (--m_undescribed != 0) return;
  std::string list;
  for (int r = 0; r < m_job.size(); ++r)
    if (!m_descriptions[std::size_t(r)].empty())
      list += " rank " + std::to_string(r) + ":\n" + m_descriptions[std::size_t(r)];
  m_space.end_run(std::make_exception_ptr(hang_error(
      "nothing is runnable and nothing is in flight on any rank, but these still wait (a "
      "thread outside the runtime that is to wake them must hold an external_work "
      "token):\n" +
      list)));
}

}  // namespace starling::detail
