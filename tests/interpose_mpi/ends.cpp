// How a job ends while tasks of all its ranks are in calls of MPI that never end. Arguments: what becomes of it, and a path where files may be made:
// that of MPI_File_open, and one with `.all_wait` behind it, which is there once all tasks wait.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "interpose_mpi/ranks.hpp"
#include "mpi/standard_error.hpp"

namespace {

using dovetail::Future;
using dovetail::Options;
using dovetail::Runtime;
using dovetail::test::check;
using dovetail::test::Ranks;
using dovetail::test::StandardError;
namespace mpi = dovetail::mpi;

constexpr int ends = 1;  ///< The rank that ends.
constexpr int receives_tag = 3;
constexpr int suspended_tag = 4;
constexpr int bound_tag = 5;
constexpr int ready_tag = 6;
constexpr int exchange_tag = 7;
constexpr int rounds = 200;
/// MPI_ERR_PROC_FAILED of Open MPI 5. The header of version 4 has no such class.
constexpr int process_failed = 75;

void say(const Ranks& ranks, const std::string& what) {
  std::printf("rank %d: %s\n", ranks.rank, what.c_str());
  std::fflush(stdout);
}

// What all ranks have before tasks begin; it lives as long as the process.
struct Shared {
  explicit Shared(const Ranks& ranks) {
    MPI_Comm_dup(MPI_COMM_WORLD, &sums);
    MPI_Comm_split(MPI_COMM_WORLD, ranks.rank == ends ? 1 : 0, ranks.rank, &others);
  }

  MPI_Comm sums = MPI_COMM_NULL;
  MPI_Comm others = MPI_COMM_NULL;  ///< All but the rank that ends.
};

// Tasks in calls of each kind that wait for the rank that ends; its own wait for rank 0.
class Waiting {
 public:
  Waiting(Runtime& runtime, const Ranks& ranks)
      : runtime_(runtime), rank_(ranks.rank), other_(rank_ == ends ? 0 : ends) {
    tasks_["receives"] = runtime.spawn({.label = "receives"}, [this] {
      return MPI_Recv(&received_, 1, MPI_INT, other_, receives_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
    tasks_["suspended"] = runtime.spawn({.label = "suspended"}, [this] {
      mpi::recv(&suspended_, 1, MPI_INT, other_, suspended_tag, MPI_COMM_WORLD);
      return MPI_SUCCESS;
    });
    tasks_["bound"] = runtime.spawn({.label = "bound"}, [this] {
      mpi::irecv(&bound_, 1, MPI_INT, other_, bound_tag, MPI_COMM_WORLD);
      return MPI_SUCCESS;
    });
  }

  /// The rank that ends never takes part.
  void sum_up(MPI_Comm communicator) {
    if (rank_ != ends) {
      tasks_["sums"] = runtime_.spawn({.label = "sums"}, [this, communicator] {
        return MPI_Allreduce(&one_, &sum_, 1, MPI_INT, MPI_SUM, communicator);
      });
    }
  }
  void write_at_all(MPI_File file) {
    if (rank_ != ends) {
      tasks_["writes"] = runtime_.spawn({.label = "writes"}, [this, file] {
        return MPI_File_write_at_all(file, rank_ * MPI_Offset{sizeof one_}, &one_, 1, MPI_INT, MPI_STATUS_IGNORE);
      });
    }
  }
  std::map<std::string, Future<int>>& tasks() { return tasks_; }

 private:
  Runtime& runtime_;
  const int rank_;
  const int other_;
  std::map<std::string, Future<int>> tasks_;
  int received_ = 0;
  int suspended_ = 0;
  int bound_ = 0;
  int one_ = 1;
  int sum_ = 0;
};

// The rank that ends does so when the tasks of all ranks wait: each rank's last task runs on its only worker, after the others have paused.
void end_when_all_wait(Runtime& runtime, const Ranks& ranks, const std::string& path,
                       const std::function<void()>& end) {
  if (ranks.rank != ends) {
    runtime.spawn([&ranks] { MPI_Send(&ranks.rank, 1, MPI_INT, ends, ready_tag, MPI_COMM_WORLD); }).get();
    return;
  }
  runtime
      .spawn([&] {
        for (int i = 1; i < ranks.size; ++i) {
          int ready = 0;
          MPI_Recv(&ready, 1, MPI_INT, MPI_ANY_SOURCE, ready_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        const std::ofstream made(path + ".all_wait");  // a starter may lose what is printed now
        end();
      })
      .get();
}

// Other tasks of those that are left reach each other.
void go_on(Runtime& runtime, const Ranks& ranks, MPI_Comm others) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(others, &rank);
  MPI_Comm_size(others, &size);
  for (int round = 0; round < rounds; ++round) {
    int received = -1;
    auto receives =
        runtime.spawn([&] { mpi::recv(&received, 1, MPI_INT, (rank + size - 1) % size, exchange_tag, others); });
    runtime.spawn([&] { MPI_Send(&round, 1, MPI_INT, (rank + 1) % size, exchange_tag, others); }).get();
    receives.get();
    check(received == round, "a message between those that are left is another one");
  }
  say(ranks, "went on");
}

void die() { raise(SIGKILL); }

// What a task that waited for the dead rank has failed with: the code that a call has returned, or what its future throws.
std::string became(Future<int>& task) {
  try {
    const int code = task.get();
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class == process_failed ? "returned MPI_ERR_PROC_FAILED" : "returned " + std::to_string(code);
  } catch (const std::exception& error) {
    return error.what();
  }
}

// The starter ends all ranks, once a task of one of them has.
void all_end(const Ranks& ranks, const std::string& path, const std::function<void()>& end) {
  const Shared shared(ranks);
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  Runtime runtime(Options{.workers = 1});
  Waiting waiting(runtime, ranks);
  waiting.sum_up(shared.sums);
  waiting.write_at_all(file);
  end_when_all_wait(runtime, ranks, path, end);
  runtime.wait();
  say(ranks, "has not ended");
}

// As above, with the rank that ends inside of something. All tasks of the others wait for it by then.
void all_end_within(const Ranks& ranks, const std::string& path,
                    const std::function<void(Runtime& runtime, const std::function<void()>& end)>& begin) {
  Runtime runtime(Options{.workers = 1});
  begin(runtime, [&path] {
    const std::ofstream made(path + ".all_wait");
    die();
  });
  runtime.wait();
  say(ranks, "has not ended");
}

// Rank 0 sends more than a library keeps; the receiver dies when the first of it is there.
void die_in_transfer(const Ranks& ranks, const std::string& path) {
  constexpr std::size_t numbers = std::size_t{32} << 20;
  std::vector<int> data(numbers, ranks.rank == ends ? 0 : 7);
  const auto size = static_cast<int>(numbers);
  all_end_within(ranks, path, [&](Runtime& runtime, const auto& end) {
    if (ranks.rank == ends) {
      std::thread([&data, end] {
        while (std::atomic_ref(data.front()).load() == 0) {
          std::this_thread::yield();
        }
        end();
      }).detach();
      runtime.spawn([&] { MPI_Recv(data.data(), size, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
    } else if (ranks.rank == 0) {
      runtime.spawn([&] { MPI_Send(data.data(), size, MPI_INT, ends, 0, MPI_COMM_WORLD); });
    } else {
      runtime.spawn([&] { MPI_Recv(data.data(), size, MPI_INT, ends, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
    }
    runtime.wait();
  });
}

// All but the last rank are in a collective write, and so is the one that dies.
void die_in_file(const Ranks& ranks, const std::string& path) {
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  int number = ranks.rank;
  all_end_within(ranks, path, [&](Runtime& runtime, const auto& end) {
    if (ranks.rank == ranks.size - 1) {
      runtime.spawn([&] { MPI_Recv(&number, 1, MPI_INT, ends, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
    } else {
      runtime.spawn([&] {
        MPI_File_write_at_all(file, ranks.rank * MPI_Offset{sizeof number}, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
      });
    }
    if (ranks.rank == ends) {
      runtime.spawn([end] { end(); });  // the only worker is here while the other task waits
    }
    runtime.wait();
  });
}

// The first thing that MPI_Finalize does is to free what MPI_COMM_SELF has.
void die_in_finalize(const Ranks& ranks, const std::string& path) {
  static const std::string made = path + ".all_wait";
  all_end_within(ranks, path, [&](Runtime& runtime, const auto&) {
    runtime.spawn([&] { MPI_Barrier(MPI_COMM_WORLD); }).get();
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(
        MPI_COMM_NULL_COPY_FN,
        [](MPI_Comm, int, void*, void*) {
          const std::ofstream file(made);
          die();
          return MPI_SUCCESS;
        },
        &key, nullptr);
    if (ranks.rank == ends) {
      MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    }
    MPI_Finalize();
  });
}

// The starter ends no other rank. MPI tells nothing: those that wait do so for ever, and their runtime says for what.
void others_go_on(const Ranks& ranks, const std::string& path) {
  const Shared shared(ranks);
  StandardError errors;
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::milliseconds(100)});
  Waiting waiting(runtime, ranks);
  end_when_all_wait(runtime, ranks, path, die);
  go_on(runtime, ranks, shared.others);
  std::thread([&] { runtime.wait(); }).detach();  // the runtime reports waiting tasks only while a thread waits for it
  for (const std::string call :
       {"'receives' waits for MPI_Recv from rank 1 with tag 3 in MPI_COMM_WORLD",
        "'suspended' waits for MPI_Recv from rank 1 with tag 4 in MPI_COMM_WORLD",
        "'bound' has returned and waits for MPI_Irecv from rank 1 with tag 5 in MPI_COMM_WORLD"}) {
    errors.wait_for("task " + call);
  }
  go_on(runtime, ranks, shared.others);
  say(ranks, "was told what waits");
  std::_Exit(0);  // the runtime would wait for its tasks
}

void await_stop(int process) {
  for (std::string state; state != "T";) {
    std::string number;
    std::string name;
    std::ifstream("/proc/" + std::to_string(process) + "/stat") >> number >> name >> state;
    std::this_thread::yield();
  }
}

// Rank 1 reads nothing for a while: what waits for it holds up no other task, and ends when it goes on.
void stops_reading(const Ranks& ranks, const std::string& path) {
  constexpr std::size_t numbers = std::size_t{1} << 20;
  const Shared shared(ranks);
  std::vector<int> processes(static_cast<std::size_t>(ranks.size));
  const int own = getpid();
  MPI_Allgather(&own, 1, MPI_INT, processes.data(), 1, MPI_INT, MPI_COMM_WORLD);
  const int stopped = processes[ends];
  std::vector<int> data(numbers, ranks.rank);
  int answer = -1;
  int last = 0;
  const auto size = static_cast<int>(numbers);
  {
    Runtime runtime(Options{.workers = 1});
    if (ranks.rank == ends) {
      runtime.spawn([&] {
        for (int other : {0, 2}) {
          MPI_Recv(data.data(), size, MPI_INT, other, receives_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          check(data.front() == other && data.back() == other, "a large message is another one");
          MPI_Send(&own, 1, MPI_INT, other, suspended_tag, MPI_COMM_WORLD);
        }
      });
    } else {
      if (ranks.rank == 0) {
        kill(stopped, SIGSTOP);
        await_stop(stopped);
        const std::ofstream made(path + ".all_wait");
      }
      MPI_Barrier(shared.others);
      auto bound = runtime.spawn([&] { mpi::isend(data.data(), size, MPI_INT, ends, receives_tag, MPI_COMM_WORLD); });
      auto waits =
          runtime.spawn([&] { MPI_Recv(&answer, 1, MPI_INT, ends, suspended_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
      go_on(runtime, ranks, shared.others);
      check(!bound.ready() && !waits.ready(), "a rank that has stopped has answered");
      MPI_Allreduce(&own, &last, 1, MPI_INT, MPI_MAX, shared.others);
      if (ranks.rank == 0) {
        kill(stopped, SIGCONT);
      }
      bound.get();
      waits.get();
      check(answer == stopped, "another answer");
    }
  }
  say(ranks, "ended");
  MPI_Finalize();
}

// MPI tells the tasks.
void others_are_told(const Ranks& ranks, const std::string& path) {
  const Shared shared(ranks);
  Runtime runtime(Options{.workers = 1});
  Waiting waiting(runtime, ranks);
  waiting.sum_up(shared.sums);
  end_when_all_wait(runtime, ranks, path, die);
  go_on(runtime, ranks, shared.others);
  for (auto& [label, task] : waiting.tasks()) {
    say(ranks, label + ": " + became(task));
  }
  go_on(runtime, ranks, shared.others);
}

}  // namespace

int main(int count, char** arguments) {
  const auto& ranks = *new Ranks(&count, &arguments);  // its destructor would finalize
  const std::string what = count == 3 ? arguments[1] : "";
  const std::string path = count == 3 ? arguments[2] : "";
  if (what == "abort") {
    all_end(ranks, path, [] { MPI_Abort(MPI_COMM_WORLD, 7); });
  } else if (what == "die") {
    all_end(ranks, path, die);
  } else if (what == "die in transfer") {
    die_in_transfer(ranks, path);
  } else if (what == "die in file") {
    die_in_file(ranks, path);
  } else if (what == "die in finalize") {
    die_in_finalize(ranks, path);
  } else if (what == "go on") {
    others_go_on(ranks, path);
  } else if (what == "stops") {
    stops_reading(ranks, path);
  } else if (what == "are told") {
    others_are_told(ranks, path);
  } else {
    return 2;
  }
  // MPI_Finalize would wait for the dead rank.
  std::_Exit(0);
}
