// METG of Task Bench's patterns with OpenMP: `depend` clauses on the cells, as many as a point needs.
#include "tasking/openmp.hpp"

#include <memory>

#include "metg/metg.hpp"
#include "patterns/patterns.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("patterns", bench::openmp_runtime);
  bench::Metg metg(line);
  const std::string& name = line.choice("pattern", bench::Pattern::names, "what a point is made from");
  line.parse(argc, argv);

  const int workers = line.workers();
  return metg.find([&](std::int64_t steps, std::int64_t points, std::int64_t iterations) {
    auto pattern = std::make_shared<bench::Pattern>(name, steps, points);
    return pattern->timed([workers, pattern, iterations] {
      bench::Pattern* const all = pattern.get();
#pragma omp parallel num_threads(workers)
#pragma omp single
      {
        for (std::size_t place = 0; place < all->places(); ++place) {
          [[maybe_unused]] bench::Pattern::Cell* const cells = &all->cell(0);
          const auto sources = all->sources(place);
          const std::size_t* const source = sources.data();
          const int count = static_cast<int>(sources.size());
#pragma omp task firstprivate(all, place, iterations) default(none) shared(cells, source, count) \
    depend(out : cells[place]) depend(iterator(int i = 0 : count), in : cells[source[i]])
          {
            bench::busy_work(iterations);
            all->compute(place);
          }
        }
#pragma omp taskwait
      }
    });
  });
}
