// SPDX-License-Identifier: Apache-2.0
#include "implementations.hpp"

namespace starling::detail {
namespace {

class lent_bootstrap final : public bootstrap {
 public:
  explicit lent_bootstrap(bootstrap& from) : m_from(from) {}

  int rank() const noexcept override { return m_from.rank(); }
  int size() const noexcept override { return m_from.size(); }
  int local_rank() const noexcept override { return m_from.local_rank(); }
  int local_size() const noexcept override { return m_from.local_size(); }
  const char* name() const noexcept override { return m_from.name(); }

  std::vector<std::string> all_gather(const std::string& mine) override {
    return m_from.all_gather(mine);
  }

  void abort(int exit_code, const std::string& why) noexcept override {
    m_from.abort(exit_code, why);
  }

 private:
  bootstrap& m_from;
};

}  // namespace

std::unique_ptr<bootstrap> lend(bootstrap& of_process) {
  return std::make_unique<lent_bootstrap>(of_process);
}

}  // namespace starling::detail
