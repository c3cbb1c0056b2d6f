// A task for each transfer: it pauses for it (or binds it) and spawns the one after it.
#include "random_transfer/random_transfer.hpp"

#include <fcntl.h>
#include <dovetail/dovetail.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

class Transfers {
 public:
  Transfers(bench::RandomTransfer& problem, dovetail::Runtime& runtime, dovetail::File& file)
      : problem_(problem), runtime_(runtime), file_(file) {}

  void run() {
    for (std::size_t i = 0; i < problem_.depth(); ++i) {
      spawn(problem_.chain(i));
    }
    runtime_.wait();
  }

 private:
  void spawn(bench::RandomTransfer::Chain& chain) {
    runtime_.spawn([this, &chain] {
      if (!problem_.next(chain)) return;
      const std::span buffer(chain.buffer, problem_.block());
      const std::size_t moved =
          problem_.writes() ? file_.pwrite(buffer, chain.offset) : file_.pread(buffer, chain.offset);
      problem_.ended(chain, static_cast<std::int64_t>(moved));
      spawn(chain);
    });
  }

  bench::RandomTransfer& problem_;
  dovetail::Runtime& runtime_;
  dovetail::File& file_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("random_transfer", "dovetail");
  bench::RandomTransfer problem(line);
  const std::string& engine = line.choice("engine", {"auto", "uring", "threads"}, "the storage engine");
  line.parse(argc, argv);
  problem.prepare();
  dovetail::Runtime runtime(dovetail::Options{.workers = static_cast<unsigned>(line.workers()), .engine = engine});
  dovetail::File file = dovetail::File::open(problem.path(), O_RDWR, {.direct = dovetail::Direct::automatic});
  if (!file.direct()) {
    std::fprintf(stderr, "%s: this file system has no direct I/O; name a folder with DOVETAIL_BENCH_DIR\n",
                 problem.path().c_str());
    return 2;
  }
  Transfers transfers(problem, runtime, file);
  return problem.measure([&] { transfers.run(); });
}
