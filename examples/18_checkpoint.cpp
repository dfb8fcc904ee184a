// SPDX-License-Identifier: Apache-2.0
// Checkpoints: a run that is cut short leaves its state on disk; a second run, on more workers,
// continues from there and has the result of a run without interruption.
//
//     example_18_checkpoint FOLDER                              first run, to step 6
//     example_18_checkpoint FOLDER --starling-restart latest    from step 5 on, to the end
//
// Without a folder it does both.
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include <unistd.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

using namespace starling;

struct walker : chare<walker> {
  explicit walker(double place) : m_place(place) {}
  explicit walker(migrated) {}  // a restart makes elements by this constructor and serialize
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_place);
  }
  void step(int number, callback<double> to) {
    m_place += 0.25 * number * (this_index() + 1);
    contribute(m_place, reduction::sum(), std::move(to));
  }

 private:
  double m_place = 0;
};

/// Walks to step `last`; takes a checkpoint at step 5. Returns the sum of all places.
task<double> walk(runtime& rt, std::string folder, int last) {
  checkpoints saved = co_await checkpoints::open(rt, folder);
  int step = 0;
  double sum = 0;
  saved.add_value("step", step);  // a restart sets it
  const auto all = saved.create_array<walker>("walkers", 20, placement::block, 0.5);
  co_await saved.load();  // a restart makes the elements
  std::printf("%s at step %d on %zu workers\n", saved.is_restart() ? "continue" : "begin", step,
              total_worker_count(rt));
  while (step < last) {
    auto [to, total] = make_reply<double>();
    all.invoke<&walker::step>(++step, to);
    sum = co_await std::move(total);
    if (step == 5) {
      auto written = co_await saved.take(std::uint64_t(step));
      std::printf("checkpoint %llu is on disk\n",
                  static_cast<unsigned long long>(co_await std::move(written)));
    }
  }
  co_return sum;
}

task<int> lead(runtime& rt, std::string folder, int last, double& sum) {
  sum = co_await walk(rt, folder, last);
  co_return 0;
}

/// Runs to step `last` and stores the result.
int run_to(runtime_options options, unsigned workers, const char* restart,
           const std::string& folder, int last, double& sum) {
  if (workers != 0) options.workers = workers;
  if (restart != nullptr) options.extra["restart"] = restart;
  runtime rt(options);
  return run(rt, lead(rt, folder, last, sum));
}

int main(int argc, char** argv) {
  const auto options = runtime_options::parse(argc, argv);
  double sum = 0;
  if (argc > 1) {
    const bool is_first = options.get("restart", "none") == "none";
    const int status = run_to(options, 0, nullptr, argv[1], is_first ? 6 : 10, sum);
    std::printf("sum %.17g\n", sum);
    return status;
  }
  const std::string folder = std::filesystem::temp_directory_path() /
                             ("starling-example-18-" + std::to_string(::getpid()));
  double whole = 0;
  int status = run_to(options, 2, "none", folder + "/whole", 10, whole);
  status += run_to(options, 2, "none", folder + "/cut", 6, sum);
  status += run_to(options, 3, "latest", folder + "/cut", 10, sum);
  std::filesystem::remove_all(folder);
  std::printf("sum %.17g, without interruption %.17g\n", sum, whole);
  return status == 0 && sum == whole ? 0 : 1;
}
