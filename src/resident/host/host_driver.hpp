// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "resident/driver.hpp"

namespace starling::resident::detail {

/// The reference implementation: each scheduler runs on one host thread or on several. As on a
/// device, they run independently of the workers, which poll the link.
class host_driver final : public driver {
 public:
  /// `make_far`: null if all memory is mapped.
  host_driver(runtime& rt, const program_description& program, const group_shape& shape,
              program_code::host_maker make_far) noexcept
      : m_runtime(&rt), m_program(&program), m_make_far(make_far), m_shape(shape),
        m_group_size(shape.threads * shape.blocks) {}
  ~host_driver() override;

  void allocate(const layout& l, device_range own) override;
  [[nodiscard]] memory_name name_of(std::uint32_t device) override;
  void map(std::uint32_t device, const memory_name& name) override;
  void write(std::uint32_t device, std::uint64_t offset, const void* from,
             std::size_t bytes) override;
  void read(std::uint32_t device, std::uint64_t offset, void* to, std::size_t bytes) const override;
  void start() override;
  void end_own() noexcept override;
  void wake() noexcept override;
  void join() noexcept override;

 private:
  enum class signal : int { wait, go, leave };

  [[nodiscard]] std::unique_ptr<host_scheduler> make(std::uint32_t scheduler) const;
  void give_signal(signal what) noexcept;
  void lead(host_scheduler& mine) noexcept;
  void follow(host_scheduler& mine, int rank) const noexcept;
  void serve(host_scheduler& mine) noexcept;
  [[nodiscard]] bool is_to_go() const noexcept;
  void nap(std::uint32_t idle_rounds) noexcept;

  runtime* m_runtime;
  const program_description* m_program;
  program_code::host_maker m_make_far;
  group_shape m_shape;
  int m_group_size;
  shared_memory m_slabs[max_devices];
  std::vector<std::unique_ptr<host_scheduler>> m_schedulers;
  std::vector<std::thread> m_threads;
  // Leaves `wait` once. Release: threads that see the change see all schedulers.
  std::atomic<signal> m_signal{signal::wait};
  // Grows with each message of the host. Release: a thread that sees it sees the message.
  std::atomic<std::uint32_t> m_wakes{0};
};

}  // namespace starling::resident::detail
