// Random programs: every rank knows all of it, so each knows what it must receive. Tasks send and receive in every way, with storage between
// them and without, and the numbers are those that a single loop computes.
#include <cstdint>
#include <random>
#include <vector>

#include "interpose_mpi/ranks.hpp"

namespace {

using dovetail::in;
using dovetail::inout;
using dovetail::Options;
using dovetail::Runtime;
using dovetail::test::check;
using dovetail::test::Ranks;
namespace mpi = dovetail::mpi;

// One step: the cell of a rank goes to another one, which adds it to one of its own; or all cells of a number are summed up.
struct Step {
  enum class Kind { message, sum, compute } kind;
  int from, to;
  std::size_t source, target;
  unsigned way;
};

std::vector<Step> make_program(std::mt19937_64& random, int ranks, std::size_t cells, std::size_t steps) {
  const auto below = [&random](std::uint64_t limit) { return random() % limit; };
  std::vector<Step> program;
  for (std::size_t i = 0; i < steps; ++i) {
    const std::uint64_t kind = below(10);
    program.push_back({kind < 6   ? Step::Kind::message
                       : kind < 7 ? Step::Kind::sum
                                  : Step::Kind::compute,
                       static_cast<int>(below(static_cast<std::uint64_t>(ranks))),
                       static_cast<int>(below(static_cast<std::uint64_t>(ranks))), below(cells), below(cells),
                       static_cast<unsigned>(below(4))});
  }
  return program;
}

using Cells = std::vector<std::vector<std::uint64_t>>;

void run_in_one_loop(const std::vector<Step>& program, Cells& all) {
  for (const Step& step : program) {
    switch (step.kind) {
      case Step::Kind::message:
        all[static_cast<std::size_t>(step.to)][step.target] +=
            3 * all[static_cast<std::size_t>(step.from)][step.source];
        break;
      case Step::Kind::sum: {
        std::uint64_t sum = 0;
        for (const auto& own : all) {
          sum += own[step.source];
        }
        for (auto& own : all) {
          own[step.target] += sum;
        }
        break;
      }
      case Step::Kind::compute:
        all[static_cast<std::size_t>(step.from)][step.target] ^=
            all[static_cast<std::size_t>(step.from)][step.source] >> 7;
        break;
    }
  }
}

// What a message brings is put into a place of its own, and added by another task.
class Program {
 public:
  Program(const Ranks& ranks, std::vector<std::uint64_t>& cells, std::size_t steps)
      : ranks_(ranks), cells_(cells), buffers_(2 * steps) {}

  void run(Runtime& runtime, const std::vector<Step>& program) {
    for (std::size_t i = 0; i < program.size(); ++i) {
      const Step& step = program[i];
      if (step.kind == Step::Kind::compute) {
        if (step.from == ranks_.rank) {
          runtime.spawn({.access = {in(cells_[step.source]), inout(cells_[step.target])}},
                        [this, step] { cells_[step.target] ^= cells_[step.source] >> 7; });
        }
      } else if (step.kind == Step::Kind::message) {
        message(runtime, step, i);
      } else {
        sum(runtime, step, i);
      }
    }
  }

 private:
  void message(Runtime& runtime, const Step& step, std::size_t number) {
    const int tag = static_cast<int>(number);
    std::uint64_t& sent = buffers_[2 * number];
    std::uint64_t& received = buffers_[2 * number + 1];
    if (step.from == ranks_.rank) {
      runtime.spawn({.access = {in(cells_[step.source]), dovetail::out(sent)}},
                    [this, step, &sent] { sent = 3 * cells_[step.source]; });
      runtime.spawn({.access = {in(sent)}}, [step, tag, &sent] {
        switch (step.way) {
          case 0:
            return mpi::send(&sent, 1, MPI_UINT64_T, step.to, tag, MPI_COMM_WORLD);
          case 1:
            return mpi::ssend(&sent, 1, MPI_UINT64_T, step.to, tag, MPI_COMM_WORLD);
          case 2:
            return mpi::isend(&sent, 1, MPI_UINT64_T, step.to, tag, MPI_COMM_WORLD);
          default: {
            MPI_Request request;
            MPI_Isend(&sent, 1, MPI_UINT64_T, step.to, tag, MPI_COMM_WORLD, &request);
            return mpi::iwait(request);
          }
        }
      });
    }
    if (step.to == ranks_.rank) {
      runtime.spawn({.access = {dovetail::out(received)}}, [step, tag, &received] {
        switch (step.way) {
          case 0:
          case 1:
            return mpi::irecv(&received, 1, MPI_UINT64_T, step.from, tag, MPI_COMM_WORLD);
          case 2:
            return mpi::recv(&received, 1, MPI_UINT64_T, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD);
          default: {
            MPI_Request request;
            MPI_Irecv(&received, 1, MPI_UINT64_T, step.from, tag, MPI_COMM_WORLD, &request);
            return mpi::wait(request);
          }
        }
      });
      runtime.spawn({.access = {in(received), inout(cells_[step.target])}},
                    [this, step, &received] { cells_[step.target] += received; });
    }
  }

  // Collectives of one communicator must begin in the same order everywhere: they have an access in common.
  void sum(Runtime& runtime, const Step& step, std::size_t number) {
    std::uint64_t& result = buffers_[2 * number];
    runtime.spawn({.access = {in(cells_[step.source]), dovetail::out(result), inout(order_)}}, [this, step, &result] {
      if (step.way % 2 == 0) {
        mpi::allreduce(&cells_[step.source], &result, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
      } else {
        mpi::iallreduce(&cells_[step.source], &result, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
      }
    });
    runtime.spawn({.access = {in(result), inout(cells_[step.target])}},
                  [this, step, &result] { cells_[step.target] += result; });
  }

  const Ranks& ranks_;
  std::vector<std::uint64_t>& cells_;
  std::vector<std::uint64_t> buffers_;
  int order_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  std::uint64_t seed = std::random_device{}();
  if (const char* given = std::getenv("DOVETAIL_TEST_SEED")) {
    seed = std::strtoull(given, nullptr, 0);
  }
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (ranks.rank == 0) {
    std::printf("DOVETAIL_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
  }
  std::mt19937_64 random(seed);
  const char* many = std::getenv("DOVETAIL_TEST_PROGRAMS");
  const char* scale = std::getenv("DOVETAIL_TEST_SCALE");
  const bool small = scale != nullptr && std::string(scale) == "small";
  const int programs = many != nullptr ? std::atoi(many) : small ? 20 : 100;
  for (int number = 0; number < programs; ++number) {
    const std::size_t cells = 1 + random() % 8;
    const std::size_t steps = 1 + random() % 120;
    const auto workers = static_cast<unsigned>(1 + random() % 3);
    const std::vector<Step> program = make_program(random, ranks.size, cells, steps);
    Cells all(static_cast<std::size_t>(ranks.size), std::vector<std::uint64_t>(cells));
    for (auto& own : all) {
      for (std::uint64_t& cell : own) {
        cell = random();
      }
    }
    std::vector<std::uint64_t> own = all[static_cast<std::size_t>(ranks.rank)];
    run_in_one_loop(program, all);
    {
      Runtime runtime(Options{.workers = workers});
      Program tasks(ranks, own, steps);
      tasks.run(runtime, program);
      runtime.wait();
    }
    MPI_Barrier(MPI_COMM_WORLD);  // or a rank that waits for a message of anybody would get one of the next program
    check(own == all[static_cast<std::size_t>(ranks.rank)],
          "program " + std::to_string(number) + " of seed " + std::to_string(seed) + " computes something else");
  }
  return 0;
}
