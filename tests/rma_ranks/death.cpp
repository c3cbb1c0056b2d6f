// Rank 1 kills itself when the others wait, or before a barrier; or rank 0 ends its group with notifications that have no room. What they print is
// compared by launch_test.py.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>

#include "comm/rma/group.hpp"
#include "dovetail/dovetail.hpp"
#include "dovetail/rma.hpp"

namespace {

using dovetail::rma::Group;
using dovetail::rma::Segment;
constexpr int victim = 1;

template <class Call>
void say(const Group& group, const char* what, const Call& call) {
  try {
    call();
    std::printf("rank %d: %s: nothing failed\n", group.rank(), what);
  } catch (const std::exception& error) {
    std::printf("rank %d: %s: %s\n", group.rank(), what, error.what());
  }
}

// The other rank does not look at its notifications.
void end_with_unsent() {
  auto group = std::make_unique<Group>(Group::start());
  auto segment = std::make_unique<Segment>(Segment::allocate(*group, 0));
  if (group->rank() != 0) {
    const auto& first = dovetail::comm::rma::Group::current()->peer(0);
    while (!first.says_goodbye()) {
      std::this_thread::yield();
    }
    return;
  }
  dovetail::Runtime runtime(dovetail::Options{.workers = 1});
  std::atomic<bool> sent{false};
  auto floods = runtime.spawn({.label = "flood"}, [&, id = segment->id()] {
    for (std::uint32_t i = 0; i < 5000; ++i) {
      dovetail::rma::notify(1, id, {.id = i});
    }
    sent = true;
  });
  while (!sent) {
    std::this_thread::yield();
  }
  segment.reset();
  group.reset();
  try {
    floods.get();
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (what == "unsent") {
    end_with_unsent();
    return 0;
  }
  const bool in_barrier = what == "barrier";
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, 8);
  if (group.rank() == victim) {
    if (!in_barrier) {
      for (int other = 0; other < group.size(); ++other) {
        if (other != victim) {
          dovetail::rma::notify_wait(segment, static_cast<std::uint32_t>(other));
        }
      }
      // Sent before: it arrives.
      for (int other = 0; other < group.size(); ++other) {
        if (other != victim) {
          dovetail::rma::notify(other, segment.id(), {.id = 10});
          dovetail::rma::notify(other, segment.id(), {.id = 13});
        }
      }
    }
    // A child keeps the connections open until the starter ends: the death is told all the same. The starters of MPI would wait for the child.
    if (std::getenv("DOVETAIL_TEST_MPI") == nullptr && fork() == 0) {
      close(STDOUT_FILENO);
      close(STDERR_FILENO);
      char byte = 0;
      _exit(read(std::atoi(std::getenv("PMI_FD")), &byte, 1) == 0 ? 0 : 1);
    }
    std::raise(SIGKILL);
  }
  dovetail::Runtime runtime(dovetail::Options{.workers = 1});
  if (in_barrier) {
    say(group, "barrier", [&] { runtime.spawn([&] { group.barrier(); }).get(); });
    return 0;
  }
  auto from_victim =
      runtime.spawn({.label = "from it"}, [&] { dovetail::rma::notify_await(segment, 11, nullptr, victim); });
  auto from_anyone = runtime.spawn({.label = "from anyone"}, [&] { dovetail::rma::notify_wait(segment, 12); });
  auto sent_before = runtime.spawn({.label = "sent before"}, [&] { dovetail::rma::notify_wait(segment, 10); });
  dovetail::rma::notify(victim, segment.id(), {.id = static_cast<std::uint32_t>(group.rank())});
  say(group, "sent before", [&] { sent_before.get(); });
  say(group, "from it", [&] { from_victim.get(); });
  say(group, "from anyone", [&] { from_anyone.get(); });
  say(group, "waited for later", [&] { dovetail::rma::notify_wait(segment, 13, victim); });
  say(group, "begun later", [&] { dovetail::rma::notify_wait(segment, 14, victim); });
  say(group, "write", [&] { dovetail::rma::notify(victim, segment.id(), {.id = 1}); });
  return 0;
}
