// 1-D stencil with Dovetail: the order is found from the regions that the tasks declare.
#include "stencil/stencil.hpp"
#include "tasking/common.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("stencil", "dovetail");
  const std::int64_t& steps = line.size("steps", bench::default_stencil_steps, "generations to compute");
  const std::int64_t& points = line.size("points", bench::default_stencil_points, "points of a generation");
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  bench::Stencil field(steps, points);
  const auto produce = [&] {
    for (std::int64_t step = 1; step <= steps; ++step) {
      for (std::int64_t point = 0; point < points; ++point) {
        auto& next = field.cell(step, point);
        const auto& left = field.cell(step - 1, point - 1);
        const auto& middle = field.cell(step - 1, point);
        const auto& right = field.cell(step - 1, point + 1);
        dovetail::spawn(
            {.access = {dovetail::out(next), dovetail::in(left), dovetail::in(middle), dovetail::in(right)}},
            [&next, &left, &middle, &right] { bench::Stencil::compute(next, left, middle, right); });
      }
    }
    dovetail::wait();
  };
  return bench::measure_and_finish(line, field.timed([&] { runtime.spawn(produce).get(); }));
}
