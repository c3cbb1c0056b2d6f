// How groups end whose ranks reach each other by MPI. The first argument names the case; each rank says what became of it. The ranks are on two nodes, the even
// ones on one of them.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/rma/message_library.hpp"
#include "dovetail/dovetail.hpp"
#include "dovetail/rma.hpp"

namespace {

namespace rma = dovetail::rma;
using dovetail::Options;
using dovetail::Runtime;
using rma::Group;
using rma::Segment;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::chrono::seconds short_silence{1};

void say(int rank, const std::string& what) {
  std::printf("rank %d: %s\n", rank, what.c_str());
  std::fflush(stdout);
}

std::string became(const std::function<void()>& call) {
  try {
    call();
    return "nothing failed";
  } catch (const rma::Error& error) {
    return std::string("rma::Error: ") + error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
}

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }
}

bool holds_all(const Segment& segment, std::uint64_t value) {
  const std::span<const std::uint64_t> numbers = segment.as<std::uint64_t>();
  return std::ranges::all_of(numbers, [&](std::uint64_t each) { return each == value; });
}

// Blocks go round between neighbours, of which each is on the other node.
void exchange(const Group& group, std::size_t bytes, std::uint64_t rounds) {
  const Segment segment = Segment::allocate(group, bytes);
  const int right = (group.rank() + 1) % group.size();
  const int left = (group.rank() + group.size() - 1) % group.size();
  Runtime runtime(Options{.workers = 1});
  std::vector<std::uint64_t> block(bytes / sizeof(std::uint64_t));
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    std::ranges::fill(block, round);
    runtime.spawn([&] { rma::write_notify(block, {.rank = right, .segment = segment.id()}, {.id = 0}); });
    runtime.spawn([&] { rma::notify_wait(segment, 0, left); }).get();
    runtime.wait();
    require(holds_all(segment, round), "a notification came without its data");
    rma::notify(left, segment.id(), {.id = 1});
    rma::notify_wait(segment, 1, right);
  }
  group.barrier();
}

void again() {
  for (int i = 0; i < 20; ++i) {
    const Group group = Group::start();
    exchange(group, i % 3 == 0 ? 64 : 300'000, 3);
    if (i == 19) {
      say(group.rank(), "right: " + group.transport(1 - group.rank() % 2));
    }
  }
}

// The last notification of a group comes with its data, though the sender leaves at once.
void notified() {
  for (std::uint64_t round = 1; round <= 30; ++round) {
    const Group group = Group::start();
    const Segment segment = Segment::allocate(group, mebibyte);
    if (group.rank() == 0) {
      const std::vector<std::uint64_t> block(mebibyte / sizeof round, round);
      rma::write_notify(block, {.rank = 1, .segment = segment.id()}, {.id = 0});
    } else if (group.rank() == 1) {
      rma::notify_wait(segment, 0, 0);
      require(holds_all(segment, round), "a notification came without its data");
    }
    if (round == 30) {
      say(group.rank(), "right");
    }
  }
}

// Rank 1 leaves, and takes nothing any more, while rank 0 has much for it. The data of rank 0 goes with its tasks.
void left() {
  constexpr std::size_t writes = 200;
  {
    std::optional<Group> group = Group::start({.silence_timeout = short_silence});
    std::optional<Segment> segment = Segment::allocate(*group, 64 * mebibyte);
    const int rank = group->rank();
    group->barrier();
    int all_are_posted = 0;
    if (rank == 1) {
      MPI_Recv(&all_are_posted, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) {
      std::atomic<std::size_t> posted{0};
      Runtime runtime(Options{.workers = 1, .report_after = std::chrono::seconds(0)});
      auto block = std::make_unique<std::vector<std::byte>>(64 * mebibyte);
      std::vector<dovetail::Future<void>> all;
      all.reserve(writes);
      for (std::size_t i = 0; i < writes; ++i) {
        all.push_back(runtime.spawn([&, id = segment->id()] {
          rma::write(*block, {.rank = 1, .segment = id});
          ++posted;
        }));
      }
      while (posted < writes) {
        std::this_thread::yield();
      }
      MPI_Send(&all_are_posted, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      std::size_t failed = 0;
      std::string last;
      for (auto& each : all) {
        last = became([&] { each.get(); });
        failed += last == "nothing failed" ? 0 : 1;
      }
      block.reset();
      say(rank, failed > 0 && failed <= writes ? "writes failed: " + last.substr(last.rfind(": ") + 2) : "none failed");
    }
  }
  const Group next = Group::start();
  exchange(next, mebibyte, 5);
  say(next.rank(), "next group: right");
}

// Rank 1 ends MPI, and then its group.
void finalised() {
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, 8);
  group.barrier();
  const int rank = group.rank();
  if (rank == 1) {
    const std::vector<std::byte> small(8);
    rma::write_notify(small, {.rank = 0, .segment = segment.id()}, {.id = 1});
    std::thread late([&] {
      while (became([&] { rma::write(small, {.rank = 0, .segment = segment.id()}); }) == "nothing failed") {
        std::this_thread::yield();
      }
      say(rank, "write: " + became([&] { rma::write(small, {.rank = 0, .segment = segment.id()}); }));
    });
    MPI_Finalize();
    late.join();
    return;
  }
  say(rank, "before: " + became([&] { rma::notify_wait(segment, 1, 1); }));
  say(rank, "from it: " + became([&] { rma::notify_wait(segment, 0, 1); }));
  say(rank, "write: " + became([&] { rma::notify(1, segment.id(), {.id = 0}); }));
  MPI_Finalize();
}

void await_state(pid_t process, const char* wanted) {
  for (std::string state; state != wanted;) {
    std::string number;
    std::string name;
    std::ifstream("/proc/" + std::to_string(process) + "/stat") >> number >> name >> state;
    std::this_thread::yield();
  }
}

// Rank 1 stops. Rank 0 has much for it, and goes on with rank 3 meanwhile.
void stopped() {
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, 64 * mebibyte);
  const int rank = group.rank();
  const std::vector<std::uint64_t> block(mebibyte / sizeof(std::uint64_t), 7);
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::seconds(0)});
  if (rank == 1) {
    const pid_t own = getpid();
    rma::write_notify(std::span(&own, 1), {.rank = 0, .segment = segment.id()}, {.id = 0});
    raise(SIGSTOP);
    rma::notify_wait(segment, 1, 0);
    require(holds_all(segment, 9), "what was written to a stopped rank is wrong");
  } else if (rank == 0) {
    rma::notify_wait(segment, 0, 1);
    const pid_t other = segment.as<pid_t>().front();
    await_state(other, "T");
    const std::vector<std::uint64_t> large(64 * mebibyte / sizeof(std::uint64_t), 9);
    auto written = runtime.spawn([&] { rma::write_notify(large, {.rank = 1, .segment = segment.id()}, {.id = 1}); });
    for (int round = 0; round < 200; ++round) {
      runtime.spawn([&] { rma::write_notify(block, {.rank = 3, .segment = segment.id()}, {.id = 2}); }).get();
      rma::notify_wait(segment, 2, 3);
    }
    say(rank, "went on");
    kill(other, SIGCONT);
    written.get();
  } else if (rank == 3) {
    for (int round = 0; round < 200; ++round) {
      rma::notify_wait(segment, 2, 0);
      runtime.spawn([&] { rma::write_notify(block, {.rank = 0, .segment = segment.id()}, {.id = 2}); }).get();
    }
  }
  group.barrier();
  say(rank, "right");
}

// Rank 1 dies with much under way to it.
void died() {
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, 64 * mebibyte);
  const int rank = group.rank();
  if (rank == 1) {
    rma::notify_wait(segment, 0, 0);
    raise(SIGKILL);
  }
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::seconds(0)});
  if (rank == 0) {
    auto block = std::make_unique<std::vector<std::byte>>(64 * mebibyte);
    rma::notify(1, segment.id(), {.id = 0});
    std::string last = "nothing failed";
    while (last == "nothing failed") {
      last = became([&] { runtime.spawn([&] { rma::write(*block, {.rank = 1, .segment = segment.id()}); }).get(); });
    }
    block.reset();
    say(rank, "writes failed: " + last.substr(last.rfind(": ") + 2));
  } else {
    say(rank, "waits: " + became([&] { rma::notify_wait(segment, 1, 1); }));
  }
  // The others reach each other still.
  const std::vector<std::uint64_t> block(mebibyte / sizeof(std::uint64_t), 7);
  if (rank == 0) {
    rma::write_notify(block, {.rank = 3, .segment = segment.id()}, {.id = 2});
    rma::notify_wait(segment, 3, 3);
  } else if (rank == 3) {
    rma::notify_wait(segment, 2, 0);
    rma::write_notify(block, {.rank = 0, .segment = segment.id()}, {.id = 3});
  }
  say(rank, "went on");
}

// Rank 1 ends as a process, without any of its ends.
void skipped() {
  {
    const Group group = Group::start();
    const Segment segment = Segment::allocate(group, 8);
    group.barrier();
    if (group.rank() == 1) {
      std::_Exit(0);
    }
    say(group.rank(), "barrier: " + became([&] { group.barrier(); }));
  }
  say(0, "ended");
}

// A library whose rank 1 cannot make the channel at first.
class Failing final : public dovetail::comm::rma::MessageLibrary {
 public:
  Failing(MessageLibrary& real, bool fails) : real_(real), fails_(fails) {}
  std::string version() const override { return real_.version(); }
  std::string why_not(int rank, int size) const override { return real_.why_not(rank, size); }
  void at_end(void (*call)() noexcept) override { real_.at_end(call); }
  bool has_channel() const noexcept override { return !fails_ && real_.has_channel(); }
  State make_channel() noexcept override {
    const State state = real_.make_channel();
    return state != State::ended || !fails_ ? state : State::failed;
  }
  void drop_channel() noexcept override { real_.drop_channel(); }
  State gather(std::span<const std::byte> own, std::span<std::byte> all) noexcept override {
    return real_.gather(own, all);
  }
  bool send(std::span<const std::byte> bytes, int rank, int tag, RequestHandle& request) noexcept override {
    return real_.send(bytes, rank, tag, request);
  }
  State find(Found& found) noexcept override { return real_.find(found); }
  bool receive(Found& found, std::span<std::byte> into, RequestHandle& request) noexcept override {
    return real_.receive(found, into, request);
  }
  State test(RequestHandle& request) noexcept override { return real_.test(request); }
  const std::string& failure() const noexcept override { return real_.failure(); }
  void recover() { fails_ = false; }

 private:
  MessageLibrary& real_;
  bool fails_;
};

void without_channel() {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  auto* const failing = new Failing(dovetail::comm::rma::require_message_library(rank, size), rank == 1);
  dovetail::comm::rma::set_message_library(failing);
  say(rank, "start: " + became([] { Group::start({.start_timeout = std::chrono::seconds(2)}); }));
  failing->recover();
  const Group group = Group::start();
  exchange(group, 64, 3);
  say(rank, "right");
}

// What the program does with its messages in all communicators is its own.
void beside() {
  const Group group = Group::start();
  int any = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&any, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  exchange(group, 300'000, 20);
  const int own = group.rank() + 100;
  const int right = (group.rank() + 1) % group.size();
  MPI_Send(&own, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(any == (group.rank() + group.size() - 1) % group.size() + 100, "another message came than was sent");
  say(group.rank(), "right");
}

void started() {
  say(0, "start: " + became([] { Group::start({.start_timeout = std::chrono::seconds(5)}); }));
}

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string, void (*)()> cases{
      {"again", again},     {"notified", notified}, {"left", left},       {"finalised", finalised},
      {"stopped", stopped}, {"died", died},         {"skipped", skipped}, {"without channel", without_channel},
      {"beside", beside},   {"started", started},
  };
  const auto found = cases.find(count > 1 ? arguments[1] : "");
  if (found == cases.end()) {
    return 2;
  }
  found->second();
  return 0;
}
