// SPDX-License-Identifier: Apache-2.0
//
// Benchmark of checkpoint files: ns per MiB to write and to read a share, in turns with `dd` on the
// same folder and with the same synchronization. It includes private headers, which programs under
// benchmarks/ may not, since checkpoints have no public header.
//
//     bench_checkpoint_files --folder /data --scale 4 --least-share-of-dd 0.8 --json
//     checkpoint.json
//
// | question   | timed                                                                          |
// |------------|--------------------------------------------------------------------------------|
// | `write`    | states in memory to a share: checksums, fsync of file and folders, rename      |
// | `dd_write` | `dd bs=1M conv=fsync` of as many bytes from a file in memory                   |
// | `read`     | all states of the share, checked; the pages of the file are dropped before     |
// | `dd_read`  | `dd bs=1M of=/dev/null` of the same file; the pages are dropped before, too    |
// | `memory`   | states to a copy in memory, as for a buddy rank                                |
//
// The ratios of the fastest runs are `write_of_dd` and `read_of_dd`.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "benchmarks/common/child.hpp"
#include "benchmarks/common/report.hpp"
#include "objects/checkpoint/checkpoint_folder.hpp"
#include "objects/checkpoint/checkpoint_reader.hpp"

namespace {

namespace bench = starling::bench;
using namespace starling::detail;

constexpr std::size_t mib = std::size_t{1} << 20;
const std::vector<std::string> questions = {"write", "dd_write", "read", "dd_read", "memory"};

/// A folder of this process, removed at the end.
struct own_folder {
  explicit own_folder(const std::string& below)
      : path(fmt::format("{}/starling-checkpoint-{}", below, ::getpid())) {
    std::filesystem::create_directories(path);
  }
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;
  ~own_folder() { std::filesystem::remove_all(path); }
  const std::string path;
};

/// The states of one rank: 64 KiB for each element, random, so that no layer can compress them.
class states {
 public:
  explicit states(std::size_t elements) : m_elements(elements), m_bytes(elements * size / 8) {
    std::mt19937_64 engine(1);
    for (std::uint64_t& word : m_bytes) word = engine();
  }
  [[nodiscard]] std::span<const std::byte> all() const { return std::as_bytes(std::span(m_bytes)); }
  void fill(share_writer& to) const {
    const auto array = to.add_array({"cells", "cell", "index_1d", {}, {}, m_elements});
    for (std::uint64_t i = 0; i < m_elements; ++i)
      to.add_element(array, std::as_bytes(std::span(&i, 1)), all().subspan(i * size, size));
  }
  static constexpr std::size_t size = 64 * 1024;

 private:
  std::uint64_t m_elements;
  std::vector<std::uint64_t> m_bytes;
};

void drop_pages(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int failed =
      descriptor < 0 ? errno : ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), path);
}

bool dd(const std::string& from, const std::string& to, const char* further) {
  int code = 1;
  bench::child run({"/bin/dd", "if=" + from, "of=" + to, "bs=1M", "status=none", further});
  static_cast<void>(run.finish(code));
  return code == 0;
}

class comparison {
 public:
  comparison(const std::string& below, std::size_t elements)
      : m_folder(below), m_memory("/dev/shm"), m_states(elements) {
    std::ofstream(origin(), std::ios::binary)
        .write(reinterpret_cast<const char*>(m_states.all().data()),
               std::streamsize(m_states.all().size()));
    if (std::filesystem::file_size(origin()) != m_states.all().size())
      throw std::runtime_error("no room in /dev/shm for the bytes that dd copies");
    memory_sink sink(m_states.all().size() + mib);
    share_writer writer(sink, {1, 1, 0, 1});
    m_states.fill(writer);
    m_expected = writer.finish();
    if (!write()) throw std::runtime_error("the first share is wrong");
  }

  bool run(const std::string& question) {
    if (question == "write") return write();
    if (question == "dd_write") return dd(origin(), m_folder.path + "/dd", "conv=fsync");
    if (question == "read") return read();
    if (question == "dd_read") return dd(share(), "/dev/null", "iflag=fullblock");
    memory_sink sink(m_states.all().size() + mib);
    share_writer writer(sink, {1, 1, 0, 1});
    m_states.fill(writer);
    return writer.finish() == m_expected;
  }

  /// Brings the files into the state in which each run of the question begins.
  void prepare(const std::string& question) {
    if (question == "write") checkpoint_folder(m_folder.path).abandon(1);
    if (question == "dd_write") std::filesystem::remove(m_folder.path + "/dd");
    if (question.ends_with("read")) {
      if (!std::filesystem::exists(share()) && !write()) throw std::runtime_error("wrong share");
      drop_pages(share());
    }
  }

  [[nodiscard]] double size_in_mib() const { return double(m_states.all().size()) / double(mib); }

 private:
  [[nodiscard]] std::string origin() const { return m_memory.path + "/origin"; }
  [[nodiscard]] std::string share() const {
    return m_folder.path + "/" + checkpoint_name(1) + "/" + share_name(0);
  }
  bool write() {
    checkpoint_folder folder(m_folder.path);
    return folder.write_share({1, 1, 0, 1}, [&](share_writer& to) { m_states.fill(to); }) ==
           m_expected;
  }
  bool read() {
    share_reader reader(std::make_unique<file_source>(share()));
    std::uint64_t size = 0;
    for (const stored_state& s : reader.states())
      reader.read(s, [&](std::span<const std::byte> piece) { size += piece.size(); });
    return reader.summary() == m_expected && size == m_states.all().size();
  }

  own_folder m_folder, m_memory;
  states m_states;
  share_summary m_expected;
};

struct samples {
  std::vector<double> wall_ns, cpu_ns;
  bool correct = true;
};

void run_once(comparison& of, const std::string& question, samples* into) {
  of.prepare(question);
  const double cpu = bench::processor_time_ns();
  const auto begin = std::chrono::steady_clock::now();
  const bool correct = of.run(question);
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  if (into == nullptr) return;
  into->wall_ns.push_back(taken.count() / of.size_in_mib());
  into->cpu_ns.push_back((bench::processor_time_ns() - cpu) / of.size_in_mib());
  into->correct = into->correct && correct;
}

void add(bench::report& out, const bench::options& chosen, const std::string& question,
         const samples& of, std::uint64_t items) {
  bench::measurement m{question,
                       items,
                       bench::median(of.wall_ns),
                       0,
                       0,
                       bench::median(of.cpu_ns),
                       of.correct && !chosen.breaks(question)};
  const auto [low, high] = std::minmax_element(of.wall_ns.begin(), of.wall_ns.end());
  m.minimum_ns = *low;
  m.maximum_ns = *high;
  out.add(m);
}

int measure(const bench::options& chosen, const std::string& folder, double least) {
  bench::require_known(chosen, questions);
  const auto elements = std::max<std::size_t>(1, std::size_t(4096 * chosen.scale));
  comparison of(folder, elements);
  std::vector<samples> taken(questions.size());
  for (int i = -chosen.warmups; i < chosen.repetitions; ++i)
    for (std::size_t q = 0; q < questions.size(); ++q)
      if (chosen.runs(questions[q])) run_once(of, questions[q], i < 0 ? nullptr : &taken[q]);
  bench::report out("checkpoint_files", chosen);
  out.config("mib", of.size_in_mib());
  out.config("folder", folder);
  out.print_heading();
  for (std::size_t q = 0; q < questions.size(); ++q)
    if (chosen.runs(questions[q]))
      add(out, chosen, questions[q], taken[q], std::uint64_t(of.size_in_mib()));
  for (const std::string& way : {std::string("write"), std::string("read")}) {
    if (!chosen.runs(way) || !chosen.runs("dd_" + way)) continue;
    const double ratio = out.metric("dd_" + way + "_min_ns") / out.metric(way + "_min_ns");
    out.metric(way + "_of_dd", ratio);
    fmt::print("{}: {:.0f} % of dd\n", way, 100 * ratio);
    if (least > 0) out.check(way + "_of_dd", ratio >= least);
  }
  out.write(chosen.json);
  return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  bench::options chosen;
  CLI::App app{"Checkpoint files beside dd"};
  bench::add_options(app, chosen);
  std::string folder = std::filesystem::temp_directory_path();
  double least = 0;
  app.add_option("--folder", folder, "Folder of the disk that is measured")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("--least-share-of-dd", least, "Fail below this part of dd's bandwidth")
      ->check(CLI::Range(0.0, 10.0));
  return bench::exit_code_of("checkpoint_files", app, [&] {
    app.parse(argc, argv);
    bench::require_writable(chosen.json);
    return measure(chosen, folder, least);
  });
}
