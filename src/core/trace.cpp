// SPDX-License-Identifier: Apache-2.0
#include <starling/core/trace.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include <starling/core/detail/spin_lock.hpp>

#include "trace_file.hpp"

namespace starling {
namespace {

struct span_record {
  std::uint64_t begin;
  std::uint64_t end;
  const char* name;
  span_kind kind;
};

struct track {
  std::string group;
  std::string name;
  detail::spin_lock lock;  // guards `spans`; mostly one writer, so uncontended
  std::deque<span_record> spans;
  std::deque<detailed_span> detailed;
};

const char* kind_name(span_kind kind) {
  static constexpr const char* names[] = {"task", "kernel",    "copy",      "message",
                                          "idle", "migration", "balancing", "user"};
  static_assert(std::size(names) == std::size_t(span_kind::user) + 1, "in the enum's order");
  return std::size_t(kind) < std::size(names) ? names[std::size_t(kind)] : "?";
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", int(c));
    else
      out += c;
  }
  return out + '"';
}

std::string json_text(const std::variant<double, std::string>& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return json_quoted(*text);
  const double number = std::get<double>(value);
  return std::isfinite(number) ? fmt::format("{}", number) : json_quoted(fmt::format("{}", number));
}

}  // namespace

/// Tracks by index, accessed without a lock. Slab k holds 64·2^k tracks and never moves.
class track_table {
 public:
  ~track_table() {
    for (auto& slab : m_slabs) delete[] slab.load();
  }
  /// Adds a track and returns its index. Requires the tracer's lock.
  std::uint32_t add(std::string group, std::string name) {
    const auto [slab, offset] = place(m_size);
    if (offset == 0) m_slabs[slab].store(new track[first << slab], std::memory_order_release);
    track& t = m_slabs[slab].load(std::memory_order_relaxed)[offset];
    t.group = std::move(group);
    t.name = std::move(name);
    return m_size++;
  }
  [[nodiscard]] std::uint32_t size() const { return m_size; }
  /// Returns a track. Any thread that has received the index.
  [[nodiscard]] track& operator[](std::uint32_t index) const {
    const auto [slab, offset] = place(index);
    return m_slabs[slab].load(std::memory_order_acquire)[offset];
  }

 private:
  static constexpr std::size_t first = 64;
  static std::pair<std::size_t, std::size_t> place(std::uint32_t index) {
    const std::size_t n = index / first + 1;  // 1, 2-3, 4-7, …: slab 0, 1, 2, …
    const std::size_t slab = std::size_t(std::bit_width(n)) - 1;
    return {slab, index - ((std::size_t(1) << slab) - 1) * first};
  }
  std::array<std::atomic<track*>, 26> m_slabs{};
  std::uint32_t m_size = 0;
};

struct tracer::impl {
  mutable std::mutex mutex;
  track_table tracks;
  std::map<std::pair<span_kind, std::string_view>, std::uint64_t> counts;
  std::set<std::string, std::less<>> names;
  std::uint64_t start = tracer::now();
};

tracer::tracer() : m_impl(std::make_unique<impl>()) {}
tracer::~tracer() = default;

std::uint64_t tracer::now() noexcept {
  const std::chrono::nanoseconds ns = std::chrono::steady_clock::now().time_since_epoch();
  return std::uint64_t(ns.count());
}

std::uint32_t tracer::open_track(std::string group, std::string name) {
  std::lock_guard lock(m_impl->mutex);
  return m_impl->tracks.add(std::move(group), std::move(name));
}

void tracer::span(std::uint32_t index, span_kind kind, const char* name, std::uint64_t begin_ns,
                  std::uint64_t end_ns) noexcept {
  track& t = m_impl->tracks[index];
  std::lock_guard lock(t.lock);
  try {
    t.spans.push_back({begin_ns, end_ns, name, kind});
  } catch (const std::bad_alloc&) {  // the span is lost; the run continues
  }
}

void tracer::span(std::uint32_t index, detailed_span recorded) noexcept {
  track& t = m_impl->tracks[index];
  std::lock_guard lock(t.lock);
  try {
    t.detailed.push_back(std::move(recorded));
  } catch (const std::bad_alloc&) {
  }
}

void tracer::count(span_kind kind, const char* name) noexcept {
  std::lock_guard lock(m_impl->mutex);
  try {
    ++m_impl->counts[{kind, name}];
  } catch (const std::bad_alloc&) {
  }
}

const char* tracer::intern(std::string_view name) {
  std::lock_guard lock(m_impl->mutex);
  const auto found = m_impl->names.find(name);
  return (found != m_impl->names.end() ? found : m_impl->names.emplace(name).first)->c_str();
}

std::vector<trace_total> tracer::totals() const {
  std::map<std::pair<span_kind, std::string>, trace_total> sums;
  std::lock_guard lock(m_impl->mutex);
  const auto row = [&](span_kind kind, std::string_view name) -> trace_total& {
    trace_total& t = sums[{kind, std::string(name)}];
    t.kind = kind;
    t.name = name;
    return t;
  };
  for (std::uint32_t i = 0; i < m_impl->tracks.size(); ++i) {
    track& t = m_impl->tracks[i];
    std::lock_guard track_lock(t.lock);
    const auto add = [&](trace_total& total, std::uint64_t ns) {
      ++total.count;
      total.total_ns += ns;
      total.longest_ns = std::max(total.longest_ns, ns);
    };
    for (const span_record& s : t.spans) add(row(s.kind, s.name), s.end - s.begin);
    for (const detailed_span& s : t.detailed) add(row(s.kind, s.total), s.end_ns - s.begin_ns);
  }
  for (const auto& [key, n] : m_impl->counts) row(key.first, key.second).count += n;
  std::vector<trace_total> rows;
  for (auto& entry : sums) rows.push_back(std::move(entry.second));
  std::stable_sort(rows.begin(), rows.end(), [](const trace_total& a, const trace_total& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.total_ns > b.total_ns;
  });
  return rows;
}

std::string tracer::summary() const {
  const auto mine = detail::find_launched_rank();
  std::string text = mine ? fmt::format("rank {}:\n", mine->rank) : "";
  text += fmt::format("{:<9} {:>10} {:>12} {:>10} {:>10}  {}\n", "kind", "count", "total ms",
                      "mean us", "max us", "name");
  for (const trace_total& t : totals())
    text += fmt::format("{:<9} {:>10} {:>12.3f} {:>10.2f} {:>10.2f}  {}\n", kind_name(t.kind),
                        t.count, double(t.total_ns) * 1e-6,
                        double(t.total_ns) * 1e-3 / double(std::max<std::uint64_t>(t.count, 1)),
                        double(t.longest_ns) * 1e-3, t.name);
  return text;
}

namespace {

/// Writes a span with its details, and the end of its arrow, which lies in it: a span without
/// length gets one, as no arrow can be attached to it otherwise.
void write_detailed(std::FILE* out, const detailed_span& s, int group, int thread,
                    std::uint64_t zero) {
  using arrow_end = detailed_span::arrow_end;
  const double begin = double(std::int64_t(s.begin_ns - zero)) * 1e-3;
  const double length = double(std::max<std::uint64_t>(s.end_ns - s.begin_ns, 1)) * 1e-3;
  std::string details;
  for (const auto& [name, value] : s.details)
    details += (details.empty() ? "" : ",") + json_quoted(name) + ":" + json_text(value);
  fmt::print(out,
             ",\n{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{:.3f},"
             "\"dur\":{:.3f},\"args\":{{{}}}}}",
             kind_name(s.kind), json_quoted(s.name), group, thread, begin, length, details);
  if (s.end == arrow_end::none) return;
  fmt::print(out,
             ",\n{{\"ph\":\"{}\",\"bp\":\"e\",\"cat\":\"{}\",\"name\":\"{}\",\"id\":\"{:#x}\","
             "\"pid\":{},\"tid\":{},\"ts\":{:.3f}}}",
             s.end == arrow_end::tail ? "s" : "f", kind_name(s.kind), kind_name(s.kind), s.arrow,
             group, thread, begin);
}

void write_track(std::FILE* out, const track& t, const std::string& group_name, int group,
                 int thread, std::uint64_t zero) {
  fmt::print(out,
             "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"args\":{{\"name\":{1}}}}},\n"
             "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{0},\"tid\":{2},\"args\":"
             "{{\"name\":{3}}}}}",
             group, json_quoted(group_name), thread, json_quoted(t.name));
  for (const span_record& s : t.spans)
    fmt::print(out,
               ",\n{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{:.3f},"
               "\"dur\":{:.3f}}}",
               kind_name(s.kind), json_quoted(s.name), group, thread,
               double(std::int64_t(s.begin - zero)) * 1e-3, double(s.end - s.begin) * 1e-3);
  for (const detailed_span& s : t.detailed) write_detailed(out, s, group, thread, zero);
}

}  // namespace

void tracer::write(const std::string& file) const {
  const auto mine = detail::find_launched_rank();
  constexpr int most_groups = 1000;  // each rank numbers its groups of tracks in a range of its own
  const int first_group = mine ? mine->rank * most_groups + 1 : 1;
  const std::string prefix = mine ? fmt::format("rank {}: ", mine->rank) : "";
  std::lock_guard lock(m_impl->mutex);
  const auto write_tracks = [&](std::FILE* out, std::uint64_t zero) {
    std::map<std::string, int> groups;
    for (std::uint32_t i = 0; i < m_impl->tracks.size(); ++i) {
      track& t = m_impl->tracks[i];
      std::lock_guard track_lock(t.lock);
      const int next = first_group + int(groups.size());
      const int group = groups.emplace(t.group, next).first->second;
      if (i != 0) fmt::print(out, ",\n");
      write_track(out, t, prefix + t.group, group, int(i) + 1, zero);
    }
  };
  if (mine && m_impl->tracks.size() != 0)
    detail::add_to_trace(file, *mine, m_impl->start, write_tracks);
  else if (!mine)
    detail::write_trace(file, m_impl->start, write_tracks);
}

}  // namespace starling
