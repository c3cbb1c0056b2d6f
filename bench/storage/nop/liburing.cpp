// The bare loop alone.
#include <string>

#include "nop/nop.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("nop", "liburing");
  const bench::NopProblem nop = bench::declare_nop(line);
  line.parse(argc, argv);
  bench::BareLoop loop;
  std::int64_t ended = 0;
  return bench::measure_and_finish(
      line, {.operations = nop.requests,
             .run = [&] { ended = loop.run(nop); },
             .check = [&] { return ended == nop.requests ? std::string() : "requests were lost"; }});
}
