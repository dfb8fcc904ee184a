// SPDX-License-Identifier: Apache-2.0
/// \file
/// The memory of a resident simulation on its device.
#pragma once

#include <cstddef>

#include <starling/device.hpp>

#include "common/upload.hpp"
#include "hydro/time_step.hpp"
#include "mesh/part_plan.hpp"
#include "placement/launch.hpp"
#include "placement/simulation.hpp"

namespace stars {

using device_array = starling::buffer<double>;

/// Sizes of the work arrays of one sub-grid, in doubles.
struct work_sizes {
  int jump, points;

  work_sizes(kernel_cut cut, quadrature_kind quadrature)
      : jump(cut == kernel_cut::plain ? jump_block : 0),
        points(cut == kernel_cut::plain ||
                       (cut == kernel_cut::fused && quadrature != quadrature_kind::centre)
                   ? point_block
                   : 0) {}
  [[nodiscard]] int total() const {
    return ghosted.block + pressure_block + jump + points + flux_block + compact.block;
  }
};

/// A stream and the work arrays of one batch of sub-grids.
struct lane {
  lane(starling::device& where, int batch, const work_sizes& sizes) : stream(where.make_stream()) {
    const auto allocate = [&](int block) {
      return where.allocate<double>(starling::memory_kind::device, size(batch, block));
    };
    u = allocate(ghosted.block);
    pressure = allocate(pressure_block);
    jump = allocate(sizes.jump);
    points = allocate(sizes.points);
    fluxes = allocate(flux_block);
    rate = allocate(compact.block);
  }

  static std::size_t size(int batch, int block) { return std::size_t(batch) * std::size_t(block); }

  starling::stream stream;
  device_array u, pressure, jump, points, fluxes, rate;
};

/// Finds maxima of arrays, one after the other.
class max_finder {
 public:
  explicit max_finder(starling::device& where)
      : m_partial(where.allocate<double>(starling::memory_kind::device,
                                         on_processor(where) ? 1024 : 32768)) {}

  /// Submits the search: `*most` is the largest of `size` values.
  void find(starling::stream& at, const double* values, index_type size, double* most) {
    const auto width = int(m_partial.size());
    submit(at, reduce_max{values, m_partial.data(), size, width});
    submit(at, group_max{m_partial.data(), most, width});
  }

 private:
  device_array m_partial;
};

/// The tables of a part, for kernels. Uploaded in the order of a stream.
struct device_tables {
  device_tables(starling::device& where, starling::stream& at, const part_plan& plan)
      : frames(apps::upload(where, at, plan.frames)),
        sources(apps::upload(where, at, plan.sources)),
        restrictions(apps::upload(where, at, plan.restrictions)),
        prolongations(apps::upload(where, at, plan.prolongations)),
        fine_faces(apps::upload(where, at, plan.fine_faces)),
        coarse_faces(apps::upload(where, at, plan.coarse_faces)) {}

  starling::buffer<subgrid_frame> frames;
  starling::buffer<ghost_source> sources;
  starling::buffer<level_link> restrictions, prolongations;
  starling::buffer<fine_face> fine_faces;
  starling::buffer<coarse_face> coarse_faces;
};

}  // namespace stars
