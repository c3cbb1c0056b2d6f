// The problem: a call that does next to nothing, made again and again. A sample is a batch of calls to the C library's own function and a batch to
// the interposed one. Both take turns in one process, so that what else the machine does slows both. An operation is a call.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <dovetail/dovetail.hpp>

#include "harness/harness.hpp"

namespace {

using Pread = ssize_t (*)(int, void*, std::size_t, off_t);
using Write = ssize_t (*)(int, const void*, std::size_t);

void* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "interposed_call: %s\n", dlerror());
    std::exit(2);
  }
  return found;
}

struct Calls {
  Pread pread;
  Write write;
};

class Problem {
 public:
  Problem() {
    const std::string path = bench::folder_for_files() + "/dovetail-bench-calls.data";
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    null_ = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (file_ < 0 || null_ < 0 || ::write(file_, "x", 1) != 1) {
      bench::die(path);
    }
    unlink(path.c_str());
  }

  double batch(const std::string& call, const Calls& calls, std::int64_t count) {
    const std::int64_t start = bench::wall_nanoseconds();
    char byte = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const ssize_t moved = call == "pread" ? calls.pread(file_, &byte, 1, 0) : calls.write(null_, "x", 1);
      wrong_ += moved != 1 ? 1 : 0;
    }
    return static_cast<double>(bench::wall_nanoseconds() - start) / static_cast<double>(count);
  }
  std::int64_t wrong() const noexcept { return wrong_; }

 private:
  int file_ = -1;
  int null_ = -1;
  std::int64_t wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("interposed_call", "dovetail");
  const std::string& call =
      line.choice("call", {"pread", "write"}, "pread of a cached byte, write of one to /dev/null");
  const std::string& where = line.choice("where", {"outside", "task"}, "outside of any task, or inside of one");
  const std::int64_t& pairs = line.size("pairs", 2000, "of batches");
  const std::int64_t& batch = line.size("batch", 100, "calls in each");
  line.parse(argc, argv);
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  const Calls bare{reinterpret_cast<Pread>(symbol(libc, "pread64")), reinterpret_cast<Write>(symbol(libc, "write"))};
  const Calls interposed{::pread64, ::write};
  if (bare.pread == interposed.pread || bare.write == interposed.write) {
    std::fprintf(stderr, "interposed_call: nothing stands in front of the C library\n");
    return 2;
  }
  Problem problem;
  bench::Report report(line);
  dovetail::Runtime runtime(dovetail::Options{.workers = 1});
  const auto measure = [&] {
    for (int round = 0; round < line.warmup() + line.repeat(); ++round) {
      std::vector<double> differences;
      std::vector<double> plain;
      for (std::int64_t i = 0; i < pairs; ++i) {
        const bool first = i % 2 == 0;
        const double one = problem.batch(call, first ? bare : interposed, batch);
        const double other = problem.batch(call, first ? interposed : bare, batch);
        plain.push_back(first ? one : other);
        differences.push_back(first ? other - one : one - other);
      }
      if (round >= line.warmup()) {
        const auto middle = [](std::vector<double>& values) {
          std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                           values.end());
          return values[values.size() / 2];
        };
        report.add("libc_ns", middle(plain));
        report.add("extra_ns", middle(differences));
      }
    }
  };
  if (where == "task") {
    runtime.spawn(measure).get();
  } else {
    measure();
  }
  if (problem.wrong() > 0) {
    report.wrong(std::to_string(problem.wrong()) + " calls failed");
  }
  return report.finish();
}
