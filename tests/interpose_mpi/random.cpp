// Random programs: every rank knows all of it, so each knows what it must receive. Numbers move between tasks of ranks by messages, by one-sided writes
// and reads with notifications, by both at once, and by a file; in between they are summed up by collectives. The numbers are those of plain MPI.
// Argument: a file that it may make.
#include <fcntl.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "dovetail/file.hpp"
#include "dovetail/rma.hpp"
#include "interpose_mpi/ranks.hpp"

namespace {

using dovetail::in;
using dovetail::inout;
using dovetail::Options;
using dovetail::Runtime;
using dovetail::test::check;
using dovetail::test::Ranks;
namespace mpi = dovetail::mpi;
namespace rma = dovetail::rma;

constexpr std::size_t most_steps = 120;
constexpr unsigned collectives = 10;

// One step: the cell of a rank goes to another one, which adds it to one of its own; or all ranks are in a collective with a cell each.
struct Step {
  enum class Kind { message, one_sided, both, file, collective, compute } kind;
  int from, to;
  std::size_t source, target;
  unsigned way;
};

std::vector<Step> make_program(std::mt19937_64& random, int ranks, std::size_t cells, std::size_t steps) {
  using enum Step::Kind;
  constexpr std::array kinds{message,   message, message, one_sided,  one_sided,
                             one_sided, both,    file,    collective, compute};
  const auto below = [&random](std::uint64_t limit) { return random() % limit; };
  const auto any_rank = [&] { return static_cast<int>(below(static_cast<std::uint64_t>(ranks))); };
  std::vector<Step> program;
  program.reserve(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    program.push_back({.kind = kinds[below(kinds.size())],
                       .from = any_rank(),
                       .to = any_rank(),
                       .source = below(cells),
                       .target = below(cells),
                       .way = static_cast<unsigned>(below(4 * collectives))});
  }
  return program;
}

using Cells = std::vector<std::uint64_t>;

// As MPI_Wait; but there are more ranks than cores, and some libraries never give one away.
void complete(MPI_Request request) {
  for (int ended = 0; ended == 0; std::this_thread::yield()) {
    MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
  }
}

// What the program does to the cells of this rank. All ranks are in the same step, or have nothing to do with it: so none waits for ever.
// What a rank gives to a collective and gets from it: of a single number, the first is used.
struct Exchange {
  Exchange(std::uint64_t value, int ranks) : given(static_cast<std::size_t>(ranks)), taken(given.size()) {
    std::iota(given.begin(), given.end(), value);
    taken[0] = value;  // as MPI_Bcast takes it, and what MPI_Reduce leaves where nothing arrives
  }
  std::uint64_t result() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      sum += (i + 1) * taken[i];
    }
    return sum;
  }
  std::vector<std::uint64_t> given;
  std::vector<std::uint64_t> taken;
};

// `how` gets the forms for tasks, that of MPI with a request, and the parameters of all.
template <class How>
void make_collective(const Step& step, Exchange& exchange, const How& how) {
  const std::uint64_t* const given = exchange.given.data();
  std::uint64_t* const taken = exchange.taken.data();
  const MPI_Datatype type = MPI_UINT64_T;
  const MPI_Comm world = MPI_COMM_WORLD;
  switch (step.way / 4) {
    case 0:
      return how(mpi::bcast, mpi::ibcast, MPI_Ibcast, taken, 1, type, step.from, world);
    case 1:
      return how(mpi::reduce, mpi::ireduce, MPI_Ireduce, given, taken, 1, type, MPI_SUM, step.from, world);
    case 2:
      return how(mpi::scan, mpi::iscan, MPI_Iscan, given, taken, 1, type, MPI_SUM, world);
    case 3:
      return how(mpi::exscan, mpi::iexscan, MPI_Iexscan, given, taken, 1, type, MPI_BXOR, world);
    case 4:
      return how(mpi::alltoall, mpi::ialltoall, MPI_Ialltoall, given, 1, type, taken, 1, type, world);
    case 5:
      return how(mpi::allgather, mpi::iallgather, MPI_Iallgather, given, 1, type, taken, 1, type, world);
    case 6:
      return how(mpi::gather, mpi::igather, MPI_Igather, given, 1, type, taken, 1, type, step.from, world);
    case 7:
      return how(mpi::scatter, mpi::iscatter, MPI_Iscatter, given, 1, type, taken, 1, type, step.from, world);
    case 8:
      return how(mpi::reduce_scatter_block, mpi::ireduce_scatter_block, MPI_Ireduce_scatter_block, given, taken, 1,
                 type, MPI_MAX, world);
    default:
      return how(mpi::allreduce, mpi::iallreduce, MPI_Iallreduce, given, taken, 1, type, MPI_SUM, world);
  }
}

void run_by_plain_mpi(const std::vector<Step>& program, const Ranks& ranks, Cells& own) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (const Step& step : program) {
    if (step.kind == Step::Kind::collective) {
      Exchange exchange(own[step.source], ranks.size);
      make_collective(step, exchange, [&](const auto&, const auto&, const auto start, const auto... given) {
        start(given..., &request);
        complete(request);
      });
      own[step.target] += exchange.result();
    } else if (step.kind == Step::Kind::compute) {
      own[step.target] ^= step.from == ranks.rank ? own[step.source] >> 7 : 0;
    } else if (step.from == step.to) {
      own[step.target] += step.from == ranks.rank ? 3 * own[step.source] : 0;
    } else if (step.from == ranks.rank) {
      const std::uint64_t sent = 3 * own[step.source];
      MPI_Isend(&sent, 1, MPI_UINT64_T, step.to, 0, MPI_COMM_WORLD, &request);
      complete(request);
    } else if (step.to == ranks.rank) {
      std::uint64_t received = 0;
      MPI_Irecv(&received, 1, MPI_UINT64_T, step.from, 0, MPI_COMM_WORLD, &request);
      complete(request);
      own[step.target] += received;
    }
  }
}

// Where numbers go that are not messages. Each step of a program has a place of its own, and a notification.
struct Places {
  Places(const rma::Group& group, const std::string& path)
      : segment(rma::Segment::allocate(group, most_steps * sizeof(std::uint64_t))),
        file(dovetail::File::open(path, O_RDWR | O_CREAT)) {}

  rma::Remote at(int rank, std::size_t step) const {
    return {.rank = rank, .segment = segment.id(), .offset = step * sizeof(std::uint64_t)};
  }
  std::uint64_t& here(std::size_t step) const { return segment.as<std::uint64_t>()[step]; }

  const rma::Segment segment;
  const dovetail::File file;
};

// What comes is put into a place of its own, and added by another task.
class Program {
 public:
  Program(const Ranks& ranks, const Places& places, Cells& cells, std::size_t steps)
      : ranks_(ranks), places_(places), cells_(cells), buffers_(2 * steps) {}

  void run(Runtime& runtime, const std::vector<Step>& program) {
    for (std::size_t i = 0; i < program.size(); ++i) {
      const Step& step = program[i];
      switch (step.kind) {
        case Step::Kind::message:
          move(runtime, step, i, &Program::send, &Program::receive);
          break;
        case Step::Kind::one_sided:
          move(runtime, step, i, &Program::write, &Program::await);
          break;
        case Step::Kind::both:
          move(runtime, step, i, &Program::send_and_write, &Program::receive_and_await);
          break;
        case Step::Kind::file:
          move(runtime, step, i, &Program::store, &Program::load);
          break;
        case Step::Kind::collective:
          collective(runtime, step, i);
          break;
        case Step::Kind::compute:
          if (step.from == ranks_.rank) {
            runtime.spawn({.access = {in(cells_[step.source]), inout(cells_[step.target])}},
                          [this, step] { cells_[step.target] ^= cells_[step.source] >> 7; });
          }
      }
    }
  }

 private:
  using Mover = void (Program::*)(const Step& step, std::size_t number, std::uint64_t& value);

  // The bodies of a task that gives a number away, and of one that gets it.
  void move(Runtime& runtime, const Step& step, std::size_t number, Mover give, Mover get) {
    std::uint64_t& sent = buffers_[2 * number];
    std::uint64_t& received = buffers_[2 * number + 1];
    if (step.from == ranks_.rank) {
      runtime.spawn({.access = {in(cells_[step.source]), dovetail::out(sent)}},
                    [this, step, &sent] { sent = 3 * cells_[step.source]; });
      runtime.spawn({.access = {in(sent)}}, [this, give, step, number, &sent] { (this->*give)(step, number, sent); });
    }
    if (step.to == ranks_.rank) {
      runtime.spawn({.access = {dovetail::out(received)}},
                    [this, get, step, number, &received] { (this->*get)(step, number, received); });
      // What a task is bound to may have come into the segment only.
      runtime.spawn({.access = {in(received), inout(cells_[step.target])}}, [this, step, number, &received] {
        const bool is_in_segment = step.kind == Step::Kind::one_sided && step.way < 2;
        cells_[step.target] += is_in_segment ? places_.here(number) : received;
        if (step.kind == Step::Kind::both) {
          cells_[step.target] += places_.here(number);
        }
      });
    }
  }

  void send(const Step& step, std::size_t number, std::uint64_t& value) {
    const int tag = static_cast<int>(number);
    switch (step.way) {
      case 0:
        return mpi::send(&value, 1, MPI_UINT64_T, step.to, tag, MPI_COMM_WORLD);
      case 1:
        return mpi::ssend(&value, 1, MPI_UINT64_T, step.to, tag, MPI_COMM_WORLD);
      case 2:
        return mpi::isend(&value, 1, MPI_UINT64_T, step.to, tag, MPI_COMM_WORLD);
      default: {
        MPI_Request request;
        MPI_Isend(&value, 1, MPI_UINT64_T, step.to, tag, MPI_COMM_WORLD, &request);
        return mpi::iwait(request);
      }
    }
  }
  void receive(const Step& step, std::size_t number, std::uint64_t& value) {
    const int tag = static_cast<int>(number);
    switch (step.way) {
      case 0:
      case 1:
        return mpi::irecv(&value, 1, MPI_UINT64_T, step.from, tag, MPI_COMM_WORLD);
      case 2:
        return mpi::recv(&value, 1, MPI_UINT64_T, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD);
      default: {
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_UINT64_T, step.from, tag, MPI_COMM_WORLD, &request);
        return mpi::wait(request);
      }
    }
  }

  // Written to the other rank, in one call or two; or left for it to read. Each notification says of which step it is.
  void write(const Step& step, std::size_t number, std::uint64_t& value) {
    const rma::Notify notification{.id = static_cast<std::uint32_t>(number),
                                   .value = static_cast<std::uint32_t>(number + 1)};
    switch (step.way) {
      case 0:
      case 2:
        return rma::write_notify(std::span(&value, 1), places_.at(step.to, number), notification);
      case 1:
        rma::write(std::span(&value, 1), places_.at(step.to, number));
        return rma::notify(step.to, places_.segment.id(), notification);
      default:
        places_.here(number) = value;
        return rma::notify(step.to, places_.segment.id(), notification);
    }
  }
  void await(const Step& step, std::size_t number, std::uint64_t& value) {
    const auto id = static_cast<std::uint32_t>(number);
    switch (step.way) {
      case 0:
      case 1:
        return rma::notify_await(places_.segment, id, nullptr, step.from);
      case 2:
        check(rma::notify_wait(places_.segment, id, step.from) == id + 1, "a notification has another one's value");
        value = places_.here(number);
        return;
      default:
        rma::notify_wait(places_.segment, id, step.from);
        return rma::read(std::as_writable_bytes(std::span(&value, 1)), places_.at(step.from, number));
    }
  }

  // One task waits for a message and for a notification. The message has a third of the number.
  void send_and_write(const Step& step, std::size_t number, std::uint64_t& value) {
    const std::uint64_t written = value - value / 3;
    rma::write_notify(std::span(&written, 1), places_.at(step.to, number), {.id = static_cast<std::uint32_t>(number)});
    value /= 3;
    send(step, number, value);
  }
  void receive_and_await(const Step& step, std::size_t number, std::uint64_t& value) {
    rma::notify_await(places_.segment, static_cast<std::uint32_t>(number), nullptr, step.from);
    receive(step, number, value);
  }

  // By a file: what is sent is only that it is there.
  void store(const Step& step, std::size_t number, std::uint64_t& value) {
    const std::uint64_t offset = number * sizeof value;
    check(places_.file.pwrite(std::span(&value, 1), offset) == sizeof value, "a number was not written");
    if (step.way < 2) {
      mpi::send(nullptr, 0, MPI_BYTE, step.to, static_cast<int>(number), MPI_COMM_WORLD);
    } else {
      rma::notify(step.to, places_.segment.id(), {.id = static_cast<std::uint32_t>(number)});
    }
  }
  void load(const Step& step, std::size_t number, std::uint64_t& value) {
    if (step.way < 2) {
      mpi::recv(nullptr, 0, MPI_BYTE, step.from, static_cast<int>(number), MPI_COMM_WORLD);
    } else {
      rma::notify_wait(places_.segment, static_cast<std::uint32_t>(number), step.from);
    }
    places_.file.ipread(std::span(&value, 1), number * sizeof value);
  }

  // Collectives of one communicator must begin in the same order everywhere: they have an access in common.
  void collective(Runtime& runtime, const Step& step, std::size_t number) {
    std::unique_ptr<Exchange>& exchange = exchanges_[number];
    runtime.spawn(
        {.access = {in(cells_[step.source]), dovetail::out(exchange), inout(order_)}}, [this, step, &exchange] {
          exchange = std::make_unique<Exchange>(cells_[step.source], ranks_.size);
          make_collective(step, *exchange,
                          [&step](const auto& suspending, const auto& bound, const auto, const auto... given) {
                            step.way % 2 == 0 ? suspending(given...) : bound(given...);
                          });
        });
    runtime.spawn({.access = {in(exchange), inout(cells_[step.target])}},
                  [this, step, &exchange] { cells_[step.target] += exchange->result(); });
  }

  const Ranks& ranks_;
  const Places& places_;
  Cells& cells_;
  std::vector<std::uint64_t> buffers_;
  std::map<std::size_t, std::unique_ptr<Exchange>> exchanges_;  // by the numbers of the steps; none moves
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
  const char* many = std::getenv("DOVETAIL_TEST_ROUNDS");
  const char* scale = std::getenv("DOVETAIL_TEST_SCALE");
  const bool small = scale != nullptr && std::string(scale) == "small";
  const int programs = many != nullptr ? std::atoi(many) : small ? 10 : 40;
  const rma::Group group = rma::Group::start();
  check(group.rank() == ranks.rank, "a rank of MPI is another one of the group");
  const Places places(group, count > 1 ? arguments[1] : "random.data");
  for (int number = 0; number < programs; ++number) {
    const std::size_t cells = 1 + random() % 8;
    const std::size_t steps = 1 + random() % most_steps;
    const auto workers = static_cast<unsigned>(1 + random() % 3);
    const std::vector<Step> program = make_program(random, ranks.size, cells, steps);
    Cells own;
    for (std::size_t i = 0; i < cells * static_cast<std::size_t>(ranks.size); ++i) {
      const std::uint64_t value = random();
      if (i / cells == static_cast<std::size_t>(ranks.rank)) {
        own.push_back(value);
      }
    }
    Cells wanted = own;
    run_by_plain_mpi(program, ranks, wanted);
    {
      Runtime runtime(Options{.workers = workers});
      Program tasks(ranks, places, own, steps);
      tasks.run(runtime, program);
      runtime.wait();
    }
    MPI_Barrier(
        MPI_COMM_WORLD);  // the next program uses the same places; a wait for anybody's message would get one of that
    check(own == wanted,
          "program " + std::to_string(number) + " of seed " + std::to_string(seed) + " computes something else");
  }
  return 0;
}
