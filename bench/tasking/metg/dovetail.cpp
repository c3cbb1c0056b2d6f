// METG with Dovetail.
#include <memory>

#include "metg/metg.hpp"
#include "stencil/stencil.hpp"
#include "tasking/common.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("metg", "dovetail");
  bench::Metg metg(line);
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  return metg.find([&](std::int64_t steps, std::int64_t points, std::int64_t iterations) {
    auto stencil = std::make_shared<bench::Stencil>(steps, points);
    const auto produce = [stencil, steps, points, iterations] {
      bench::Stencil& field = *stencil;
      for (std::int64_t step = 1; step <= steps; ++step) {
        for (std::int64_t point = 0; point < points; ++point) {
          auto& next = field.cell(step, point);
          const auto& left = field.cell(step - 1, point - 1);
          const auto& middle = field.cell(step - 1, point);
          const auto& right = field.cell(step - 1, point + 1);
          dovetail::spawn(
              {.access = {dovetail::out(next), dovetail::in(left), dovetail::in(middle), dovetail::in(right)}},
              [&next, &left, &middle, &right, iterations] {
                bench::busy_work(iterations);
                bench::Stencil::compute(next, left, middle, right);
              });
        }
      }
      dovetail::wait();
    };
    return stencil->timed([&runtime, produce] { runtime.spawn(produce).get(); });
  });
}
