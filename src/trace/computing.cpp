#include "trace/computing.hpp"

#include <algorithm>
#include <tuple>

namespace dovetail::trace {
namespace {

/// Of slices that lie in the order in which they began, outer ones first.
class Cutter {
 public:
  explicit Cutter(const std::vector<Slice>& slices) : slices_(slices), own_(slices.size()), used_(slices.size()) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
      used_[i] = slices[i].processor.value_or(slices[i].end - slices[i].begin);
    }
  }

  std::vector<Stretch> run() {
    for (std::size_t next = 0; next < slices_.size(); ++next) {
      const Slice& slice = slices_[next];
      while (!open_.empty() && (open_thread() != slice.thread || slices_[open_.back()].end <= slice.begin)) {
        close();
      }
      if (!open_.empty()) {
        add(open_.back(), slice.begin);
        inside(open_.back(), next);
      }
      cursor_ = slice.begin;
      open_.push_back(next);
    }
    while (!open_.empty()) {
      close();
    }
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      const std::size_t slice = of_[i];
      const auto used = static_cast<double>(std::clamp<Time>(used_[slice], 0, own_[slice]));
      stretches_[i].share = own_[slice] > 0 ? used / static_cast<double>(own_[slice]) : 0;
    }
    return std::move(stretches_);
  }

 private:
  std::size_t open_thread() const { return slices_[open_.back()].thread; }

  // From `used_`, which is of the slice with those inside, to what is its own.
  void inside(std::size_t outer, std::size_t inner) {
    used_[outer] -= slices_[inner].processor.value_or(slices_[inner].end - slices_[inner].begin);
  }

  void close() {
    add(open_.back(), slices_[open_.back()].end);
    open_.pop_back();
  }

  void add(std::size_t slice, Time end) {
    if (end > cursor_) {
      stretches_.push_back({slices_[slice].thread, cursor_, end, 1});
      of_.push_back(slice);
      own_[slice] += end - cursor_;
      cursor_ = end;
    }
  }

  const std::vector<Slice>& slices_;
  std::vector<Time> own_;
  std::vector<Time> used_;
  std::vector<Stretch> stretches_;
  std::vector<std::size_t> of_;
  std::vector<std::size_t> open_;
  Time cursor_ = 0;
};

struct Change {
  Time at = 0;
  std::size_t thread = 0;
  double share = 0;  ///< Of the thread from now on.
  int io = 0;        ///< Operations more in flight.
  std::size_t order = 0;
};

}  // namespace

std::vector<Stretch> stretches_of(std::vector<Slice> slices) {
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::tuple(a.thread, a.begin, -a.end) < std::tuple(b.thread, b.begin, -b.end);
  });
  return Cutter(slices).run();
}

Shares shares_of(const std::vector<Stretch>& computing, const std::vector<Interval>& io, Time since) {
  Shares shares;
  std::vector<Change> changes;
  std::size_t threads = 0;
  for (const Stretch& stretch : computing) {
    const Time begin = std::max(stretch.begin, since);
    if (stretch.end <= begin) {
      continue;
    }
    const auto length = static_cast<double>(stretch.end - begin);
    shares.computed += length * stretch.share;
    shares.blocked += length * (1 - stretch.share);
    changes.push_back({stretch.end, stretch.thread, 0, 0});
    changes.push_back({begin, stretch.thread, stretch.share, 0});
    threads = std::max(threads, stretch.thread + 1);
  }
  for (const Interval& interval : io) {
    const Time begin = std::max(interval.begin, since);
    if (interval.end > begin) {
      changes.push_back({begin, threads, 0, 1});
      changes.push_back({interval.end, threads, 0, -1});
    }
  }
  // Where one stretch of a thread ends as the next begins, the end was put in before.
  for (std::size_t i = 0; i < changes.size(); ++i) {
    changes[i].order = i;
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at != b.at ? a.at < b.at : a.order < b.order; });
  std::vector<double> share(threads, 0);
  double none_computes = 1;  // the probability, threads being independent
  int in_flight = 0;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    const Change& change = changes[i];
    in_flight += change.io;
    if (change.io == 0) {
      share[change.thread] = change.share;
      none_computes = 1;
      for (const double each : share) {
        none_computes *= 1 - each;
      }
    }
    const auto length = static_cast<double>(changes[i + 1].at - change.at);
    shares.computing += length * (1 - none_computes);
    if (in_flight > 0) {
      shares.io += length;
      shares.hidden += length * (1 - none_computes);
    }
  }
  return shares;
}

}  // namespace dovetail::trace
