// Measures the cost of overlapping regions. `cell_and_all`: a task writes one cell of an array, the next reads the whole array, the next
// writes the next cell, and so on.
#include <numeric>
#include <string>
#include <vector>

#include "tasking/common.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("regions", "dovetail");
  const std::int64_t& cells = line.size("cells", 4000, "cells of the array");
  const std::int64_t& pairs = line.size("pairs", 8000, "pairs of a task that writes and one that reads");
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  std::vector<std::int64_t> array(static_cast<std::size_t>(cells));
  std::int64_t wrong = 0;
  const auto produce = [&] {
    for (std::int64_t i = 0; i < pairs; ++i) {
      std::int64_t& cell = array[static_cast<std::size_t>(i % cells)];
      dovetail::spawn({.access = {dovetail::out(cell)}}, [&cell, i] { cell = i + 1; });
      dovetail::spawn({.access = {dovetail::in(array), dovetail::inout(wrong)}}, [&cell, &wrong, i] {
        if (cell != i + 1) ++wrong;
      });
    }
    dovetail::wait();
  };
  return bench::measure_and_finish(
      line,
      {.operations = pairs,
       .prepare = [&] { wrong = 0; },
       .run = [&] { runtime.spawn(produce).get(); },
       .check =
           [&] { return wrong == 0 ? std::string{} : std::to_string(wrong) + " readers came too early or late"; }});
}
