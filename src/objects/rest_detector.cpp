// SPDX-License-Identifier: Apache-2.0
#include "rest_detector.hpp"

#include <starling/core/detail/worker.hpp>
#include <starling/objects/detail/send.hpp>

#include "job_impl.hpp"

namespace starling::detail {
namespace {

rest_detector& detector_of(arrival& a) {
  return static_cast<job_impl*>(a.space().others())->rest();
}

struct wanted_arrival {
  static void run(arrival& a) { detector_of(a).on_wanted(); }
};
struct wave_arrival {
  static void run(arrival& a) { detector_of(a).on_wave(a.arguments().read<std::uint64_t>()); }
};
struct counts_arrival {
  static void run(arrival& a) {
    input_archive ar = a.arguments();
    const auto wave = ar.read<std::uint64_t>();
    detector_of(a).on_counts(wave, ar.read<rest_counts>());
  }
};
struct quiescence_arrival {
  static void run(arrival& a) { detector_of(a).on_quiescence(); }
};
struct question_arrival {
  static void run(arrival& a) { detector_of(a).on_question(); }
};
struct description_arrival {
  static void run(arrival& a) {
    detector_of(a).on_description(a.from(), a.arguments().read<std::string>());
  }
};

/// Has `f()` called on a worker when nothing of its runtime runs or is in flight any more.
template <class F>
void call_at_rest(worker& on, F f) {
  auto& call = *new call_message<F>(std::move(f));
  detail::resume_at_rest(addressed(on, call, priority::high));
}

}  // namespace

template <class Handler, class... V>
void rest_detector::tell(int rank, const V&... values) {
  m_job.send(rank, make_remote<Handler>({0, priority::high, false}, values...));
}

void rest_detector::resume_at_rest(promise_base& c) {
  {
    const std::lock_guard guard(m_mutex);
    m_waiting.push(c);
  }
  tell<wanted_arrival>(0);
}

void rest_detector::look() noexcept {
  if (m_is_looking.exchange(true)) return;
  or_end_run(*m_space.workers().front(), [this] { tell<wanted_arrival>(0); });
}

// --- waves

void rest_detector::on_wanted() {
  if (std::exchange(m_is_active, true)) {
    m_was_wanted = true;
    return;
  }
  m_has_before = false;
  on_wave(m_wave + 1);
}

void rest_detector::on_wave(std::uint64_t wave) {
  m_wave = wave;
  m_counts = {};
  m_missing = 1 + tree().for_each_below([&](int rank) { tell<wave_arrival>(rank, wave); });
  call_at_rest(*m_space.workers().front(), [this] {
    rest_counts mine{m_traffic.sent.load(std::memory_order_relaxed),
                     m_traffic.received.load(std::memory_order_relaxed),
                     m_traffic.transfers_begun.load(std::memory_order_relaxed),
                     m_traffic.transfers_over.load(std::memory_order_relaxed), 0};
    {
      const std::lock_guard guard(m_mutex);
      mine.waiting = m_counted = m_waiting.size();
    }
    on_counts(m_wave, mine);
  });
}

void rest_detector::on_counts(std::uint64_t wave, const rest_counts& of_part) {
  if (wave != m_wave) return;  // of a run that has been ended
  m_counts.sent += of_part.sent;
  m_counts.received += of_part.received;
  m_counts.transfers_begun += of_part.transfers_begun;
  m_counts.transfers_over += of_part.transfers_over;
  m_counts.waiting += of_part.waiting;
  if (--m_missing == 0) answer();
}

void rest_detector::answer() {
  if (m_job.rank() != 0) return tell<counts_arrival>(tree().above(), m_wave, m_counts);
  if (m_has_before && m_counts == m_before && m_counts.sent == m_counts.received) {
    // A transfer that is under way moves nothing that could be counted until it is over.
    if (m_counts.transfers_begun == m_counts.transfers_over) return conclude();
    m_is_active = false;  // until the next look
    m_is_looking.store(false);
    return;
  }
  m_before = m_counts;
  m_has_before = true;
  on_wave(m_wave + 1);
}

/// All ranks are at rest.
void rest_detector::conclude() {
  m_is_active = false;
  m_is_looking.store(false);
  const bool was_wanted = std::exchange(m_was_wanted, false);
  if (m_counts.waiting != 0) {
    for (int rank = 1; rank < m_job.size(); ++rank) tell<quiescence_arrival>(rank);
    on_quiescence();
  } else if (!was_wanted) {
    return report_hang();
  }
  if (was_wanted) on_wanted();
}

void rest_detector::on_quiescence() {
  ready_list released;
  {
    const std::lock_guard guard(m_mutex);
    // Who came later, awakened by others that were released, waits for the next rest.
    for (std::size_t n = std::exchange(m_counted, 0); n > 0; --n)
      if (promise_base* c = m_waiting.pop()) released.push(*c);
  }
  while (promise_base* c = released.pop()) schedule(*c);
}

// --- hangs

void rest_detector::report_hang() {
  const bool is_known = !m_descriptions.empty();
  if (is_known || !m_is_waited_for.load() || !m_space.owner().options().hang_diagnosis) return;
  m_descriptions.assign(std::size_t(m_job.size()), {});
  m_undescribed = m_job.size();
  for (int rank = 0; rank < m_job.size(); ++rank) tell<question_arrival>(rank);
}

void rest_detector::on_question() {
  tell<description_arrival>(0, m_space.owner().describe_awaiters(true));
}

void rest_detector::on_description(int rank, const std::string& text) {
  if (m_undescribed == 0) return;  // nobody has asked
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
