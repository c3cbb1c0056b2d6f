// What a group does when it is used wrongly, and when one of its processes ends or does too much. The first argument names the case; each rank says
// what became of it.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/rma/group.hpp"
#include "dovetail/dovetail.hpp"
#include "dovetail/rma.hpp"

namespace {

namespace rma = dovetail::rma;
using dovetail::Options;
using dovetail::Runtime;
using rma::Group;
using rma::Segment;

constexpr unsigned last_resort_seconds = 100;
constexpr int victim = 1;

void say(const Group& group, const char* what, const std::function<void()>& call) {
  std::string became = "nothing failed";
  try {
    call();
  } catch (const rma::Error& error) {
    became = std::string("rma::Error: ") + error.what();
  } catch (const std::exception& error) {
    became = error.what();
  }
  std::printf("rank %d: %s: %s\n", group.rank(), what, became.c_str());
  std::fflush(stdout);
}

std::uint64_t number_in(const Segment& segment) { return std::atomic_ref(segment.as<std::uint64_t>().front()).load(); }
void await_number(const Segment& segment, std::uint64_t least) {
  while (number_in(segment) < least) {
    std::this_thread::yield();
  }
}

// A rank is one process.
void child_is_no_rank() {
  const Group group = Group::start();
  const pid_t child = fork();
  if (child == 0) {
    alarm(last_resort_seconds);
    try {
      Group::start();
    } catch (const std::exception& error) {
      std::printf("rank %d: in the child: %s\n", group.rank(), error.what());
      std::fflush(stdout);
      _exit(0);
    }
    _exit(1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  std::printf("rank %d: child: %d\n", group.rank(), status);
  group.barrier();
}

// Keeps copies of all descriptors of its parent, but for those that the test itself waits for.
pid_t fork_child() {
  if (std::getenv("DOVETAIL_TEST_NO_CHILD") != nullptr) {
    return -1;
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(last_resort_seconds);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    for (;;) {
      pause();
    }
  }
  return child;
}

void second_group() {
  pid_t child = -1;
  {
    const Group first = Group::start();
    first.barrier();
    if (first.rank() == 0) {
      child = fork_child();
    }
  }
  const Group second = Group::start();
  say(second, "second group", [&] {
    for (int i = 0; i < 100; ++i) {
      second.barrier();
    }
  });
  if (child > 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

// Rank 0 ends its group and lives on, and so does its child, which has copies of the connections.
void child_keeps_connections() {
  pid_t child = -1;
  {
    const Group group = Group::start();
    const Segment segment = Segment::allocate(group, 8);
    if (group.rank() == 0) {
      child = fork_child();
    } else {
      say(group, "from rank 0", [&] { rma::notify_wait(segment, 0, 0); });
    }
  }
  Group::start();  // rank 0 has not ended before the others have failed
  if (child > 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

// The survivors stay until each has failed.
void barrier() {
  const Group group = Group::start();
  const Segment failed = Segment::allocate(group, sizeof(std::uint64_t));
  say(group, "barrier", [&] {
    for (;;) {
      group.barrier();
      if (group.rank() == victim) {
        raise(SIGKILL);
      }
    }
  });
  rma::fetch_add({.rank = 0, .segment = failed.id()}, 1);
  std::uint64_t now = 0;
  while (now + 1 < static_cast<std::uint64_t>(group.size())) {
    rma::read(std::as_writable_bytes(std::span(&now, 1)), {.rank = 0, .segment = failed.id()});
    std::this_thread::yield();
  }
}

// Rank 2 leaves in order, and the others know that before they begin a barrier.
void barrier_after_an_end() {
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, 8);
  if (group.rank() == 2) {
    return;
  }
  say(group, "from rank 2", [&] { rma::notify_wait(segment, 0, 2); });
  say(group, "barrier", [&] { group.barrier(); });
  if (group.rank() == 0) {
    rma::notify(1, segment.id(), {.id = 1});
  } else {
    rma::notify_wait(segment, 1, 0);  // else rank 0 would hear of the end of rank 1 first
  }
}

void only_writes() {
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, sizeof(std::uint64_t));
  if (group.rank() == victim) {
    raise(SIGKILL);
  }
  const std::uint64_t value = 1;
  say(group, "writes", [&] {
    for (;;) {
      rma::write(std::span(&value, 1), {.rank = victim, .segment = segment.id()});
    }
  });
}

// The others' tasks say that they begin; then rank 1 dies, while they go on. Large enough that a read between nodes is mostly under way.
constexpr std::size_t large = std::size_t{8} << 20;
template <class Call>
void killed_in_the_midst(const char* what, const char* label, const Call& call) {
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, large);
  if (group.rank() == victim) {
    for (int rank = 0; rank < group.size(); ++rank) {
      if (rank != victim) {
        rma::notify_wait(segment, static_cast<std::uint32_t>(rank), rank);
      }
    }
    raise(SIGKILL);
  }
  Runtime runtime(Options{.workers = 1});
  say(group, what, [&] {
    runtime
        .spawn({.label = label},
               [&] {
                 call(segment);
                 rma::notify(victim, segment.id(), {.id = static_cast<std::uint32_t>(group.rank())});
                 for (;;) {
                   call(segment);
                 }
               })
        .get();
  });
}
void only_reads() {
  std::vector<std::byte> data(large);
  killed_in_the_midst("reads", "reads",
                      [&](const Segment& segment) { rma::read(data, {.rank = victim, .segment = segment.id()}); });
}
void only_adds() {
  killed_in_the_midst("adds", "adds",
                      [](const Segment& segment) { rma::fetch_add({.rank = victim, .segment = segment.id()}, 1); });
}

// The end of a group waits for what other nodes have to take, and for no dead rank.
void end_after_a_death() {
  auto group = std::make_unique<Group>(Group::start());
  auto segment = std::make_unique<Segment>(Segment::allocate(*group, large));
  if (group->rank() == victim) {
    for (int rank = 0; rank < group->size(); ++rank) {
      if (rank != victim) {
        rma::notify_wait(*segment, static_cast<std::uint32_t>(rank), rank);
      }
    }
    raise(SIGKILL);
  }
  const int rank = group->rank();
  rma::notify(victim, segment->id(), {.id = static_cast<std::uint32_t>(rank)});
  segment.reset();
  group.reset();
  std::printf("rank %d: end: nothing failed\n", rank);
}

// Rank 1 dies when its end has begun.
void killed_in_its_end() {
  auto group = std::make_unique<Group>(Group::start());
  auto segment = std::make_unique<Segment>(Segment::allocate(*group, 8));
  const int rank = group->rank();
  if (rank == victim) {
    std::thread([] {
      while (dovetail::comm::rma::Group::current() != nullptr) {
        std::this_thread::yield();
      }
      raise(SIGKILL);
    }).detach();
    segment.reset();
    group.reset();
    for (;;) {
      pause();  // it may have ended before
    }
  }
  say(*group, "from rank 1", [&] { rma::notify_wait(*segment, 0, victim); });
  segment.reset();
  group.reset();
  std::printf("rank %d: end: nothing failed\n", rank);
}

void allocate() {
  const Group group = Group::start();
  if (group.rank() == victim) {
    if (std::getenv("DOVETAIL_TEST_MPI") == nullptr) {  // whose starter waits for the child
      fork_child();
    }
    raise(SIGKILL);
  }
  say(group, "allocate", [&] { Segment::allocate(group, 8); });
}

// Rank 1 asks for more than there is. All hear of it, and the next segment is whole.
void too_large() {
  const Group group = Group::start({.start_timeout = std::chrono::hours(1)});
  say(group, "allocate", [&] { Segment::allocate(group, group.rank() == victim ? std::size_t{1} << 62 : 8); });
  const Segment next = Segment::allocate(group, sizeof(std::uint64_t));
  const int right = (group.rank() + 1) % group.size();
  rma::notify(right, next.id(), {.id = 0});
  rma::notify_wait(next, 0);
  say(group, "notify", [&] { rma::notify(right, 0, {.id = 0}); });
  group.barrier();
}

// Rank 1 can open nothing: neither its own memory, nor that of the others.
void no_descriptors() {
  const Group group = Group::start({.start_timeout = std::chrono::hours(1)});
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  if (group.rank() == victim) {
    const int next = dup(STDERR_FILENO);
    close(next);
    const rlimit no_more{static_cast<rlim_t>(next), before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &no_more);
  }
  say(group, "allocate", [&] { Segment::allocate(group, 8); });
  setrlimit(RLIMIT_NOFILE, &before);
  const Segment next = Segment::allocate(group, 8);
  rma::notify((group.rank() + 1) % group.size(), next.id(), {.id = 0});
  rma::notify_wait(next, 0);
  group.barrier();
}

void reserved_segment() {
  const Group group = Group::start();
  say(group, "notify", [&] { rma::notify(0, 255, {.id = 0}); });
  say(group, "write", [&] { rma::write(std::span<const int>(), {.rank = 0, .segment = 255}); });
  group.barrier();
}

// Rank 1 may leave its barrier when rank 0 has entered its own, and not before.
void refused_barriers() {
  const Group group = Group::start();
  const Segment entered = Segment::allocate(group, sizeof(std::uint64_t));
  if (group.rank() == 0) {
    Runtime runtime(Options{.workers = 1});
    say(group, "in onready", [&] { runtime.spawn({.onready = [&] { group.barrier(); }}, [] {}).get(); });
    const pid_t child = fork();
    if (child == 0) {
      alarm(last_resort_seconds);
      bool is_refused = false;
      try {
        group.barrier();
      } catch (const std::logic_error&) {
        try {
          Segment::allocate(group, 8);
        } catch (const std::logic_error&) {
          is_refused = true;
        }
      }
      _exit(is_refused ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    std::printf("rank 0: child of a fork: %d\n", status);
    rma::fetch_add({.rank = 1, .segment = entered.id()}, 1);
  }
  group.barrier();
  if (group.rank() == 1) {
    std::printf("rank 1: left: %d\n", static_cast<int>(number_in(entered)));
  }
}

// Rank 0 sends without end until rank 1 has what rank 2 has sent meanwhile.
void flood() {
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, sizeof(std::uint64_t), {.notifications = 10});
  group.barrier();
  if (group.rank() == 0) {
    for (std::uint64_t sent = 1; number_in(segment) == 0; ++sent) {
      rma::notify(1, segment.id(), {.id = 7});
      if (sent == 10'000) {
        rma::fetch_add({.rank = 2, .segment = segment.id()}, 1);
      }
    }
  } else if (group.rank() == 1) {
    say(group, "from rank 2", [&] { rma::notify_wait(segment, 8); });
    rma::fetch_add({.rank = 0, .segment = segment.id()}, 1);
  } else {
    await_number(segment, 1);
    rma::notify(1, segment.id(), {.id = 8});
  }
  group.barrier();
}

void late_start() {
  if (std::getenv("PMI_RANK") == std::string("1")) {
    pause();  // until the launcher ends it
  }
  try {
    Group::start({.start_timeout = std::chrono::milliseconds(50)});
  } catch (const std::exception& error) {
    std::printf("rank 0: start: %s\n", error.what());
    std::fflush(stdout);
    std::_Exit(3);
  }
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

void descriptors() {
  const Group group = Group::start({.start_timeout = std::chrono::milliseconds::max()});
  const std::ptrdiff_t before = open_descriptors();
  for (int i = 0; i < 255; ++i) {
    Segment::allocate(group, 8, {.notifications = 1});
  }
  std::printf("rank %d: descriptors: %d\n", group.rank(), static_cast<int>(open_descriptors() - before));
  say(group, "one more", [&] { Segment::allocate(group, 8); });
}

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string, void (*)()> cases{
      {"second group", second_group},
      {"child keeps connections", child_keeps_connections},
      {"child is no rank", child_is_no_rank},
      {"barrier", barrier},
      {"barrier after an end", barrier_after_an_end},
      {"only writes", only_writes},
      {"only reads", only_reads},
      {"only adds", only_adds},
      {"end after a death", end_after_a_death},
      {"killed in its end", killed_in_its_end},
      {"allocate", allocate},
      {"too large", too_large},
      {"no descriptors", no_descriptors},
      {"flood", flood},
      {"reserved segment", reserved_segment},
      {"refused barriers", refused_barriers},
      {"start", late_start},
      {"descriptors", descriptors},
  };
  const auto found = cases.find(count > 1 ? arguments[1] : "");
  if (found == cases.end()) {
    return 2;
  }
  alarm(last_resort_seconds);
  found->second();
  return 0;
}
