// A program that has only the installed library. It makes none of the interposed calls itself; the standard library does. Yet the
// dynamic linker must find these calls in the library, not behind it.
#include <unistd.h>

#include <cstdio>
#include <dovetail/dovetail.hpp>
#include <fstream>
#include <string>

int main() {
  const std::string path = "/tmp/dovetail-consumer-posix-" + std::to_string(::getpid());
  bool loaded = false;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    loaded = loaded || line.find("libdovetail-posix.so") != std::string::npos;
  }
  dovetail::Runtime runtime(dovetail::Options{.workers = 1});
  auto sum = runtime.spawn([&] {
    std::ofstream out(path);
    for (int i = 1; i <= 10'000; ++i) {
      out << i << '\n';
    }
    out.close();
    std::ifstream in(path);
    long total = 0;
    for (long number = 0; in >> number;) {
      total += number;
    }
    return total;
  });
  const long total = sum.get();
  ::unlink(path.c_str());
  if (!loaded || total != 50'005'000) {
    std::fprintf(stderr, "consumer_posix: loaded %d, sum %ld\n", loaded ? 1 : 0, total);
    return 1;
  }
}
