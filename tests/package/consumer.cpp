// A program that has only the installed library: tasks, accesses, a file.
#include <fcntl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <dovetail/dovetail.hpp>
#include <exception>
#include <string>

namespace {

// The whole namespace beside POSIX's names, as in the README's program: none of them becomes ambiguous.
bool posix_names_are_posix() {
  using namespace dovetail;
  char byte = 'x';
  const int descriptor = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  iovec vector{&byte, 1};
  bool fine = descriptor >= 0 && pwrite(descriptor, &byte, 1, 0) == 1 && pwritev(descriptor, &vector, 1, 0) == 1;
  fine = fine && fsync(descriptor) == 0 && fdatasync(descriptor) == 0 && fsync(-1) == -1;
  fine = fine && pread(descriptor, &byte, 1, 0) == 1 && preadv(descriptor, &vector, 1, 0) == 1;
  fine = fine && fallocate(descriptor, 0, 0, 1) == 0 && ftruncate(descriptor, 0) == 0;
  dovetail::fsync(descriptor);
  dovetail::fdatasync(descriptor);
  return fine && close(descriptor) == 0 && wait(nullptr) == -1;
}

}  // namespace

int main() {
  if (!posix_names_are_posix()) {
    std::fprintf(stderr, "POSIX calls beside the namespace dovetail failed\n");
    return 1;
  }
  const std::string path = "/tmp/dovetail-consumer-" + std::to_string(::getpid());
  std::array<int, 1000> squares{};
  long sum = 0;
  try {
    dovetail::Runtime runtime(dovetail::Options{.workers = 2});
    const auto file = dovetail::File::open(path, O_RDWR | O_CREAT | O_TRUNC);
    runtime.spawn({.label = "square", .access = {dovetail::out(squares)}}, [&] {
      for (int i = 0; i < 1000; ++i) {
        squares[static_cast<std::size_t>(i)] = i * i;
      }
    });
    runtime.spawn({.label = "write", .access = {dovetail::inout(squares)}}, [&] {
      file.pwrite(squares, 0);
      squares.fill(0);
    });
    runtime.spawn({.label = "read", .access = {dovetail::inout(squares)}}, [&] { file.ipread(squares, 0); });
    auto total = runtime.spawn({.label = "sum", .access = {dovetail::in(squares)}}, [&] {
      long result = 0;
      for (const int square : squares) {
        result += square;
      }
      return result;
    });
    sum = total.get();
    runtime.wait();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  ::unlink(path.c_str());
  std::printf("sum of squares %ld\n", sum);
  return sum == 332833500 ? 0 : 1;
}
