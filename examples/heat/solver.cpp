#include "solver.hpp"

#include <deque>
#include <string>
#include <vector>

#include "failure_report.hpp"
#include "kernel.hpp"

namespace heat {

std::vector<dovetail::Access> update_accesses(const Field& field, const Block& block) {
  const Shape& shape = field.shape();
  std::vector<dovetail::Access> list{dovetail::inout(field.bytes(block))};
  const auto reads = [&](std::size_t row, std::size_t column) {
    list.push_back(dovetail::in(field.bytes(field.block(row, column))));
  };
  if (block.row > 0) {
    reads(block.row - 1, block.column);
  }
  if (block.column > 0) {
    reads(block.row, block.column - 1);
  }
  if (block.column + 1 < shape.block_columns()) {
    reads(block.row, block.column + 1);
  }
  if (block.row + 1 < shape.block_rows()) {
    reads(block.row + 1, block.column);
  }
  return list;
}

void spawn_step(dovetail::Runtime& runtime, Field& field, Meter& meter, Progress& progress) {
  for (const Block& block : field.blocks()) {
    const std::vector<dovetail::Access> list = update_accesses(field, block);
    runtime.spawn({.label = "update", .access = std::span<const dovetail::Access>(list)},
                  [&field, &block, &meter, &progress] {
                    const ComputeScope scope(meter);
                    update_block(field, block);
                    progress.add();
                  });
  }
}

void run_steps(dovetail::Runtime& runtime, const std::function<void(std::uint64_t)>& spawn, CheckpointWriter& writer,
               const Plan& plan) {
  std::deque<dovetail::Future<void>> commits;
  for (std::uint64_t step = plan.first_step + 1; step <= plan.last_step; ++step) {
    spawn(step);
    if (plan.checkpoint_every > 0 && step % plan.checkpoint_every == 0 && step < plan.last_step) {
      commits.push_back(writer.write_checkpoint(step));
    }
    // A failed checkpoint ends the run now and not after the last step: what follows could not be kept either.
    while (!commits.empty() && commits.front().ready()) {
      commits.front().get();
      commits.pop_front();
    }
  }
  commits.push_back(writer.write_final(plan.last_step));
  for (const dovetail::Future<void>& commit : commits) {
    commit.get();
  }
  runtime.wait();
}

void solve(dovetail::Runtime& runtime, Field& field, CheckpointWriter& writer, const Plan& plan, Meter& meter,
           Progress& progress) {
  try {
    run_steps(runtime, [&](std::uint64_t) { spawn_step(runtime, field, meter, progress); }, writer, plan);
  } catch (...) {
    runtime.cancel();
    drain(runtime);
    throw;
  }
}

}  // namespace heat
