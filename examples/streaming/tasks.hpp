/// @file
/// The tasks of a stage: one for each block of each chunk. They are the same in all variants with tasks, which differ in what happens before and
/// after a block is computed.
#pragma once

#include <cstddef>

#include "dovetail/dovetail.hpp"
#include "part.hpp"

namespace streaming {

/// How the runtime is set up. A chunk is begun when the one before the last has been computed. Else the first stage, which
/// receives nothing, would send one block of all chunks first. MPI would store these for the next stage, which cannot use them yet.
inline dovetail::Options options_for(const Part& part, int workers) {
  return {.workers = static_cast<unsigned>(workers), .pending_limit = 2 * static_cast<std::size_t>(part.blocks())};
}

/// `before(chunk, block)` is called in `onready`: what it binds has to come before the block is computed. `after(chunk, block)` is called in the
/// body: what it binds has to end before the same block of the next chunk begins. Returns when all chunks have gone.
template <class Before, class After>
void run_tasks(dovetail::Runtime& runtime, Part& part, const Before& before, const After& after) {
  // With these, what a task is given is small enough to be copied into it without an allocation.
  struct At {
    int chunk;
    int block;
  };
  struct Stage {
    Part& part;
    const Before& before;
    const After& after;
  };
  const Stage stage{part, before, after};
  // A worker spawns, too: a thread beside them would take a core from them.
  runtime
      .spawn([&stage] {
        for (int chunk = 0; chunk < stage.part.chunks(); ++chunk) {
          for (int block = 0; block < stage.part.blocks(); ++block) {
            const At at{chunk, block};
            dovetail::spawn({.label = "block",
                             .access = {dovetail::inout(stage.part.received(block))},
                             .onready = [&stage, at] { stage.before(at.chunk, at.block); }},
                            [&stage, at] {
                              stage.part.compute(at.chunk, at.block);
                              stage.after(at.chunk, at.block);
                            });
          }
        }
        dovetail::wait();
      })
      .get();
}

}  // namespace streaming
