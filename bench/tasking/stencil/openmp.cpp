// 1-D stencil with OpenMP: `depend` clauses on the points.
#include "tasking/openmp.hpp"
#include "stencil/stencil.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("stencil", bench::openmp_runtime);
  const std::int64_t& steps = line.size("steps", bench::default_stencil_steps, "generations to compute");
  const std::int64_t& points = line.size("points", bench::default_stencil_points, "points of a generation");
  line.parse(argc, argv);

  bench::Stencil field(steps, points);
  return bench::measure_and_finish(line, field.timed([&] {
#pragma omp parallel num_threads(line.workers())
#pragma omp single
    {
      for (std::int64_t step = 1; step <= steps; ++step) {
        for (std::int64_t point = 0; point < points; ++point) {
          auto* const next = &field.cell(step, point);
          const auto* const left = &field.cell(step - 1, point - 1);
          const auto* const middle = &field.cell(step - 1, point);
          const auto* const right = &field.cell(step - 1, point + 1);
#pragma omp task firstprivate(next, left, middle, right) default(none) depend(out : *next) \
    depend(in : *left, *middle, *right)
          bench::Stencil::compute(*next, *left, *middle, *right);
        }
      }
#pragma omp taskwait
    }
  }));
}
