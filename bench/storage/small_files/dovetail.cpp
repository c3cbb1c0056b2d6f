// A task for each file: one that pauses for the disk, or an I/O task, which keeps a thread of its own.
#include <fcntl.h>

#include <dovetail/dovetail.hpp>
#include <vector>

#include "small_files/small_files.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("small_files", "dovetail");
  bench::SmallFiles problem(line);
  const std::string& way = line.choice("way", {"tasks", "io_tasks", "read_file", "read_file_io"}, "what reads a file");
  line.parse(argc, argv);
  problem.make();
  dovetail::Runtime runtime(dovetail::Options{.workers = static_cast<unsigned>(line.workers())});
  const bool whole = way.starts_with("read_file");
  const auto read_all = [&] {
    for (std::int64_t number = 0; number < problem.files(); ++number) {
      runtime.spawn({.label = "read", .io = way == "io_tasks" || way == "read_file_io"}, [&problem, whole, number] {
        if (whole) {
          problem.has_read(number, dovetail::read_file(problem.path(number)));
          return;
        }
        std::vector<std::byte> data(problem.bytes());
        dovetail::File file = dovetail::File::open(problem.path(number), O_RDONLY);
        data.resize(file.pread(data, 0));
        file.close();
        problem.has_read(number, data);
      });
    }
    runtime.wait();
  };
  return bench::measure_and_finish(line, {.operations = problem.files(),
                                          .prepare = [&] { problem.prepare(); },
                                          .run = read_all,
                                          .check = [&] { return problem.what_is_wrong(); }});
}
