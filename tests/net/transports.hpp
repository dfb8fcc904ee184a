// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "ranks.hpp"

namespace starling_test {

using starling::make_transport;
using starling::transfer;
using starling::transport;
using starling::transport_kind;

struct setting {
  transport_kind kind;
  int ranks;
};

inline std::ostream& operator<<(std::ostream& out, const setting& s) {
  return out << (s.kind == transport_kind::ucx ? "ucx_" : "loopback_") << s.ranks << "_ranks";
}
inline std::string name_of(const testing::TestParamInfo<setting>& i) {
  return testing::PrintToString(i.param);
}

class with_ranks : public testing::TestWithParam<setting> {
 protected:
  void SetUp() override {
    if (GetParam().kind != transport_kind::ucx) return;
    try {
      thread_group group(1);
      thread_bootstrap alone(group, 0, 1);
      static_cast<void>(make_transport(alone, transport_kind::ucx));
    } catch (const starling::backend_unavailable& e) {
      GTEST_SKIP() << e.what();
    }
  }
  void run(const std::function<void(transport&)>& body, const transport::options& o = {}) const {
    run_ranks(GetParam().kind, GetParam().ranks, body, o);
  }
};

inline const auto all_settings =
    testing::Values(setting{transport_kind::loopback, 1}, setting{transport_kind::loopback, 2},
                    setting{transport_kind::loopback, 4}, setting{transport_kind::ucx, 1},
                    setting{transport_kind::ucx, 2}, setting{transport_kind::ucx, 4});

struct counted_transfer : transfer {
  static void count(transfer& t, std::exception_ptr error) noexcept {
    auto& self = static_cast<counted_transfer&>(t);
    self.error = std::move(error);
    self.is_over.store(true);
  }
  counted_transfer(int to, std::uint64_t with_tag, std::vector<double>& memory) {
    peer = to;
    tag = with_tag;
    data = memory.data();
    bytes = memory.size() * sizeof(double);
    done = &count;
  }
  std::exception_ptr error;
  std::atomic<bool> is_over{false};
};

}  // namespace starling_test
