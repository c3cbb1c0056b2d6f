// Memory of the program's own as segments, between real ranks. "forbidden": a filter of rank 1 refuses the kernel's copies. "death": rank 1 kills
// itself while the others write into its memory.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "dovetail/rma.hpp"

namespace dovetail::rma::test {
namespace {

constexpr int victim = 1;

void check(bool holds, const std::string& what) {
  if (!holds) {
    std::fprintf(stderr, "process %d: %s\n", static_cast<int>(getpid()), what.c_str());
    std::_Exit(1);
  }
}

template <class Failure>
void fails(const std::string& words, const std::function<void()>& call) {
  try {
    call();
  } catch (const Failure& error) {
    check(std::string(error.what()).find(words) != std::string::npos, error.what());
    return;
  }
  check(false, "accepted, where \"" + words + "\" is wrong");
}

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& numbers) {
  return std::as_writable_bytes(std::span(numbers));
}

// Invariant 1: what was written is there when the notification is taken, however large it is and however it lies. A task of one worker.
void halos(const Group& group, std::uint64_t seed) {
  constexpr std::size_t most = 100'000;
  constexpr std::uint32_t rounds = 300;
  std::vector<std::uint64_t> memory(most);
  const Segment segment = Segment::use(group, bytes_of(memory), {.notifications = 4});
  check(segment.data() == bytes_of(memory).data() && segment.size() == most * 8, "another memory");
  const int right = (group.rank() + 1) % group.size();
  const int left = (group.rank() + group.size() - 1) % group.size();
  std::mt19937_64 own(seed + static_cast<unsigned>(group.rank()));
  std::mt19937_64 theirs(seed + static_cast<unsigned>(left));
  const auto draw = [](std::mt19937_64& random) {
    const std::size_t first = random() % most;
    const std::size_t count =
        random() % (random() % 8 == 0 ? most - first + 1 : std::min<std::size_t>(most - first, 9) + 1);
    return std::pair(first, count);
  };
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::seconds(20)});
  for (std::uint32_t round = 0; round < rounds; ++round) {
    runtime.spawn([&] {
      const auto [first, count] = draw(own);
      std::vector<std::uint64_t> sent(count);
      std::iota(sent.begin(), sent.end(), 1000U * round + static_cast<unsigned>(group.rank()));
      write_notify(sent, {.rank = right, .segment = segment.id(), .offset = first * 8}, {.id = 0});
      notify_wait(segment, 1, right);
    });
    runtime.spawn([&] {
      notify_wait(segment, 0, left);
      const auto [first, count] = draw(theirs);
      for (std::size_t i = 0; i < count; ++i) {
        check(memory[first + i] == 1000U * round + static_cast<unsigned>(left) + i, "a number is not there");
      }
      notify(left, segment.id(), {.id = 1});
    });
    runtime.wait();
  }
  group.barrier();
}

// Some processes allocate and others use; reading, lists, and what is wrong.
void mixed(const Group& group) {
  std::vector<std::uint64_t> memory(16, static_cast<unsigned>(group.rank()));
  const bool uses = group.rank() % 2 == 0;
  const Segment segment = uses ? Segment::use(group, bytes_of(memory)) : Segment::allocate(group, memory.size() * 8);
  const Segment empty = Segment::use(group, {});
  check(empty.size() == 0 && empty.data() == nullptr, "not empty");
  group.barrier();
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::uint64_t mine = 1000 + static_cast<unsigned>(group.rank());
    const std::uint64_t offset = 8 * static_cast<unsigned>(group.rank());
    write(std::span(&mine, 1), {.rank = rank, .segment = segment.id(), .offset = offset});
    std::array<std::uint64_t, 2> back{};
    const auto halves = std::as_writable_bytes(std::span(back));
    const std::array parts{Transfer{halves.first(8), {.rank = rank, .segment = segment.id(), .offset = offset}},
                           Transfer{halves.last(8), {.rank = rank, .segment = segment.id(), .offset = 120}}};
    read_list(parts);
    check(back[0] == mine && back[1] == (rank % 2 == 0 ? static_cast<unsigned>(rank) : 0U), "read something else");
    fails<std::out_of_range>(
        "are beyond segment " + std::to_string(segment.id()) + " of rank " + std::to_string(rank),
        [&] { write(std::span(&mine, 1), {.rank = rank, .segment = segment.id(), .offset = 121}); });
    const Remote counter{.rank = rank, .segment = segment.id(), .offset = 112};
    if (rank % 2 == 0) {
      fails<std::invalid_argument>("memory of the program's own", [&] { fetch_add(counter, 1); });
      fails<std::invalid_argument>("memory of the program's own", [&] { compare_swap(counter, 0, 1); });
    } else {
      fetch_add(counter, 1);
    }
  }
  group.barrier();
  const auto all = segment.as<std::uint64_t>();
  for (int rank = 0; rank < group.size(); ++rank) {
    check(all[static_cast<std::size_t>(rank)] == 1000 + static_cast<unsigned>(rank), "a write is not there");
  }
  check(uses || all[14] == static_cast<unsigned>(group.size()), "an addition got lost");
  group.barrier();
}

// The second page of two goes away. Its place is kept, so that nothing else is mapped there.
void unmapped(const Group& group) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory =
      static_cast<std::byte*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const Segment segment = Segment::use(group, {memory, 2 * page});
  group.barrier();
  check(mmap(memory + page, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory + page, "mmap");
  group.barrier();
  const int right = (group.rank() + 1) % group.size();
  // A fabric takes the memory that it was given for granted.
  if (group.transport(right) != "shared memory") {
    return;
  }
  std::vector<std::byte> data(2 * page, std::byte{7});
  if (right != group.rank()) {
    const std::string words = "of segment " + std::to_string(segment.id()) + " of rank " + std::to_string(right);
    fails<std::system_error>(words + " cannot be sent, since that memory",
                             [&] { write(data, {.rank = right, .segment = segment.id()}); });
    fails<std::system_error>(words + " cannot be read, since that memory",
                             [&] { read(data, {.rank = right, .segment = segment.id(), .offset = 0}); });
    // A task fails with it, and its notification is not sent.
    Runtime runtime(Options{.workers = 1});
    fails<TaskFailed>(words, [&] {
      runtime.spawn([&] { write_notify(data, {.rank = right, .segment = segment.id()}, {.id = 5}); }).get();
    });
    group.barrier();
    check(!notify_test(segment, 5), "a notification of data that was not written");
    write(std::span(data).first(page), {.rank = right, .segment = segment.id()});
  }
  group.barrier();
  check(group.size() == 1 || memory[page - 1] == std::byte{7}, "the page that is there was not written");
  // Memory that is not there from the beginning is refused, in all processes.
  if (group.size() > 1) {
    fails<std::runtime_error>("that memory is not mapped",
                              [&] { Segment::use(group, {memory + (group.rank() == victim ? page : 0), page}); });
    const Segment next = Segment::allocate(group, 8);
    check(next.id() == segment.id() + 2, "the ranks count differently");
    fails<std::out_of_range>("has no segment", [&] {
      write(std::span(data).first(1), {.rank = right, .segment = static_cast<std::uint8_t>(segment.id() + 1)});
    });
  }
  group.barrier();
  munmap(memory, 2 * page);
}

void forbid_copies() {
  const std::array program{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = program.size(), .filter = const_cast<sock_filter*>(program.data())};
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0,
        "no filter can be set");
}

void forbidden(const Group& group) {
  if (group.rank() == victim) {
    forbid_copies();
  }
  std::vector<std::byte> memory(64);
  try {
    Segment::use(group, memory);
    std::printf("rank %d: nothing failed\n", group.rank());
  } catch (const std::runtime_error& error) {
    std::printf("rank %d: %s\n", group.rank(), error.what());
  }
  const Segment allocated = Segment::allocate(group, 8);
  group.barrier();
}

// The others write until the death is noticed, by the write itself: they look at no notification meanwhile.
void death(const Group& group) {
  std::vector<std::byte> memory(1 << 20);
  const Segment segment = Segment::use(group, memory);
  if (group.rank() == victim) {
    for (int other = 0; other < group.size(); ++other) {
      if (other != victim) {
        notify_wait(segment, static_cast<std::uint32_t>(other), other);
      }
    }
    kill(getpid(), SIGKILL);
  }
  write(memory, {.rank = victim, .segment = segment.id()});
  notify(victim, segment.id(), {.id = static_cast<std::uint32_t>(group.rank())});
  try {
    for (;;) {
      write(memory, {.rank = victim, .segment = segment.id()});
    }
  } catch (const Error& error) {
    std::printf("rank %d: write: %s\n", group.rank(), error.what());
    check(error.rank() == victim, "another rank");
  }
  fails<Error>("rank 1 (process ", [&] { read(memory, {.rank = victim, .segment = segment.id()}); });
}

}  // namespace
}  // namespace dovetail::rma::test

int main(int count, char** arguments) {
  using namespace dovetail::rma::test;
  const std::string_view what = count > 1 ? arguments[1] : "";
  const dovetail::rma::Group group = dovetail::rma::Group::start();
  if (what == "forbidden") {
    forbidden(group);
  } else if (what == "death") {
    death(group);
  } else {
    const char* const given = std::getenv("DOVETAIL_TEST_SEED");
    const dovetail::rma::Segment common = dovetail::rma::Segment::allocate(group, 8);
    if (group.rank() == 0) {
      common.as<std::uint64_t>()[0] = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
      std::printf("DOVETAIL_TEST_SEED=%llu\n", static_cast<unsigned long long>(common.as<std::uint64_t>()[0]));
    }
    group.barrier();
    std::uint64_t seed = 0;
    dovetail::rma::read(std::as_writable_bytes(std::span(&seed, 1)), {.rank = 0, .segment = common.id()});
    halos(group, seed);
    mixed(group);
    unmapped(group);
  }
  return 0;
}
