// The memory of rules, through which programs speak to the advisor. A hostile program may write anything there, also while it is used. Nothing
// outside of it is touched, and the requests to the system have an end. The advisor opens no other file and forgets no descriptor.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "fuzzer.hpp"
#include "prefetch/advice_memory.hpp"
#include "prefetch/advisor.hpp"
#include "prefetch/block_advice.hpp"
#include "pretended_file.hpp"
#include "source.hpp"

namespace dovetail::fuzz {
namespace {

using prefetching::AdviceKind;
using prefetching::AdviceMemory;
using prefetching::AdviceTable;
using prefetching::AdvisedFile;
using prefetching::Advisor;
using prefetching::FileIdentity;
using prefetching::Range;

// A file that the advisor may open, in memory where there is such a file system.
struct OpenFile {
  OpenFile() {
    std::string name = access("/dev/shm", W_OK) == 0 ? "/dev/shm/dovetail-fuzz-XXXXXX" : "/tmp/dovetail-fuzz-XXXXXX";
    descriptor = mkstemp(name.data());
    unlink(name.c_str());
    struct stat status{};
    require(ftruncate(descriptor, 8 << 20) == 0 && fstat(descriptor, &status) == 0, "there is a file");
    identity = {status.st_dev, status.st_ino, 8 << 20, 1, 1};
  }
  int descriptor = -1;
  FileIdentity identity{};
};

struct System : PretendedFile {
  AdvisedFile& file;
  std::uint64_t& calls;

  bool will_need(const Range& range) const {
    require(range.offset < range.end, "there is something to ask for");
    return prefetching::in_pieces(range, file.piece_bytes(), [this](const Range& part) {
      require(++calls < 1'000'000, "there is an end to the calls");
      require(part.end - part.offset <= file.piece_bytes(), "no piece is longer than the kernel takes");
      file.asked.fetch_add(part.end - part.offset, std::memory_order_relaxed);
      return true;
    });
  }
  bool dont_need(const Range& range) const {
    require(range.offset < range.end, "there is something to release");
    require(++calls < 1'000'000, "there is an end to the calls");
    return source.byte() % 16 != 0;
  }
};

// What the advisor does between two looks at the memory: the clock is asked each time.
struct Turns {
  AdviceMemory* memory = nullptr;
  AdviceTable* table = nullptr;
  Source* source = nullptr;
  Advisor* advisor = nullptr;
  std::uint64_t now = 0;
  unsigned left = 0;
};
Turns turns;

std::uint64_t next_turn() {
  if (turns.advisor == nullptr) {
    return turns.now;
  }
  // It never sleeps: there is something new each time.
  turns.table->told().fetch_add(1, std::memory_order_relaxed);
  if (turns.left == 0 || turns.source->ended()) {
    turns.advisor->stop();
    return turns.now;
  }
  --turns.left;
  write_into(turns.memory->memory(), turns.memory->bytes(), *turns.source);
  if (turns.source->byte() % 8 == 0) {
    turns.advisor->forget();
  }
  turns.now += turns.source->byte() % 3;
  return turns.now;
}

int lowest_free_descriptor() {
  const int found = open("/", O_RDONLY | O_PATH | O_CLOEXEC);
  close(found);
  return found;
}

void serve(AdviceMemory& memory, AdviceTable& table, Source& source) {
  const int before = lowest_free_descriptor();
  {
    turns = {};
    Advisor advisor(table, next_turn);
    turns = {&memory, &table, &source, &advisor, 0, 1 + source.byte() % 8};
    advisor.run();
    require(advisor.open_files() <= table.files(), "the advisor has at most one descriptor for each file");
    turns = {};
  }
  require(lowest_free_descriptor() == before, "the advisor has closed what it has opened");
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string read("\0\x64\x65", 3);
  const std::string changed = repeated(std::string("\x01\x70\x01\x32\x03", 5) + read, 40);
  std::string advisor = repeated(read, 10);
  for (int turn = 0; turn < 20; ++turn) {
    advisor += std::string("\x05\x04\x65\x01\x32\x03\x01\x01", 8) + read;
  }
  return {"",
          repeated(read, 50),
          repeated(std::string("\x02\x66\x64", 3), 50),
          changed,
          advisor,
          repeated(std::string("\x01\xfa\xff\xff\xff\xff\xff\xff\x7f\xff\xfa\x10\x03", 13) + read, 20)};
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  using namespace dovetail::prefetching;
  static const fuzz::OpenFile opened;
  fuzz::Source source(fuzz::text_of(data, size));
  AdviceMemory memory({
      {"/a/*.dat", "", {{{0, 1U << 20}, AdviceKind::will_need}, {{1U << 20, far_end}, AdviceKind::dont_need}}},
      {"/**/[a-c]?", "p*", {{{0, far_end}, AdviceKind::will_need}}, 4096, 128, 128},
      {"/a", "q", {{{0, 4096}, AdviceKind::random}, {{8192, far_end}, AdviceKind::sequential}}},
  });
  AdviceTable table = memory.table();
  fuzz::require(table.files() == AdviceMemory::files, "the table is one");
  std::uint64_t offset = 0;
  for (unsigned count = 0; count < 300 && !source.ended(); ++count) {
    const unsigned what = source.byte();
    if (what % 4 == 1) {
      fuzz::write_into(memory.memory(), memory.bytes(), source);
    }
    if (what % 64 == 5) {
      fuzz::serve(memory, table, source);
    }
    if (what % 16 == 3) {
      const std::string path = source.text();
      const std::uint32_t rule = table.rule_for(path, source.text(), "program");
      fuzz::require(rule == AdviceTable::no_rule || rule < table.rules(), "a number of a rule is one of the table");
    }
    bool made = false;
    const std::uint32_t rule = what / 4 % table.rules();
    const std::uint32_t number = table.find(opened.identity, rule, made);
    fuzz::require(number <= table.files(), "a number of a file is one of the table");
    if (number == table.files()) {
      continue;
    }
    AdvisedFile& file = table.file(number);
    file.holder.store(std::uint64_t{static_cast<std::uint32_t>(getpid())} << 32 |
                      static_cast<std::uint32_t>(opened.descriptor));
    offset = what % 4 == 2 ? source.any_number() : offset + source.any_number();
    const std::uint64_t bytes = source.any_number();
    if (bytes == 0) {
      continue;
    }
    const AdviceTable::Noted noted = table.note(rule, file, offset, bytes, what / 16, what / 64);
    fuzz::require(noted.block_bytes == 0 || (noted.block_bytes >= 4096 && noted.block_bytes <= 1U << 30),
                  "a block is of a sensible size");
    if (what % 64 >= 32) {
      std::uint64_t calls = 0;
      std::uint64_t asked = 0;
      give_advice(file, noted.block_bytes,
                  fuzz::System{{memory.memory(), memory.bytes(), source, asked, 10'000}, file, calls});
    } else if (file.blocks.has_work()) {
      table.tell(number, [](std::atomic<std::uint32_t>&) {});
    }
  }
  fuzz::serve(memory, table, source);
  return 0;
}
