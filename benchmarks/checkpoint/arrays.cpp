// SPDX-License-Identifier: Apache-2.0
//
// Measures checkpoints of a chare array, a restart, and steps of the program while files are
// written. See README.md.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "../common/job.hpp"
#include "../common/report.hpp"

namespace {

namespace bench = starling::bench;
using starling::callback, starling::chare_array, starling::checkpoints, starling::runtime,
    starling::task;

/// Has a field of numbers and steps it.
struct patch : starling::chare<patch> {
  explicit patch(std::size_t cells) : m_cells(cells, 1.0 + this_index()) {}
  explicit patch(starling::migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_cells);
  }

  void copy(callback<std::uint64_t> done) {
    m_copy.clear();
    m_copy.insert(m_copy.end(), m_cells.begin(), m_cells.end());
    contribute(std::uint64_t(m_copy.size()), starling::reduction::sum(), std::move(done));
  }
  void forget_copy() { m_copy = {}; }
  /// Computes in the cache, so that steps wait for no memory that another thread uses.
  void step(int rounds, callback<std::uint64_t> done) {
    const std::size_t n = std::min<std::size_t>(m_cells.size(), 1024);
    for (int r = 0; r < rounds; ++r)
      for (std::size_t i = 0; i < n; ++i) m_cells[i] = 0.5 * m_cells[i] + 1.0;
    contribute(std::uint64_t(1), starling::reduction::sum(), std::move(done));
  }
  double sum() const {
    double total = 0;
    for (const double c : m_cells) total += c;
    return total;
  }

 private:
  std::vector<double> m_cells;
  std::vector<double> m_copy;
};

constexpr int patches = 64;
const std::vector<std::string> questions = {"copy", "take",       "whole",
                                            "read", "step_alone", "step_beside"};

struct settings : bench::options {
  std::string folder = ".";
  double mib = 256;        // of all patches
  int rounds = 400;        // of a step
  std::size_t copies = 1;  // of each share, in folders of different ranks
};

/// A folder of this run, removed at the end. All ranks see it.
struct own_folder {
  explicit own_folder(const std::string& below)
      : path(fmt::format("{}/starling-checkpoints-{}", below, ::getpid())) {}
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;
  ~own_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  const std::string path;
};

task<double> sum_of(chare_array<patch> all) {
  double total = 0;
  for (int i = 0; i < patches; ++i) total += co_await all[i].call<&patch::sum>();
  co_return total;
}

template <auto Entry, class... Args>
task<> together(chare_array<patch> all, Args... args) {
  auto [to, done] = starling::make_reply<std::uint64_t>();
  all.invoke<Entry>(args..., to);
  static_cast<void>(co_await std::move(done));
}

/// The questions of one run. The item of the checkpoints is a MiB.
class questionnaire {
 public:
  questionnaire(const settings& chosen, bench::report& out) : m_chosen(chosen), m_out(out) {}

  task<> ask() {
    const double mib = std::max(1.0, m_chosen.mib * m_chosen.scale);
    m_cells = std::size_t(mib * (1 << 20) / sizeof(double) / patches);
    m_mib = std::max<std::uint64_t>(1, std::uint64_t(mib));
    const own_folder folder(m_chosen.folder);
    m_path = folder.path + (m_chosen.copies > 1 ? "/{rank}" : "");
    checkpoints saved =
        co_await checkpoints::open(*runtime::current(), m_path, {1, "", "none", m_chosen.copies});
    const auto all =
        saved.create_array<patch>("patches", patches, starling::placement::block, m_cells);
    co_await starling::quiescence();
    co_await ask_copy(all);
    co_await ask_take(saved);
    co_await ask_read(all);
    co_await ask_steps(saved, all);
  }

 private:
  [[nodiscard]] double broken(const std::string& question) const {
    return m_chosen.breaks(question) ? 1 : 0;
  }

  /// The floor: each worker copies its numbers to new memory.
  task<> ask_copy(chare_array<patch> all) {
    if (!m_chosen.runs("copy")) co_return;
    bench::sampling runs(m_chosen, "copy", m_mib);
    while (runs.wants_more()) {
      all.invoke<&patch::forget_copy>();
      co_await starling::quiescence();
      runs.begin();
      auto [to, done] = starling::make_reply<std::uint64_t>();
      all.invoke<&patch::copy>(to);
      const auto copied = co_await std::move(done);
      runs.end();
      runs.judge(copied + std::uint64_t(broken("copy")) == m_cells * patches);
    }
    all.invoke<&patch::forget_copy>();
    m_out.add(runs.result());
  }

  task<> ask_take(const checkpoints& saved) {
    bench::sampling copies(m_chosen, "take", m_mib);
    bench::sampling wholes(m_chosen, "whole", m_mib);
    std::uint64_t number = 0;
    while (wholes.wants_more()) {
      co_await starling::quiescence();
      copies.begin();
      wholes.begin();
      auto written = co_await saved.take(number);
      copies.end();
      const std::uint64_t next = co_await std::move(written);
      wholes.end();
      copies.judge(next == number + 1 + std::uint64_t(broken("take")));
      wholes.judge(next == number + 1 + std::uint64_t(broken("whole")));
      number = next;
    }
    if (m_chosen.runs("take")) m_out.add(copies.result());
    if (m_chosen.runs("whole")) m_out.add(wholes.result());
  }

  task<> ask_read(chare_array<patch> all) {
    if (!m_chosen.runs("read")) co_return;
    bench::sampling runs(m_chosen, "read", m_mib);
    while (runs.wants_more()) {
      runs.begin();
      checkpoints again = co_await checkpoints::open(*runtime::current(), m_path,
                                                     {1, "", "latest", m_chosen.copies});
      const auto read =
          again.create_array<patch>("patches", patches, starling::placement::block, m_cells);
      co_await again.load();
      runs.end();
      runs.judge(co_await sum_of(read) + broken("read") == co_await sum_of(all));
      read.destroy();
      co_await starling::quiescence();
    }
    m_out.add(runs.result());
  }

  /// Steps alone, and while the files of a checkpoint are written: as many steps as the writing
  /// takes.
  task<> ask_steps(const checkpoints& saved, chare_array<patch> all) {
    if (!m_chosen.runs("step_alone") && !m_chosen.runs("step_beside")) co_return;
    bench::sampling alone(m_chosen, "step_alone", 1), beside(m_chosen, "step_beside", 1);
    while (alone.wants_more()) {
      auto written = co_await saved.take(0);
      int steps = 0;
      beside.begin();
      const auto begin = std::chrono::steady_clock::now();
      for (; !written.is_ready(); ++steps) co_await together<&patch::step>(all, m_chosen.rounds);
      beside.end(since(begin) / std::max(1, steps), std::uint64_t(std::max(1, steps)));
      static_cast<void>(co_await std::move(written));
      alone.begin();
      const auto second = std::chrono::steady_clock::now();
      for (int i = 0; i < std::max(1, steps); ++i)
        co_await together<&patch::step>(all, m_chosen.rounds);
      alone.end(since(second) / std::max(1, steps), std::uint64_t(std::max(1, steps)));
      alone.judge(!m_chosen.breaks("step_alone"));
      beside.judge(steps > 0 && !m_chosen.breaks("step_beside"));
    }
    m_out.add(alone.result());
    m_out.add(beside.result());
  }
  static double since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  const settings& m_chosen;
  bench::report& m_out;
  std::string m_path;
  std::size_t m_cells = 0;
  std::uint64_t m_mib = 0;
};

void add_ratios(bench::report& out) {
  const auto ratio = [&out](const char* name, const char* over, const char* under) {
    const double above = out.metric(std::string(over) + "_min_ns");
    const double below = out.metric(std::string(under) + "_min_ns");
    if (above == 0 || below == 0) return;
    out.metric(name, above / below);
    fmt::print("{:<22}{:>10.3f}\n", name, above / below);
  };
  ratio("take_of_copy", "take", "copy");
  ratio("step_beside_of_alone", "step_beside", "step_alone");
  const auto rate = [&out](const char* question) {
    const double ns = out.metric(std::string(question) + "_min_ns");
    if (ns != 0) out.metric(std::string(question) + "_gb_per_s", double(1 << 20) / ns);
  };
  for (const char* question : {"copy", "take", "whole", "read"}) rate(question);
}

task<int> lead(const settings& chosen, bench::report& out) {
  out.config("ranks", starling::rank_count());
  out.config("mib", chosen.mib);
  out.config("copies", chosen.copies);
  out.print_heading();
  co_await questionnaire(chosen, out).ask();
  add_ratios(out);
  out.write(chosen.json);
  co_return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* name = "checkpoint_arrays";
  settings chosen;
  CLI::App app{"Checkpoints of a chare array: copies, files, restart, and steps beside them"};
  bench::add_options(app, chosen);
  app.add_option("--copies", chosen.copies,
                 "Copies of each share; 2: each rank has a folder of its own")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  app.add_option("--folder", chosen.folder, "Folder for the files, which all ranks see")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("--mib", chosen.mib, "State of all chares, MiB")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", chosen.rounds, "Work of a chare in one step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return bench::run_job(name, argc, argv, app, chosen, questions,
                        [&](bench::report& out) { return lead(chosen, out); });
}
