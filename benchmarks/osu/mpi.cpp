// SPDX-License-Identifier: Apache-2.0
//
// Measures messages between two processes with MPI. See README.md.
#include <memory>
#include <stdexcept>

#include <mpi.h>

#include "polled.hpp"
#include "slots.hpp"

namespace {

void check(int status, const char* call) {
  if (status != MPI_SUCCESS) throw std::runtime_error(std::string(call) + " failed");
}

class mpi_link {
 public:
  mpi_link() {
    check(MPI_Init(nullptr, nullptr), "MPI_Init");
    int size = 0;
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &m_rank), "MPI_Comm_rank");
    if (size != 2) throw std::runtime_error("start it with `mpirun -n 2`");
  }
  ~mpi_link() { MPI_Finalize(); }
  mpi_link(const mpi_link&) = delete;
  mpi_link& operator=(const mpi_link&) = delete;

  [[nodiscard]] int rank() const noexcept { return m_rank; }
  void prepare(int slots, std::size_t bytes) {
    m_out.prepare(slots, bytes);
    m_in.prepare(slots, bytes);
  }
  std::span<std::byte> out(int slot) { return m_out[slot]; }
  std::span<const std::byte> in(int slot) { return m_in[slot]; }
  void send(int slot, std::size_t bytes) {
    check(MPI_Send(m_out[slot].data(), int(bytes), MPI_BYTE, 1 - m_rank, 0, MPI_COMM_WORLD),
          "MPI_Send");
  }
  void receive(int slot, std::size_t bytes) {
    check(MPI_Recv(m_in[slot].data(), int(bytes), MPI_BYTE, 1 - m_rank, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE),
          "MPI_Recv");
  }
  void start_send(int slot, std::size_t bytes) {
    check(MPI_Isend(m_out[slot].data(), int(bytes), MPI_BYTE, 1 - m_rank, 0, MPI_COMM_WORLD,
                    &m_started.emplace_back()),
          "MPI_Isend");
  }
  void start_receive(int slot, std::size_t bytes) {
    check(MPI_Irecv(m_in[slot].data(), int(bytes), MPI_BYTE, 1 - m_rank, 0, MPI_COMM_WORLD,
                    &m_started.emplace_back()),
          "MPI_Irecv");
  }
  void wait() {
    check(MPI_Waitall(int(m_started.size()), m_started.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    m_started.clear();
  }
  /// `mpirun` reports how the peer ends.
  bool leave() { return MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS; }

 private:
  int m_rank = 0;
  osu::slots m_out, m_in;
  std::vector<MPI_Request> m_started;
};

}  // namespace

int main(int argc, char** argv) {
  return osu::run<mpi_link>("osu_mpi", "Messages between two processes: MPI", argc, argv);
}
