// METG with OpenMP: `depend` clauses on the points.
#include "tasking/openmp.hpp"

#include <memory>

#include "metg/metg.hpp"
#include "stencil/stencil.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("metg", bench::openmp_runtime);
  bench::Metg metg(line);
  line.parse(argc, argv);

  const int workers = line.workers();
  return metg.find([&](std::int64_t steps, std::int64_t points, std::int64_t iterations) {
    auto stencil = std::make_shared<bench::Stencil>(steps, points);
    return stencil->timed([stencil, steps, points, iterations, workers] {
      bench::Stencil& field = *stencil;
#pragma omp parallel num_threads(workers)
#pragma omp single
      {
        for (std::int64_t step = 1; step <= steps; ++step) {
          for (std::int64_t point = 0; point < points; ++point) {
            auto* const next = &field.cell(step, point);
            const auto* const left = &field.cell(step - 1, point - 1);
            const auto* const middle = &field.cell(step - 1, point);
            const auto* const right = &field.cell(step - 1, point + 1);
#pragma omp task firstprivate(next, left, middle, right, iterations) default(none) depend(out : *next) \
    depend(in : *left, *middle, *right)
            {
              bench::busy_work(iterations);
              bench::Stencil::compute(*next, *left, *middle, *right);
            }
          }
        }
#pragma omp taskwait
      }
    });
  });
}
