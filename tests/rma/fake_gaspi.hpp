// GASPI of several ranks in one process: a double, since its library (GPI-2) is in few distributions, runs one rank in a process, and ends nearly
// everything at once. Here what is posted is read and arrives late, queues are short, and a rank may stop. What a program must not do is counted.
// tests/rma_gaspi has the library itself.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "comm/rma/gaspi.hpp"
#include "tasking/support.hpp"

namespace dovetail::comm::rma::test {

class FakeGaspi {
 public:
  static constexpr Gaspi::Number queue_length = 16;
  static constexpr Gaspi::Segment segments = 4;

  FakeGaspi(std::size_t size, dovetail::test::Random& random) : random_(random), ranks_(size) { the_one = this; }
  ~FakeGaspi() { the_one = nullptr; }
  FakeGaspi(const FakeGaspi&) = delete;
  FakeGaspi& operator=(const FakeGaspi&) = delete;

  /// The next calls are this rank's.
  void act_as(std::size_t rank) { current_ = rank; }
  /// Some of what has been posted arrives.
  void step() {
    for (std::size_t from = 0; from < ranks_.size(); ++from) {
      for (std::size_t to = 0; to < ranks_.size(); ++to) {
        auto& way = ranks_[from].posted[to];
        while (to != stopped && !way.empty() && !random_.once_in(3)) {
          arrive(from, to, way.front());
          way.pop_front();
        }
      }
    }
  }
  std::size_t posted(std::size_t from, std::size_t to) { return ranks_[from].posted[to].size(); }

  Gaspi functions() const {
    Gaspi made;
    made.version = [](float* version) { return give(version, 1.6F); };
    made.initialized = [](Gaspi::Number* is) { return give(is, the_one->is_initialized ? 1U : 0U); };
    made.proc_init = [](Gaspi::Timeout /*limit*/) { return Gaspi::success; };
    made.proc_rank = [](Gaspi::Rank* rank) { return give(rank, static_cast<Gaspi::Rank>(the_one->current_)); };
    made.proc_num = [](Gaspi::Rank* size) { return give(size, static_cast<Gaspi::Rank>(the_one->ranks_.size())); };
    made.connect = [](Gaspi::Rank /*rank*/, Gaspi::Timeout /*limit*/) { return the_one->success_or_timeout(); };
    made.barrier = [](Gaspi::Group /*group*/, Gaspi::Timeout /*limit*/) { return the_one->meet(); };
    made.segment_max = [](Gaspi::Number* most) { return give(most, Gaspi::Number{segments}); };
    made.segment_alloc = [](Gaspi::Segment segment, Gaspi::Size bytes, int /*policy*/) {
      return the_one->allocate(segment, bytes);
    };
    made.segment_register = [](Gaspi::Segment /*segment*/, Gaspi::Rank rank, Gaspi::Timeout /*limit*/) {
      the_one->own().registered.insert(rank);
      return Gaspi::success;
    };
    made.segment_ptr = [](Gaspi::Segment /*segment*/, void** memory) {
      return give(memory, static_cast<void*>(the_one->own().memory.data()));
    };
    made.notification_num = [](Gaspi::Number* count) { return give(count, the_one->notifications); };
    made.queue_create = [](Gaspi::Queue* queue, Gaspi::Timeout /*limit*/) { return give(queue, Gaspi::Queue{8}); };
    made.queue_num = [](Gaspi::Number* count) { return give(count, 8U); };
    made.queue_size = [](Gaspi::Queue /*queue*/, Gaspi::Number* count) { return give(count, the_one->own().in_queue); };
    made.queue_size_max = [](Gaspi::Number* count) { return give(count, queue_length); };
    made.wait = [](Gaspi::Queue /*queue*/, Gaspi::Timeout /*limit*/) { return the_one->take_ended(); };
    made.write_notify = [](Gaspi::Segment /*from_segment*/, Gaspi::Size from, Gaspi::Rank rank, Gaspi::Segment /*to*/,
                           Gaspi::Size to, Gaspi::Size bytes, Gaspi::Notification id, Gaspi::Notification value,
                           Gaspi::Queue /*queue*/, Gaspi::Timeout /*limit*/) {
      return the_one->post(rank, {.from = from, .to = to, .bytes = bytes, .id = id, .value = value}, 2);
    };
    made.notify = [](Gaspi::Segment /*segment*/, Gaspi::Rank rank, Gaspi::Notification id, Gaspi::Notification value,
                     Gaspi::Queue /*queue*/, Gaspi::Timeout /*limit*/) {
      return the_one->post(rank, {.from = 0, .to = 0, .bytes = 0, .id = id, .value = value}, 1);
    };
    made.notify_waitsome = [](Gaspi::Segment /*segment*/, Gaspi::Notification begin, Gaspi::Number count,
                              Gaspi::Notification* first,
                              Gaspi::Timeout /*limit*/) { return the_one->first_of(begin, count, first); };
    made.notify_reset = [](Gaspi::Segment /*segment*/, Gaspi::Notification id, Gaspi::Notification* value) {
      return give(value, std::exchange(the_one->own().values[id], 0));
    };
    return made;
  }

  bool is_initialized = true;
  bool is_segment_taken = false;
  Gaspi::Number notifications = 64;
  std::size_t stopped = ~std::size_t{0};  ///< What is posted to it does not arrive.
  std::size_t refused = ~std::size_t{0};  ///< What is posted to it fails.
  unsigned mistakes = 0;  ///< Calls for which a queue had no room, or whose segment the rank does not know.

 private:
  struct Request {
    Gaspi::Size from;
    Gaspi::Size to;
    Gaspi::Size bytes;
    Gaspi::Notification id;
    Gaspi::Notification value;
    Gaspi::Number count = 1;
  };
  struct Rank {
    Rank() : values(64) {}
    std::vector<std::byte> memory;
    std::vector<Gaspi::Notification> values;
    std::set<std::size_t> registered;
    Gaspi::Number in_queue = 0;
    Gaspi::Number ended = 0;  // of those in the queue
    bool has_met = false;
    std::deque<Request> posted[8];  // NOLINT(modernize-avoid-c-arrays): by receiver
  };

  template <class Number>
  static Gaspi::Return give(Number* place, Number value) {
    *place = value;
    return Gaspi::success;
  }
  Rank& own() { return ranks_[current_]; }
  Gaspi::Return success_or_timeout() { return random_.once_in(5) ? Gaspi::timeout : Gaspi::success; }
  Gaspi::Return allocate(Gaspi::Segment segment, Gaspi::Size bytes) {
    if (is_segment_taken || segment != segments - 1) {
      return 10;
    }
    own().memory.resize(bytes);
    return Gaspi::success;
  }
  Gaspi::Return meet() {
    own().has_met = true;
    for (const Rank& each : ranks_) {
      if (!each.has_met) {
        return Gaspi::timeout;
      }
    }
    return Gaspi::success;
  }
  Gaspi::Return post(std::size_t rank, Request request, Gaspi::Number count) {
    if (rank == refused) {
      return -1;
    }
    if (own().in_queue + count > queue_length || !ranks_[rank].registered.contains(current_)) {
      ++mistakes;
      return -1;
    }
    if (random_.once_in(5)) {
      return Gaspi::timeout;
    }
    request.count = count;
    own().in_queue += count;
    own().posted[rank].push_back(request);
    return Gaspi::success;
  }
  void arrive(std::size_t from, std::size_t to, const Request& request) {
    if (request.bytes > 0) {
      std::memcpy(ranks_[to].memory.data() + request.to, ranks_[from].memory.data() + request.from, request.bytes);
    }
    ranks_[to].values[request.id] = request.value;
    ranks_[from].ended += request.count;
  }
  Gaspi::Return take_ended() {
    own().in_queue -= std::exchange(own().ended, 0);
    return own().in_queue == 0 ? Gaspi::success : Gaspi::timeout;
  }
  Gaspi::Return first_of(Gaspi::Notification begin, Gaspi::Number count, Gaspi::Notification* first) {
    for (Gaspi::Notification id = begin; id < begin + count; ++id) {
      if (own().values[id] != 0) {
        return give(first, id);
      }
    }
    return Gaspi::timeout;
  }

  static inline FakeGaspi* the_one = nullptr;  // functions of GASPI know nothing of an object
  dovetail::test::Random& random_;
  std::vector<Rank> ranks_;
  std::size_t current_ = 0;
};

}  // namespace dovetail::comm::rma::test
