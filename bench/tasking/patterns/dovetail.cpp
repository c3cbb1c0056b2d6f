// METG of Task Bench's patterns with Dovetail.
#include <memory>

#include "metg/metg.hpp"
#include "patterns/patterns.hpp"
#include "tasking/common.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("patterns", "dovetail");
  bench::Metg metg(line);
  const std::string& name = line.choice("pattern", bench::Pattern::names, "what a point is made from");
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  return metg.find([&](std::int64_t steps, std::int64_t points, std::int64_t iterations) {
    auto pattern = std::make_shared<bench::Pattern>(name, steps, points);
    return pattern->timed([&runtime, pattern, iterations] {
      const auto produce = [&] {
        std::vector<dovetail::Access> accesses;
        for (std::size_t place = 0; place < pattern->places(); ++place) {
          accesses.clear();
          accesses.push_back(dovetail::out(pattern->cell(place)));
          for (const std::size_t source : pattern->sources(place))
            accesses.push_back(dovetail::in(pattern->cell(source)));
          dovetail::spawn({.access = std::span<const dovetail::Access>(accesses)},
                          [&pattern = *pattern, place, iterations] {
                            bench::busy_work(iterations);
                            pattern.compute(place);
                          });
        }
        dovetail::wait();
      };
      runtime.spawn(produce).get();
    });
  });
}
