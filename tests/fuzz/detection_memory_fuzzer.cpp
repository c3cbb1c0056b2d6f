// The table of detection in memory that others can write into, also while it is used. Nothing outside of it is touched, and the requests to the
// system have an end and lie in the file.
#include <cstring>
#include <new>

#include "fuzzer.hpp"
#include "prefetch/detected_advice.hpp"
#include "prefetch/trust.hpp"
#include "pretended_file.hpp"
#include "source.hpp"

namespace dovetail::fuzz {
namespace {

using prefetching::DetectedFile;
using prefetching::DetectionTable;
using prefetching::Range;

constexpr std::uint64_t files = 3;
constexpr std::size_t table_bytes = 4096 + files * sizeof(DetectedFile) + sizeof(prefetching::OpenLog);

struct Memory {
  Memory() : data(static_cast<std::byte*>(operator new(table_bytes, alignment))) {
    std::memset(data, 0, table_bytes);
    const std::uint64_t header[] = {DetectionTable::magic, table_bytes, files, 64U << 20};
    std::memcpy(data, header, sizeof header);
  }
  ~Memory() { operator delete(data, alignment); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  static constexpr std::align_val_t alignment{4096};
  std::byte* data;
};

struct System : PretendedFile {
  DetectedFile& file;
  std::uint64_t& calls;

  bool will_need(const Range& range) const {
    require(range.offset < range.end && range.end <= prefetching::far_end, "what is asked for can lie in a file");
    return prefetching::in_pieces(range, file.piece_bytes(), [this](const Range& part) {
      require(++calls < 100'000, "there is an end to the calls");
      require(part.end - part.offset <= file.piece_bytes(), "no piece is longer than the kernel takes");
      file.asked.fetch_add(part.end - part.offset, std::memory_order_relaxed);
      return true;
    });
  }
};

// Reads at a distance, as calls of the fuzzer below.
std::string strides(std::string_view one, std::size_t count) { return repeated(one, count); }

}  // namespace

std::vector<std::string> seeds() {
  // A file, then the same step with the same length, forward and backward.
  return {"", strides(std::string("\0\x70\x65", 3), 60), strides(std::string("\x02\x70\x65", 3), 60),
          strides(std::string("\0\x70\x65\x04\x66\x64", 6), 40),
          strides(std::string("\0\x70\x65", 3), 20) + std::string("\x01\xfa\xff\xff\xff\xff\xff\xff\x7f\xff\x03", 11) +
              strides(std::string("\0\x70\x65", 3), 20)};
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  using namespace dovetail::prefetching;
  fuzz::Source source(fuzz::text_of(data, size));
  fuzz::Memory memory;
  DetectionTable table = DetectionTable::in(memory.data, fuzz::table_bytes);
  fuzz::require(table.files() == fuzz::files, "the table is one");
  Trust trust{};
  std::uint64_t offset = 0;
  for (unsigned count = 0; count < 1000 && !source.ended(); ++count) {
    const unsigned what = source.byte();
    if (what % 4 == 1) {
      fuzz::write_into(memory.data, fuzz::table_bytes, source);
    }
    bool made = false;
    const std::uint64_t bytes = what % 16 == 3 ? source.any_number() : std::uint64_t{200} << 20;
    const FileIdentity identity{7, what / 64, bytes, 1, 1};
    const std::uint32_t number = table.find(identity, made);
    fuzz::require(number <= table.files(), "a number of a file is one of the table");
    if (number == table.files()) {
      continue;
    }
    DetectedFile& file = table.file(number);
    const std::uint64_t step = source.any_number();
    offset = what % 4 == 2 ? offset - step : offset + step;
    if (what % 16 == 7) {
      offset = step;
    }
    trust.note(file.detector.note(offset, source.any_number(), table.limits(file)));
    table.count_outstanding(file);
    if (file.detector.has_advice()) {
      std::uint64_t calls = 0;
      std::uint64_t asked = 0;
      give_detected(file, fuzz::System{{memory.data, fuzz::table_bytes, source, asked, 10'000}, file, calls});
    }
  }
  DetectionTable::in(memory.data, fuzz::table_bytes);
  return 0;
}
