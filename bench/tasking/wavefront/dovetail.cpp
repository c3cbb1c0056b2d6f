// Wavefront with Dovetail: the order is found from the regions that the tasks declare.
#include "tasking/common.hpp"
#include "wavefront/wavefront.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("wavefront", "dovetail");
  const std::int64_t& side = line.size("side", bench::default_wavefront_side, "cells along an edge");
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  bench::Wavefront grid(side);
  const auto produce = [&] {
    for (std::int64_t row = 1; row <= side; ++row) {
      for (std::int64_t column = 1; column <= side; ++column) {
        auto& cell = grid.cell(row, column);
        const auto& up = grid.cell(row - 1, column);
        const auto& left = grid.cell(row, column - 1);
        dovetail::spawn({.access = {dovetail::inout(cell), dovetail::in(up), dovetail::in(left)}},
                        [&cell, &up, &left] { bench::Wavefront::compute(cell, up, left); });
      }
    }
    dovetail::wait();
  };
  return bench::measure_and_finish(line, grid.timed([&] { runtime.spawn(produce).get(); }));
}
