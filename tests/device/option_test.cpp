// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <starling/core/runtime.hpp>
#include <starling/device.hpp>
#include <starling/device/interop/cuda.hpp>

#include "../../src/device/device_options.hpp"
#include "core/environment.hpp"
#include "device/support.hpp"

namespace starling {
namespace {

using starling_test::on_host;
using starling_test::variable;

TEST(device_options, choose_backend_completion_and_number_of_devices) {
  runtime rt(on_host(2, {{"completion", "event"}, {"devices", "3"}, {"streams", "5"}}));
  device_set& all = devices(rt);
  EXPECT_EQ(all.backend(), backend_kind::host);
  EXPECT_EQ(all.completion(), completion_kind::event);
  EXPECT_EQ(all.count(), 3u);
  EXPECT_EQ(all.device(2).pool().size(), 5u);
  EXPECT_EQ(all.device(2).id(), device_id{2});
  EXPECT_EQ(&all, &devices(rt));
  EXPECT_THROW(static_cast<void>(all.device(3)), usage_error);
  EXPECT_EQ(all.device(0).properties().name, "host");
  EXPECT_GT(all.device(0).properties().memory_bytes, 0u);
  EXPECT_TRUE(all.device(0).enable_peer_access(all.device(1)));
}

TEST(device_options, choose_completion_by_event_on_sycl_and_by_word_elsewhere_unless_set) {
  const auto completion = [](std::map<std::string, std::string> extra) {
    return detail::device_options::read(on_host(2, std::move(extra))).completion;
  };
  EXPECT_EQ(completion({{"backend", "sycl"}}), completion_kind::event);
  EXPECT_EQ(completion({{"backend", "cuda"}}), completion_kind::word);
  EXPECT_EQ(completion({{"backend", "sycl"}, {"completion", "word"}}), completion_kind::word);
}

TEST(device_options, divide_devices_among_ranks) {
  const auto share = [](const std::string& text, int present) {
    return detail::device_options::read(on_host(2, {{"devices", text}})).devices_of_share(present);
  };
  EXPECT_EQ(share("0/2", 4), (std::vector<int>{0, 1}));
  EXPECT_EQ(share("1/2", 4), (std::vector<int>{2, 3}));
  EXPECT_EQ(share("1/3", 4), (std::vector<int>{1}));
  EXPECT_EQ(share("2/3", 4), (std::vector<int>{2, 3}));
  EXPECT_EQ(share("5/8", 4), (std::vector<int>{1}));  // shared with rank 1
  runtime rt(on_host(2, {{"devices", "3/4"}}));
  EXPECT_EQ(devices(rt).count(), 1u);
}

/// Launchers pass each rank its position on the host; the option `devices` has precedence.
TEST(device_options, divide_devices_as_other_launchers_place_ranks) {
  const auto found = [](std::map<std::string, std::string> extra = {}) {
    const auto read = detail::device_options::read(on_host(2, std::move(extra)));
    return read.shares == 0 ? std::vector<int>{0, 1, 2, 3} : read.devices_of_share(4);
  };
  {
    const variable place("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        count("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    EXPECT_EQ(found(), (std::vector<int>{2, 3}));
    EXPECT_EQ(found({{"devices", "0/4"}}), (std::vector<int>{0}));
    EXPECT_EQ(found({{"devices", "all"}}), (std::vector<int>{0, 1, 2, 3}));
  }
  {
    const variable place("SLURM_LOCALID", "3"), count("SLURM_STEP_TASKS_PER_NODE", "4(x2),1");
    EXPECT_EQ(found(), (std::vector<int>{3}));
  }
  {
    const variable place("MPI_LOCALRANKID", "4"), count("MPI_LOCALNRANKS", "4");  // invalid
    EXPECT_EQ(found(), (std::vector<int>{0, 1, 2, 3}));
  }
}

TEST(device_options, that_are_wrong_name_option_value_and_remedy) {
  const std::pair<const char*, const char*> wrong[] = {
      {"backend", "abacus"}, {"completion", "hope"}, {"device-mapping", "random"},
      {"streams", "0"},      {"streams", "many"},    {"devices", "-1"},
      {"devices", "0,0"},    {"devices", "1,x"},     {"devices", "4/4"},
      {"devices", "1/0"},    {"devices", "1/x"},     {"peer-memory", "both"}};
  for (const auto& [option, value] : wrong) {
    runtime rt(on_host(2, {{option, value}}));
    try {
      static_cast<void>(devices(rt));
      ADD_FAILURE() << option << " " << value << " was accepted";
    } catch (const option_error& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find(option), std::string::npos) << text;
      EXPECT_NE(text.find(value), std::string::npos) << text;
    }
  }
}

TEST(device_options, list_the_devices_to_use) {
  runtime rt(on_host(2, {{"devices", "3,1"}}));
  EXPECT_EQ(devices(rt).count(), 2u);
  runtime single(on_host(2, {{"devices", "4,"}}));
  EXPECT_EQ(devices(single).count(), 1u);
  runtime every(on_host(2, {{"devices", "all"}}));
  EXPECT_EQ(devices(every).count(), 1u);
}

std::vector<int> devices_of_workers(const char* mapping, unsigned workers, const char* count) {
  runtime rt(on_host(workers, {{"device-mapping", mapping}, {"devices", count}}));
  std::vector<int> result;
  for (unsigned w = 0; w < workers; ++w)
    result.push_back(devices(rt).on_worker(static_cast<int>(w)).id().value);
  return result;
}

TEST(device_mapping_option, spreads_workers_over_devices) {
  EXPECT_EQ(devices_of_workers("block", 4, "2"), (std::vector{0, 0, 1, 1}));
  EXPECT_EQ(devices_of_workers("block", 5, "2"), (std::vector{0, 0, 0, 1, 1}));
  EXPECT_EQ(devices_of_workers("round_robin", 4, "2"), (std::vector{0, 1, 0, 1}));
  EXPECT_EQ(devices_of_workers("none", 3, "2"), (std::vector{0, 0, 0}));
  EXPECT_EQ(devices_of_workers("closest", 4, "2"), (std::vector{0, 0, 1, 1}))
      << "nothing is known of a host device's place: as block";
}

TEST(device_mapping_option, prefers_devices_on_the_workers_own_node) {
  const std::vector<std::vector<int>> nearby = {{4, 5, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}};
  EXPECT_EQ(detail::map_workers(device_mapping::closest, {0, 1, 4, 5, 6}, nearby),
            (std::vector<std::size_t>{1, 1, 0, 2, 0}));
  EXPECT_EQ(detail::map_workers(device_mapping::closest, {-1, -1, -1}, nearby),
            (std::vector<std::size_t>{0, 1, 2}))
      << "workers that are bound to no core";
}

TEST(device_mapping_option, gives_a_task_the_device_of_its_worker) {
  runtime rt(on_host(2, {{"device-mapping", "round_robin"}, {"devices", "2"}}));
  for (unsigned w = 0; w < 2; ++w) {
    const int id =
        rt.sync_wait(async(rt.on_worker(w), [&rt] { return devices(rt).here().id().value; }));
    EXPECT_EQ(id, static_cast<int>(w));
  }
  EXPECT_EQ(devices(rt).here().id().value, 0) << "outside the runtime";
  EXPECT_THROW(static_cast<void>(devices(rt).on_worker(-1)), usage_error);
}

TEST(cuda_interop, names_the_missing_backend) {
  runtime rt(on_host(2));
  device& d = devices(rt).device(0);
  stream s = d.make_stream();
  EXPECT_THROW(static_cast<void>(cuda::native(s)), error);
  EXPECT_THROW(static_cast<void>(cuda::get_future(d, cuda::native_stream{})), error);
  EXPECT_THROW(static_cast<void>(cuda::get_future(cuda::native_event{})), error);
  EXPECT_THROW(static_cast<void>(s.native<cuda::native_stream>()), usage_error);
}

TEST(cuda_interop, refuses_the_stream_handle_that_differs_between_threads) {
  runtime rt(on_host(2));
  const auto per_thread = reinterpret_cast<cuda::native_stream>(0x2);  // cudaStreamPerThread
  try {
    static_cast<void>(cuda::get_future(devices(rt).device(0), per_thread));
    ADD_FAILURE() << "accepted";
  } catch (const usage_error& e) {
    EXPECT_NE(std::string(e.what()).find("cudaStreamPerThread"), std::string::npos) << e.what();
  }
  EXPECT_THROW(static_cast<void>(cuda::get_future(per_thread)), usage_error);
}

}  // namespace
}  // namespace starling
