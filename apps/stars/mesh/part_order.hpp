// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which work on the sub-grids of a part must be over before other work begins.
#pragma once

#include <vector>

#include "mesh/part_plan.hpp"

namespace stars {

/// What fills the slots of a part, in one numbering of *fills*: own leaves (by slot), restrictions,
/// prolongations (both in the order of the part's tables), and what each halo receives.
///
/// A state has several copies, which are written in turn. Before a leaf's cells are overwritten,
/// all work that reads them must be over: that of the leaf's *readers*. They are leaves that read
/// these cells themselves, or slots that are restricted or prolonged from them.
class part_order {
 public:
  explicit part_order(const part_plan& plan);

  [[nodiscard]] int leaf(int slot) const { return slot; }
  [[nodiscard]] int restriction(int k) const { return m_leaves + k; }
  [[nodiscard]] int prolongation(int k) const { return m_leaves + m_restrictions + k; }
  [[nodiscard]] int received(int halo) const {
    return m_leaves + m_restrictions + m_prolongations + halo;
  }
  [[nodiscard]] int size() const { return int(m_reads.size()); }

  /// Returns the fills that leaf or prolongation `fill` reads, without the leaf itself.
  [[nodiscard]] const std::vector<int>& reads(int fill) const { return m_reads[std::size_t(fill)]; }
  /// Returns the own leaves that read a fill, also by way of restrictions and prolongations.
  [[nodiscard]] const std::vector<int>& readers(int fill) const {
    return m_readers[std::size_t(fill)];
  }
  /// Returns the leaves and restrictions whose cells a halo sends.
  [[nodiscard]] const std::vector<int>& sent(int halo) const { return m_sent[std::size_t(halo)]; }
  /// Returns the halos that send cells of a leaf, or of octants that are restricted from it.
  [[nodiscard]] const std::vector<int>& halos_of(int leaf) const {
    return m_halos_of[std::size_t(leaf)];
  }
  /// `fluxes_sent` returns the leaves that have mean fluxes in the message of a halo;
  /// `flux_halos_of`, the halos that have mean fluxes of a leaf in their messages.
  [[nodiscard]] const std::vector<int>& fluxes_sent(int halo) const {
    return m_fluxes_sent[std::size_t(halo)];
  }
  [[nodiscard]] const std::vector<int>& flux_halos_of(int leaf) const {
    return m_flux_halos_of[std::size_t(leaf)];
  }

 private:
  void find_sources(const part_plan& plan);
  void find_reads(const part_plan& plan);
  void find_readers(const part_plan& plan);
  void find_sent(const part_plan& plan);
  void find_fluxes_sent(const part_plan& plan);
  void read(int fill, int slot);

  int m_leaves, m_restrictions, m_prolongations;
  std::vector<std::vector<int>> m_fills;  // by slot
  std::vector<std::vector<int>> m_reads, m_readers, m_sent, m_halos_of;
  std::vector<std::vector<int>> m_fluxes_sent, m_flux_halos_of;
};

}  // namespace stars
