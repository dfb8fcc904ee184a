// SPDX-License-Identifier: Apache-2.0
#include "implementations.hpp"

namespace starling::detail {
namespace {

class alone_bootstrap final : public bootstrap {
 public:
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  int local_rank() const noexcept override { return 0; }
  int local_size() const noexcept override { return 1; }
  const char* name() const noexcept override { return "alone"; }

  std::vector<std::string> all_gather(const std::string& mine) override {
    check_gather_size(mine);
    return {mine};
  }

  void abort(int, const std::string&) noexcept override {}
};

}  // namespace

std::unique_ptr<bootstrap> make_alone_bootstrap() { return std::make_unique<alone_bootstrap>(); }

}  // namespace starling::detail
