// A plan as it lies in memory that others can write into, also while it is followed. Nothing outside of it is touched, and the requests to the system
// have an end and lie in the file.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "fuzzer.hpp"
#include "prefetch/follower.hpp"
#include "prefetch/plan_advice.hpp"
#include "prefetch/plan_memory.hpp"
#include "pretended_file.hpp"
#include "source.hpp"

namespace dovetail::fuzz {
namespace {

using prefetching::FilePlan;
using prefetching::Followed;
using prefetching::Plan;
using prefetching::Range;

// Exactly as large as the plan, so that what lies behind it is not the program's.
struct Memory {
  explicit Memory(std::size_t size) : bytes(size), data(static_cast<std::byte*>(operator new(size, alignment))) {}
  ~Memory() { operator delete(data, alignment); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  static constexpr std::align_val_t alignment{64};
  std::size_t bytes;
  std::byte* data;
};

struct System : PretendedFile {
  const FilePlan& plan;
  std::uint64_t& calls;

  bool will_need(const Range& range) const {
    require(range.offset < range.end && range.end <= plan.size, "what is asked for lies in the file");
    return prefetching::in_pieces(range, plan.piece, [this](const Range& part) {
      require(++calls < 10'000'000, "there is an end to the calls");
      require(part.offset < part.end, "a piece has something in it");
      require(part.end - part.offset <= plan.piece, "no piece is longer than the kernel takes");
      if (calls < 1000) {
        meanwhile();
      }
      plan.progress->asked.fetch_add(part.end - part.offset, std::memory_order_relaxed);
      return true;
    });
  }
};

// A header that fits, most times, with anything behind it.
std::unique_ptr<Memory> memory_of(Source& source) {
  const std::uint64_t files = source.byte() % 4;
  const std::uint64_t extents = source.short_number() % 4096;
  const std::uint64_t size = 64 + files * (64 + sizeof(prefetching::Progress)) +
                             extents * (sizeof(prefetching::Extent) + sizeof(std::uint32_t) + 1);
  auto memory = std::make_unique<Memory>(size);
  std::memset(memory->data, 0, size);
  const std::uint64_t header[] = {Plan::magic, size, files, extents, source.byte() % 2U};
  std::memcpy(memory->data, header, sizeof header);
  const std::string_view body = source.bytes(std::min<std::size_t>(source.short_number(), size - 64));
  std::memcpy(memory->data + 64, body.data(), body.size());
  return memory;
}

std::string input_of(prefetching::PlanMemory& made, std::string_view calls) {
  const auto& bytes = made.bytes();
  std::uint64_t files = 0;
  std::uint64_t extents = 0;
  std::memcpy(&files, bytes.data() + 16, sizeof files);
  std::memcpy(&extents, bytes.data() + 24, sizeof extents);
  const std::size_t body = bytes.size() - 64;
  require(extents < 256 && body < 65536, "a seed is small");
  std::string input{static_cast<char>(files),     0, static_cast<char>(extents), 1, static_cast<char>(body / 256),
                    static_cast<char>(body % 256)};
  input.append(reinterpret_cast<const char*>(bytes.data() + 64), body);
  input += calls;
  return input;
}

std::string seed(prefetching::PlanMemory& made, std::string_view calls) {
  made.plan();
  return input_of(made, calls);
}

}  // namespace

std::vector<std::string> seeds() {
  // What to do, an offset and a length each, then the identity of a file.
  const std::string reads = repeated(std::string("\0\x01\0\x64\1\x04\x65\1\0\x66\1", 11), 40);
  std::vector<std::string> made = {"", repeated(std::string("\xfa\xff\xff\xff\xff\xff\xff\x7f", 8), 60)};
  made.push_back(seed(prefetching::PlanMemory().file({{0, 4096}, {1U << 20, 65536}}), reads));
  made.push_back(
      seed(prefetching::PlanMemory().file({{8192, 4096}, {0, 4096}, {65536, 4096}}).file({{0, 1U << 20}}), reads));
  // One more read that the plan does not foretell than can be counted.
  prefetching::PlanMemory full;
  full.file({{0, 4096}}).plan();
  const std::int32_t most = INT32_MAX;
  std::memcpy(full.bytes().data() + 64 + 64 + sizeof(prefetching::Extent) + 8, &most, sizeof most);
  made.push_back(input_of(full, reads));
  return made;
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  using namespace dovetail::prefetching;
  fuzz::Source source(fuzz::text_of(data, size));
  const auto memory = fuzz::memory_of(source);
  const Plan plan = Plan::in(memory->data, memory->bytes);
  for (unsigned count = 0; count < 500 && plan.files() != 0 && !source.ended(); ++count) {
    const unsigned what = source.byte();
    if (what % 8 == 1) {
      fuzz::write_into(memory->data, memory->bytes, source);
    }
    const std::uint32_t number = what / 8 % plan.files();
    const FilePlan file = plan.file(number);
    const std::uint64_t offset = source.any_number();
    const std::uint64_t bytes = source.any_number();
    fuzz::require(file.count == 0 || file.piece >= 4096, "a piece is a page at least");
    if (plan.timed()) {
      count_read(file, bytes, source.any_number());
    }
    if (follow(file, offset, bytes) == Followed::wants || what % 8 == 2) {
      std::uint64_t calls = 0;
      std::uint64_t asked = 0;
      give_plan(file, fuzz::System{{memory->data, memory->bytes, source, asked, 100'000}, file, calls});
    }
    ahead(file);
    FileIdentity identity{source.byte(), source.byte(), source.any_number(), source.byte(), source.byte()};
    fuzz::require(plan.find(identity) <= plan.files(), "a number of a file is one of the plan");
  }
  // The header may have been changed meanwhile; what was read of it once counts.
  Plan::in(memory->data, memory->bytes);
  return 0;
}
