#include "trace/summary.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "trace/computing.hpp"
#include "trace/timeline.hpp"

namespace dovetail::trace {

namespace {

constexpr double nanosecond = 1e-9;

class Totals final : public TimelineVisitor {
 public:
  explicit Totals(const Recording& recording) : recording_(recording) {
    for (const ThreadEvents& thread : recording.threads) since_ = std::max(since_, known_since(recording, thread));
  }

  void slice(const Slice& slice) override {
    const ThreadKind kind = recording_.threads[slice.thread].kind;
    if (kind == ThreadKind::worker) slices_.push_back(slice);
    if (kind == ThreadKind::executor) io_.push_back({slice.begin, slice.end});
  }

  void request(const RequestSpan& request) override {
    if (!request.completer || request.end < since_ || request.result <= 0) return;
    if (request.transfer == Transfer::read) read_ += static_cast<double>(request.result);
    if (request.transfer == Transfer::write) written_ += static_cast<double>(request.result);
  }

  void in_flight(Time time, std::size_t requests) override {
    if (busy_) io_.push_back({busy_since_, time});
    busy_ = requests > 0;
    busy_since_ = time;
  }

  void messages_outstanding(Time time, std::size_t messages) override {
    if (waited_for_) messages_.push_back({outstanding_since_, time});
    waited_for_ = messages > 0;
    outstanding_since_ = time;
  }

  Summary summary() {
    Summary summary;
    summary.total = static_cast<double>(recording_.clock.length() - since_) * nanosecond;
    summary.bytes_read = read_;
    summary.bytes_written = written_;
    summary.lost = recording_.lost;
    std::set<unsigned> workers;
    for (const ThreadEvents& thread : recording_.threads)
      if (thread.kind == ThreadKind::worker && !thread.events.empty()) workers.insert(thread.index);
    summary.workers = static_cast<unsigned>(workers.size());
    const std::vector<Stretch> stretches = stretches_of(std::move(slices_));
    const Shares shares = shares_of(stretches, io_, since_);
    const double each = nanosecond / static_cast<double>(std::max<std::size_t>(1, workers.size()));
    summary.compute = shares.computed * each;
    summary.blocked = shares.blocked * each;
    summary.computing = shares.computing * nanosecond;
    summary.io = shares.io * nanosecond;
    summary.hidden = shares.hidden * nanosecond;
    if (!messages_.empty()) {
      const Shares with_messages = shares_of(stretches, messages_, since_);
      summary.communication = with_messages.io * nanosecond;
      summary.communication_hidden = with_messages.hidden * nanosecond;
    }
    return summary;
  }

 private:
  const Recording& recording_;
  // Where events were lost, the time before the first complete view of all threads is left out of all sums.
  Time since_ = 0;
  std::vector<Slice> slices_;
  std::vector<Interval> io_;
  bool busy_ = false;
  Time busy_since_ = 0;
  std::vector<Interval> messages_;
  bool waited_for_ = false;
  Time outstanding_since_ = 0;
  double read_ = 0;
  double written_ = 0;
};

}  // namespace

double Summary::hidden_share() const noexcept { return io > 0 ? hidden / io : 0; }
double Summary::communication_hidden_share() const noexcept {
  return communication > 0 ? communication_hidden / communication : 0;
}

Summary summarize(const Recording& recording) {
  Totals totals(recording);
  replay(recording, totals);
  return totals.summary();
}

Summary summarize() { return summarize(Recorder::instance().copy()); }

}  // namespace dovetail::trace
