#include "trace/summary.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "trace/timeline.hpp"

namespace dovetail::trace {

namespace {

constexpr double seconds(Time nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

class Totals final : public TimelineVisitor {
 public:
  explicit Totals(const Recording& recording) : recording_(recording), computed_until_(recording.threads.size()) {
    for (const ThreadEvents& thread : recording.threads) since_ = std::max(since_, known_since(recording, thread));
  }

  void slice(const Slice& slice) override {
    if (recording_.threads[slice.thread].kind == ThreadKind::worker)
      slices_.push_back({slice.thread, slice.begin, slice.end});
  }

  void request(const Request& request) override {
    if (!request.completer || request.end < since_ || request.result <= 0) return;
    if (request.transfer == Transfer::read) read_ += static_cast<double>(request.result);
    if (request.transfer == Transfer::write) written_ += static_cast<double>(request.result);
  }

  void in_flight(Time time, std::size_t requests) override {
    if (busy_) io_ += std::max<Time>(0, time - std::max(busy_since_, since_));
    busy_ = requests > 0;
    busy_since_ = time;
  }

  Summary summary() {
    Summary summary;
    summary.total = seconds(recording_.clock.length() - since_);
    summary.io = seconds(io_);
    summary.bytes_read = read_;
    summary.bytes_written = written_;
    summary.lost = recording_.lost;
    std::set<unsigned> workers;
    for (const ThreadEvents& thread : recording_.threads)
      if (thread.kind == ThreadKind::worker && !thread.events.empty()) workers.insert(thread.index);
    summary.workers = static_cast<unsigned>(workers.size());
    if (!workers.empty()) summary.compute = seconds(union_of_slices()) / static_cast<double>(workers.size());
    return summary;
  }

 private:
  struct Interval {
    std::size_t thread;
    Time begin;
    Time end;
  };

  // A slice inside of another must not count twice.
  Time union_of_slices() {
    std::sort(slices_.begin(), slices_.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    Time sum = 0;
    for (const Interval& slice : slices_) {
      Time& until = computed_until_[slice.thread];
      const Time begin = std::max({slice.begin, until, since_});
      sum += std::max<Time>(0, slice.end - begin);
      until = std::max(until, slice.end);
    }
    return sum;
  }

  const Recording& recording_;
  // Where events were lost, the time before the first complete view of all threads is left out of all sums.
  Time since_ = 0;
  std::vector<Interval> slices_;
  std::vector<Time> computed_until_;
  Time io_ = 0;
  bool busy_ = false;
  Time busy_since_ = 0;
  double read_ = 0;
  double written_ = 0;
};

}  // namespace

double Summary::overlap_efficiency() const noexcept {
  const double shorter = std::min(compute, io);
  return shorter > 0 ? (compute + io - total) / shorter : 0;
}

Summary summarize(const Recording& recording) {
  Totals totals(recording);
  replay(recording, totals);
  return totals.summary();
}

Summary summarize() { return summarize(Recorder::instance().copy()); }

}  // namespace dovetail::trace
