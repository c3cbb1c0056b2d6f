// The floor under every pause and resume: two raw switches of Boost.Context, there and back, without a scheduler.
// `fcontext` is the jump itself, `fiber` the class of the library around it.
#include <boost/context/detail/fcontext.hpp>
#include <boost/context/fiber.hpp>
#include <memory>
#include <string>

#include "harness/harness.hpp"

namespace {

namespace context = boost::context;

constexpr std::size_t stack_bytes = 64 * 1024;

void count_jumps(context::detail::transfer_t from) {
  auto& count = *static_cast<std::int64_t*>(from.data);
  for (;;) {
    ++count;
    from = context::detail::jump_fcontext(from.fctx, nullptr);
  }
}

std::int64_t jumps(std::int64_t pairs) {
  // The context never ends, so that nothing but the jumps is timed; its stack holds nothing that needs destroying.
  const auto stack = std::make_unique<std::byte[]>(stack_bytes);
  std::int64_t count = 0;
  auto there = context::detail::make_fcontext(stack.get() + stack_bytes, stack_bytes, count_jumps);
  for (std::int64_t i = 0; i < pairs; ++i) there = context::detail::jump_fcontext(there, &count).fctx;
  return count;
}

std::int64_t fibers(std::int64_t pairs) {
  std::int64_t count = 0;
  context::fiber there([&count](context::fiber&& back) {
    for (;;) {
      ++count;
      back = std::move(back).resume();
    }
    return std::move(back);
  });
  for (std::int64_t i = 0; i < pairs; ++i) there = std::move(there).resume();
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("pause_resume", "boost_context");
  const std::int64_t& pairs = line.size("pauses", 1'000'000, "pairs of switches");
  const std::string& way = line.choice("way", {"fcontext", "fiber"}, "what switches");
  line.parse(argc, argv);

  std::int64_t count = 0;
  const bench::Problem problem{
      .operations = pairs,
      .run = [&] { count = way == "fiber" ? fibers(pairs) : jumps(pairs); },
      .check = [&] { return count == pairs ? std::string{} : std::to_string(count) + " switches there"; },
  };
  return bench::measure_and_finish(line, problem);
}
