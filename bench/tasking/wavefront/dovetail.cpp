// Wavefront with Dovetail: the order is found from the regions that the tasks declare.
#include <string>

#include "tasking/common.hpp"
#include "wavefront/wavefront.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("wavefront", "dovetail");
  const std::int64_t& side = line.size("side", bench::default_wavefront_side, "cells along an edge");
  const std::string& producer = line.choice("producer", {"task", "thread"}, "who spawns");
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  bench::Wavefront grid(side);
  // `spawn` makes a task of the runtime, or a child of the task that calls it.
  const auto produce = [&](const auto& spawn) {
    for (std::int64_t row = 1; row <= side; ++row) {
      for (std::int64_t column = 1; column <= side; ++column) {
        auto& cell = grid.cell(row, column);
        const auto& up = grid.cell(row - 1, column);
        const auto& left = grid.cell(row, column - 1);
        spawn({.access = {dovetail::inout(cell), dovetail::in(up), dovetail::in(left)}},
              [&cell, &up, &left] { bench::Wavefront::compute(cell, up, left); });
      }
    }
  };
  const auto from_task = [&] {
    runtime
        .spawn([&] {
          produce([](const dovetail::TaskDescription& task, auto body) { dovetail::spawn(task, body); });
          dovetail::wait();
        })
        .get();
  };
  const auto from_thread = [&] {
    produce([&](const dovetail::TaskDescription& task, auto body) { runtime.spawn(task, body); });
    runtime.wait();
  };
  std::function<void()> run = from_task;
  if (producer == "thread") run = from_thread;
  return bench::measure_and_finish(line, grid.timed(run));
}
