#include "place.hpp"

#include <string>

namespace streaming {

Place place_of(const Options& options, int rank, int ranks) {
  if (ranks < 2) {
    throw BadInput("a chain has 2 ranks at least: start it by `mpiexec -n 2` or more");
  }
  const int stages = options.stages == 0 ? ranks : options.stages;
  if (ranks % stages != 0) {
    throw BadInput("--stages is " + std::to_string(stages) + ": " + std::to_string(ranks) +
                   " ranks cannot be shared out evenly among so many");
  }
  const int lanes = ranks / stages;
  if (options.blocks < lanes) {
    throw BadInput("--blocks is " + std::to_string(options.blocks) + ": each of the " + std::to_string(lanes) +
                   " ranks of a stage needs a block");
  }
  Place place{.rank = rank, .stages = stages, .stage = rank / lanes};
  const int lane = rank % lanes;
  place.upstream = place.stage == 0 ? Place::none : rank - lanes;
  place.downstream = place.stage + 1 == stages ? Place::none : rank + lanes;
  place.first_block = options.blocks * lane / lanes;
  place.end_block = options.blocks * (lane + 1) / lanes;
  return place;
}

}  // namespace streaming
