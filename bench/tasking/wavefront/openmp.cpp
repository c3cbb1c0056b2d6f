// Wavefront with OpenMP: `depend` clauses on the cells.
#include "tasking/openmp.hpp"
#include "wavefront/wavefront.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("wavefront", bench::openmp_runtime);
  const std::int64_t& side = line.size("side", bench::default_wavefront_side, "cells along an edge");
  line.parse(argc, argv);

  bench::Wavefront grid(side);
  return bench::measure_and_finish(line, grid.timed([&] {
#pragma omp parallel num_threads(line.workers())
#pragma omp single
    {
      for (std::int64_t row = 1; row <= side; ++row) {
        for (std::int64_t column = 1; column <= side; ++column) {
          auto* const cell = &grid.cell(row, column);
          const auto* const up = &grid.cell(row - 1, column);
          const auto* const left = &grid.cell(row, column - 1);
#pragma omp task firstprivate(cell, up, left) default(none) depend(inout : *cell) depend(in : *up, *left)
          bench::Wavefront::compute(*cell, *up, *left);
        }
      }
#pragma omp taskwait
    }
  }));
}
