#include "comm/rma/waiting.hpp"

#include <poll.h>

#include "base/clock.hpp"
#include "base/spin_lock.hpp"
#include "dovetail/rma_error.hpp"
#include "tasking/other_work.hpp"

namespace dovetail::comm::rma {
namespace {

// Outside of tasks: as long as a sleep and a wake-up take, and then until the bell. The limit is for what another thread takes away between a
// look and the sleep.
constexpr std::chrono::microseconds looks_before_sleep{100};
constexpr int milliseconds_asleep = 1;

// A pause of a task, and going on, takes as long as a notification to a process of the node and its answer.
constexpr std::uint64_t microseconds_of_a_moment = 2;
constexpr unsigned looks_between_other_looks = 8;

}  // namespace

Group& group_of_process() {
  Group* const current = Group::current();
  if (current == nullptr) {
    throw std::logic_error("There is no group: start one by dovetail::rma::Group::start, in each process");
  }
  return *current;
}

Group& require_own(const Group* own) {
  Group& current = group_of_process();
  if (&current != own) {
    throw std::logic_error("This process has another group by now");
  }
  return current;
}

void refuse_wait(const std::string& what, const char* instead) {
  throw std::logic_error(what + " would be waited for in an onready; " + instead);
}

void look_for_ends(Group& in) {
  if (in.has_long_not_looked()) {
    base::Fifo<Waiter> ended;
    in.take_events(ended);
    Engine::tell(ended);
  }
}

void require_there(Group& in, const Peer& peer) {
  look_for_ends(in);
  if (peer.standing.load(std::memory_order_relaxed) != Standing::present) [[unlikely]] {
    throw dovetail::rma::Error("nothing can be sent: " + text_of_end(peer.rank, peer), peer.rank);
  }
}

void take_what_has_come(Group& in) {
  base::Fifo<Waiter> ended;
  in.progress(ended);
  in.take_all_arrived(ended);
  Engine::tell(ended);
}

bool comes_in_a_moment(Group& in, Await& await) {
  const auto take = [&] {
    base::Fifo<Waiter> ended;
    in.progress(ended);
    const bool is_over = in.take_and_try(await, ended);
    Engine::tell(ended);
    return is_over;
  };
  if (tasking::task_in_onready() != nullptr) {
    return false;
  }
  if (take()) {
    return true;
  }
  if (in.fabric() != nullptr || tasking::has_other_work()) {
    return false;
  }
  in.stay_awake();
  const std::uint64_t end = base::ticks() + microseconds_of_a_moment * base::ticks_per_microsecond();
  for (unsigned look = 1; look % looks_between_other_looks != 0 || (base::ticks() < end && !tasking::has_other_work());
       ++look) {
    if (in.has_arrivals() && take()) {
      return true;
    }
    base::cpu_relax();
  }
  return false;
}

BlockedThread::BlockedThread(Group& in) noexcept : in_(in), end_of_looks_(base::Clock::now() + looks_before_sleep) {}

void BlockedThread::look() {
  base::Fifo<Waiter> ended;
  if (in_.must_take_events()) {
    in_.take_events(ended);
  }
  in_.look(ended);
  Engine::tell(ended);
}

void BlockedThread::rest() const {
  if (base::Clock::now() < end_of_looks_) {
    base::cpu_relax();
  } else if (in_.may_sleep()) {
    pollfd events{in_.descriptor(), POLLIN, 0};
    poll(&events, 1, milliseconds_asleep);
  }
}

}  // namespace dovetail::comm::rma
