// SPDX-License-Identifier: Apache-2.0
//
// What do messages between two processes cost with Starling's transport? See README.md.
#include <functional>
#include <memory>

#include <starling/net.hpp>

#include "run.hpp"

namespace {

class pair_bootstrap final : public starling::bootstrap {
 public:
  explicit pair_bootstrap(const osu::pair& both) : m_both(both) {}
  int rank() const noexcept override { return m_both.rank(); }
  int size() const noexcept override { return 2; }
  int local_rank() const noexcept override { return rank(); }
  int local_size() const noexcept override { return 2; }
  const char* name() const noexcept override { return "fork"; }
  std::vector<std::string> all_gather(const std::string& mine) override {
    return m_both.exchange(mine);
  }
  void abort(int exit_code, const std::string&) noexcept override { std::_Exit(exit_code); }

 private:
  const osu::pair& m_both;
};

class starling_link {
 public:
  starling_link(const osu::pair& both, std::size_t) {
    pair_bootstrap ranks(both);
    m_other = 1 - both.rank();
    m_transport = starling::make_transport(ranks, starling::transport_kind::ucx);
    for (unsigned k = 0; k < osu::kinds; ++k) {
      m_receivers[k] = {this, k};
      m_transport->set_handler(k, &take, &m_receivers[k]);
    }
  }

  void send(unsigned k, std::uint64_t number, std::size_t bytes) {
    starling::message m(bytes);
    std::memcpy(m.data(), &number, sizeof number);
    m_transport->send(m_other, k, std::move(m));
  }
  void progress() { static_cast<void>(m_transport->progress()); }
  void finish() { m_transport->finish(); }

  std::function<void(unsigned, std::uint64_t, std::size_t)> on_message;

 private:
  struct receiver {
    starling_link* link;
    unsigned kind;
  };
  static void take(void* context, int, starling::message m) noexcept {
    const auto& r = *static_cast<receiver*>(context);
    std::uint64_t number = 0;
    std::memcpy(&number, m.data(), sizeof number);
    r.link->on_message(r.kind, number, m.size());
  }

  int m_other = 0;
  std::unique_ptr<starling::transport> m_transport;
  receiver m_receivers[osu::kinds];
};

}  // namespace

int main(int argc, char** argv) {
  return osu::run<starling_link>(
      "osu_starling", "Messages between two processes: Starling's transport over UCX", argc, argv);
}
