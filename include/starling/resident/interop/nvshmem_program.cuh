// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <nvshmem.h>
#include <nvshmemx.h>

#include <starling/core/error.hpp>
#include <starling/device/types.hpp>
#include <starling/resident/detail/far_group.hpp>
#include <starling/resident/detail/far_memory.hpp>
#include <starling/resident/interop/cuda_program.cuh>

/// The CUDA code of resident programs whose devices do not map each other's memory, for .cu files
/// compiled with --expt-relaxed-constexpr as relocatable device code and linked with NVSHMEM (3.4
/// or later; no other part of Starling needs it):
///
///     #include <starling/resident/interop/nvshmem_program.cuh>
///     #include "my_chares.hpp"
///     template struct starling::resident::nvshmem::instantiate<my_program>;
namespace starling::resident::nvshmem {

/// The `Way` of `detail::far_group` by NVSHMEM. Each operation is called by one thread.
class way {
 public:
  template <class T>
  [[nodiscard]] __device__ static detail::far_address own(T* p) noexcept {
    return {static_cast<std::uint32_t>(nvshmem_my_pe()), reinterpret_cast<std::uint64_t>(p)};
  }
  __device__ static void put(const detail::far_address& to, const std::byte* from,
                             std::uint32_t bytes) noexcept {
    nvshmem_putmem(at<void>(to), from, bytes, pe(to));
  }
  __device__ static void get(std::byte* to, const detail::far_address& from,
                             std::uint64_t bytes) noexcept {
    nvshmem_getmem(to, at<void>(from), bytes, pe(from));
  }
  __device__ static void fence() noexcept { nvshmem_fence(); }
  __device__ static void quiet() noexcept { nvshmem_quiet(); }
  /// Reads the word by NVSHMEM's test operation, because the network card may be needed for the
  /// order of the data.
  __device__ static void see(const std::uint64_t* word) noexcept {
    static_cast<void>(
        nvshmem_uint64_test(const_cast<std::uint64_t*>(word), NVSHMEM_CMP_NE, ~std::uint64_t{0}));
  }
  __device__ static void see(const std::uint32_t* word) noexcept {
    static_cast<void>(
        nvshmem_uint32_test(const_cast<std::uint32_t*>(word), NVSHMEM_CMP_NE, ~std::uint32_t{0}));
  }
  __device__ static void store(const detail::far_address& to, std::uint32_t value) noexcept {
    nvshmem_uint32_atomic_set(at<std::uint32_t>(to), value, pe(to));
  }
  __device__ static void store(const detail::far_address& to, std::uint64_t value) noexcept {
    nvshmem_uint64_atomic_set(at<std::uint64_t>(to), value, pe(to));
  }
  __device__ static void set_bits(const detail::far_address& mask, std::uint64_t bits) noexcept {
    nvshmem_uint64_atomic_or(at<std::uint64_t>(mask), bits, pe(mask));
  }
  __device__ static std::uint64_t clear_bits(const detail::far_address& mask,
                                             std::uint64_t bits) noexcept {
    const std::uint64_t before =
        nvshmem_uint64_atomic_fetch_and(at<std::uint64_t>(mask), ~bits, pe(mask));
    cuda::device_memory::acquire_data();
    return before;
  }
  [[nodiscard]] __device__ static bool set_once(const detail::far_address& flag) noexcept {
    return nvshmem_uint32_atomic_compare_swap(at<std::uint32_t>(flag), 0, 1, pe(flag)) == 0;
  }

 private:
  template <class T>
  [[nodiscard]] __device__ static T* at(const detail::far_address& p) noexcept {
    return reinterpret_cast<T*>(p.address);
  }
  [[nodiscard]] __device__ static int pe(const detail::far_address& p) noexcept {
    return static_cast<int>(p.owner);
  }
};

using block_group = detail::far_group<cuda::block_group, way>;

/// NVSHMEM's symmetric memory, with each process as one PE. NVSHMEM is initialised by the first
/// program and ends with the process. Where its initialisation fails, NVSHMEM may print the reason
/// and exit the process itself.
class symmetric_memory final : public detail::far_memory {
 public:
  static symmetric_memory& get() {
    static symmetric_memory one;
    return one;
  }

 protected:
  void check(const std::string& device) override { static_cast<void>(ordinal_of(device)); }
  [[nodiscard]] std::vector<std::byte> make_key(std::uint64_t bytes) override {
    set_environment(bytes);
    nvshmemx_uniqueid_t made = NVSHMEMX_UNIQUEID_INITIALIZER;
    require(nvshmemx_get_uniqueid(&made), "nvshmemx_get_uniqueid");
    std::vector<std::byte> key(sizeof made);
    std::memcpy(key.data(), &made, sizeof made);
    return key;
  }
  [[nodiscard]] std::span<std::byte> begin(const detail::far_meeting& all, std::uint32_t position,
                                           const std::string& device) override {
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (all.key.size() != sizeof id)
      throw backend_unavailable("another rank has another version of NVSHMEM");
    std::memcpy(&id, all.key.data(), sizeof id);
    set_environment(all.bytes);
    require(cudaSetDevice(ordinal_of(device)), "cudaSetDevice");
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    require(
        nvshmemx_set_attr_uniqueid_args(static_cast<int>(position),
                                        static_cast<int>(all.processes.size()), &id, &attributes),
        "nvshmemx_set_attr_uniqueid_args");
    require(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes), "nvshmemx_init_attr");
    void* const memory = nvshmem_align(detail::line_bytes, all.bytes);
    if (memory == nullptr)
      throw out_of_memory("nvshmem_align has not " + std::to_string(all.bytes) +
                          " bytes: raise NVSHMEM_SYMMETRIC_SIZE or lower `symmetric_bytes`");
    return {static_cast<std::byte*>(memory), all.bytes};
  }

 private:
  [[nodiscard]] static int ordinal_of(const std::string& device) {
    int ordinal = 0;
    require(cudaDeviceGetByPCIBusId(&ordinal, device.c_str()), "cudaDeviceGetByPCIBusId");
    return ordinal;
  }
  /// Sets defaults for NVSHMEM, which reads the environment once, at its first call; variables that
  /// the user has set have priority. The ranks of a program are on one host; multicast is not used.
  static void set_environment(std::uint64_t bytes) {
    ::setenv("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo", 0);
    ::setenv("NVSHMEM_DISABLE_NVLS", "1", 0);
    constexpr std::uint64_t for_itself = std::uint64_t{64} << 20;
    ::setenv("NVSHMEM_SYMMETRIC_SIZE", std::to_string(bytes + for_itself).c_str(), 0);
  }
  static void require(int status, const char* call) {
    if (status == 0) return;
    throw backend_unavailable(std::string("NVSHMEM could not be begun: ") + call + " failed with " +
                              std::to_string(status) + ". NVSHMEM_DEBUG=INFO says more");
  }
};

/// `template struct starling::resident::nvshmem::instantiate<Program>;` in a .cu file compiles a
/// program for `reach::nvshmem`.
template <class Program>
struct instantiate {
  static const bool entered;
};
template <class Program>
const bool instantiate<Program>::entered = [] {
  detail::code_of<Program>.launch_far.store(&cuda::launch<Program, block_group>,
                                            std::memory_order_relaxed);
  detail::far_memory::of_process.store(&symmetric_memory::get(), std::memory_order_relaxed);
  return starling::detail::enter_cuda_code<cuda::run_schedulers<Program, block_group>>();
}();

}  // namespace starling::resident::nvshmem
