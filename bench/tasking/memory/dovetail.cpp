// Resident memory of a task that cannot start yet, and of one that is paused, from /proc/self/status.
// The kernel counts whole pages and the runtime takes memory in chunks: the counts are large so that neither shows.
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "harness/counter.hpp"
#include "tasking/common.hpp"

namespace {

using dovetail::in;
using dovetail::inout;
using dovetail::out;
using dovetail::this_task::handle;
using dovetail::this_task::suspend;

/// A paused task that holds regions, so that everything spawned after it on one of them stays pending.
class Blocker {
 public:
  explicit Blocker(dovetail::Runtime& runtime) {
    runtime.spawn(
        {.label = "blocker", .access = {out(cells[0]), out(cells[1]), out(cells[2]), out(cells[3]), out(cells[4])}},
        [this] {
          handle_ = handle();
          held_.store(true, std::memory_order_release);
          held_.notify_one();
          suspend();
        });
    held_.wait(false, std::memory_order_acquire);
  }
  void let_go() const { handle_.resume(); }

  std::array<std::uint64_t, 5> cells{};

 private:
  dovetail::TaskHandle handle_;
  std::atomic<bool> held_{false};
};

/// Spawns `count` pending tasks by calling `spawn_one(index)` and gives the bytes that one of them added.
template <class SpawnOne>
double bytes_each(std::int64_t count, SpawnOne spawn_one) {
  const std::int64_t before = bench::memory_now().resident;
  for (std::int64_t index = 0; index < count; ++index) spawn_one(index);
  return static_cast<double>(bench::memory_now().resident - before) / static_cast<double>(count);
}

void measure_pending(dovetail::Runtime& runtime, std::int64_t count, bench::Report& report) {
  Blocker blocker(runtime);
  bench::Counter ran;
  const auto body = [&ran] { ran.add(); };
  // Touched beforehand: these are the program's pages, not the runtime's.
  std::vector<std::array<std::uint64_t, 4>> own(static_cast<std::size_t>(count), {1, 1, 1, 1});

  const auto& cells = blocker.cells;
  const double one = bytes_each(count, [&](std::int64_t) { runtime.spawn({.access = {in(cells[0])}}, body); });
  const double five = bytes_each(count, [&](std::int64_t) {
    runtime.spawn({.access = {in(cells[0]), in(cells[1]), in(cells[2]), in(cells[3]), in(cells[4])}}, body);
  });
  const double five_own = bytes_each(count, [&](std::int64_t index) {
    const auto& mine = own[static_cast<std::size_t>(index)];
    runtime.spawn({.access = {in(cells[0]), inout(mine[0]), inout(mine[1]), inout(mine[2]), inout(mine[3])}}, body);
  });
  blocker.let_go();
  runtime.wait();
  if (ran.total() != 3 * count) report.wrong(std::to_string(ran.total()) + " pending tasks ran in the end");
  const double access = (five - one) / 4;
  report.add("pending_bytes", one - access);
  report.add("pending_bytes_one_access", one);
  report.add("bytes_per_access", access);
  report.add("bytes_per_access_of_own", (five_own - one) / 4);
}

/// Pauses `count` tasks at once and gives the memory of the process at that moment.
bench::Memory pause_all(dovetail::Runtime& runtime, std::int64_t count) {
  std::vector<dovetail::TaskHandle> handles(static_cast<std::size_t>(count));
  std::atomic<std::int64_t> paused{0};
  for (std::int64_t index = 0; index < count; ++index) {
    runtime.spawn([&handles, &paused, index] {
      handles[static_cast<std::size_t>(index)] = handle();
      paused.fetch_add(1, std::memory_order_release);
      paused.notify_one();
      suspend();
    });
  }
  std::int64_t seen = 0;
  while ((seen = paused.load(std::memory_order_acquire)) < count) paused.wait(seen, std::memory_order_acquire);
  const bench::Memory during = bench::memory_now();
  for (const auto& each : handles) each.resume();
  runtime.wait();
  return during;
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("memory", "dovetail");
  const std::int64_t& pending = line.size("pending", 200'000, "pending tasks of each kind");
  const std::int64_t& paused = line.size("paused", 10'000, "tasks paused at once");
  const std::string& state = line.choice("state", {"pending", "paused"}, "which tasks are weighed");
  line.parse(argc, argv);

  bench::Report report(line);
  auto options = bench::runtime_options(line);
  // The producer must not be throttled here: nothing can run until all tasks are there.
  options.pending_limit = static_cast<std::size_t>(3 * pending + paused) + 1000;
  options.stuck_after = {};
  dovetail::Runtime runtime(options);
  if (state == "pending") {
    measure_pending(runtime, pending, report);
  } else {
    const bench::Memory before = bench::memory_now();
    const bench::Memory first = pause_all(runtime, paused);
    // A pool may give memory back in between: what counts is whether the second time needs more than the first.
    const bench::Memory second = pause_all(runtime, paused);
    const auto each = [paused](std::int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(paused); };
    report.add("paused_bytes", each(first.resident - before.resident));
    report.add("paused_mapped_bytes", each(first.mapped - before.mapped));
    report.add("paused_again_bytes", each(second.resident - first.resident));
    report.add("stack_bytes", static_cast<double>(runtime.options().stack_size));
  }
  return report.finish();
}
