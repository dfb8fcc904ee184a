// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <starling/core/runtime.hpp>
#include <starling/device.hpp>

#include "device/support.hpp"

namespace starling {
namespace {

using starling_test::on_host;

/// Returns the text of the device_error that `call` throws.
template <class Call>
std::string refusal_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (const device_error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

class a_memory_name : public testing::Test {
 protected:
  runtime rt{on_host(1)};
  device& owner = devices(rt).device(0);
  std::array<std::byte, 64> memory{};
  memory_name name = owner.export_memory(memory.data()).value();
};

TEST_F(a_memory_name, gives_the_memory_in_its_own_process) {
  EXPECT_EQ(name.process, process_number());
  const device::mapped_memory found = owner.import_memory(name);
  EXPECT_EQ(found.data, memory.data());
  EXPECT_TRUE(found.is_here);
}

TEST_F(a_memory_name, of_another_process_is_refused_unless_the_host_can_map_it) {
  ++name.process;
  EXPECT_EQ(refusal_of([&] { return owner.import_memory(name); }),
            "memory of another process that cannot be mapped");
}

TEST_F(a_memory_name, that_the_backend_cannot_map_is_refused) {
  ++name.process;
  name.reach = memory_reach::host;
  EXPECT_EQ(refusal_of([&] { return owner.import_memory(name); }),
            "this backend maps no memory of other processes");
}

TEST_F(a_memory_name, of_a_device_of_another_backend_is_refused) {
  std::memcpy(name.bus_id.data(), "0000:01:00.0", 12);
  EXPECT_EQ(refusal_of([&] { return owner.import_memory(name); }),
            "memory of another backend's device");
}

TEST_F(a_memory_name, needs_devices_that_neither_refuse_peers_nor_stage) {
  runtime refusing(on_host(1, {{"peer-memory", "refuse"}}));
  EXPECT_EQ(refusal_of([&] { return devices(refusing).device(0).import_memory(name); }),
            "memory of other processes is not mapped: --starling-peer-memory is refuse or stage");
  runtime staging(on_host(1, {{"peer-memory", "stage"}}));
  EXPECT_FALSE(devices(staging).device(0).export_memory(memory.data()).has_value());
}

}  // namespace
}  // namespace starling
