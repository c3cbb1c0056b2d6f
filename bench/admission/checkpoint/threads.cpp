// Without a runtime: compute threads that write their checkpoints themselves, or pass them to a number of writers.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "checkpoint/checkpoint.hpp"

namespace {

/// Checkpoints that are to be written.
class Queue {
 public:
  void push(std::int64_t task) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(task);
    changed_.notify_one();
  }
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  bool pop(std::int64_t& task) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return false;
    }
    task = tasks_.front();
    tasks_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::int64_t> tasks_;
  bool closed_ = false;
};

}  // namespace

int main(int count, char** arguments) {
  bench::CommandLine line("checkpoint", "threads");
  const bench::checkpoint::Sizes sizes(line);
  const std::string& way = line.choice("way", {"inline", "writers"}, "who writes: whoever computed, or writers");
  const std::int64_t& writers = line.size("writers", 4, "writers");
  line.parse(count, arguments);
  bench::Report report(line);
  const bench::checkpoint::CongestedDevice device(sizes);
  bench::checkpoint::Checkpoint problem(line, sizes, device);
  problem.measure(report, [&] {
    Queue queue;
    std::atomic<std::int64_t> next{0};
    std::vector<std::thread> computing;
    std::vector<std::thread> writing;
    for (std::int64_t i = 0; way == "writers" && i < writers; ++i) {
      writing.emplace_back([&] {
        for (std::int64_t task = 0; queue.pop(task);) {
          problem.write(task);
        }
      });
    }
    for (int i = 0; i < line.workers(); ++i) {
      computing.emplace_back([&] {
        for (std::int64_t task = next++; task < problem.tasks(); task = next++) {
          problem.compute();
          way == "inline" ? problem.write(task) : queue.push(task);
        }
      });
    }
    for (std::thread& thread : computing) {
      thread.join();
    }
    queue.close();
    for (std::thread& thread : writing) {
      thread.join();
    }
  });
  return report.finish();
}
