#include "seen_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/clock.hpp"
#include "open_file.hpp"
#include "prefetch/block_advice.hpp"
#include "prefetch/detected_advice.hpp"

namespace dovetail::observer {
namespace {

using prefetching::AdviceTable;
using prefetching::AdvisedFile;
using prefetching::DetectedFile;
using prefetching::DetectionTable;
using prefetching::Detector;
using prefetching::FileEntry;
using prefetching::FileIdentity;

constexpr std::uint64_t seconds_until_closed = 2;
// Threads come and go without a word: what is known of all is forgotten when there are so many.
constexpr std::size_t most_readers = 16384;
constexpr std::size_t most_known_files = 65536;

std::uint64_t seconds() noexcept { return base::coarse_nanoseconds() / 1'000'000'000; }

struct Program {
  std::string name;  // what the system calls it
  std::string file;  // that runs
};

// A program that has ended has no name.
Program program_of(std::uint32_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  Program found;
  std::ifstream comm(folder + "/comm");
  std::getline(comm, found.name);
  std::error_code error;
  found.file = std::filesystem::read_symlink(folder + "/exe", error).filename();
  return found;
}

void set_name(FileEntry& entry, const std::string& path) noexcept {
  std::memcpy(entry.name, path.c_str(), path.size() < FileEntry::longest_name ? path.size() + 1 : 0);
}

}  // namespace

SeenFiles::SeenFiles(std::byte* rules, std::uint64_t bytes_of_rules, std::byte* detection,
                     std::uint64_t bytes_of_detection)
    : rules_(AdviceTable::in(rules, bytes_of_rules)),
      detection_(DetectionTable::in(detection, bytes_of_detection)),
      page_(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))) {
  if ((rules != nullptr && rules_.files() == 0) || (detection != nullptr && detection_.files() == 0)) {
    throw std::runtime_error("the memory holds no rules, or no table of files");
  }
}

SeenFiles::~SeenFiles() {
  for (auto& [key, file] : files_) {
    close(file);
  }
}

bool SeenFiles::note(const page_event& event, std::string_view names, const std::function<bool()>& stop) {
  close_idle();
  if (event.kind == page_event_name) {
    return name(event, names);
  }
  const auto found = files_.find({event.file.device, event.file.inode});
  if (event.kind != page_event_read || event.last < event.first || found == files_.end()) {
    return true;
  }
  if (read(event, found->second, stop)) {
    return true;
  }
  close(found->second);
  files_.erase(found);
  return false;
}

bool SeenFiles::name(const page_event& event, std::string_view names) {
  const Key key(event.file.device, event.file.inode);
  if (files_.contains(key)) {
    return true;
  }
  const std::optional<FoundFile> found = file_systems_.find(event.file, names);
  if (!found || files_.size() >= most_known_files) {
    return false;
  }
  const auto size = static_cast<std::uint64_t>(found->status.st_size);
  const bool may_have_a_rule = rules_.files() != 0 && size > AdviceTable::smallest_file && rules_.concerns(found->path);
  if (!may_have_a_rule && (detection_.files() == 0 || size < DetectionTable::smallest_file)) {
    return false;
  }
  files_.try_emplace(key, File{*found});
  return true;
}

bool SeenFiles::read(const page_event& event, File& file, const std::function<bool()>& stop) {
  const std::tuple key(event.thread, event.file.device, event.file.inode);
  if (readers_.size() >= most_readers && !readers_.contains(key)) {
    readers_.clear();
  }
  const auto [found, is_new] = readers_.try_emplace(key);
  Reader& reader = found->second;
  if (is_new) {
    look(event, file, reader);
  }
  if (reader.advised != nullptr) {
    return by_rule(event, file, reader, stop);
  }
  if (reader.detected != nullptr) {
    return by_pattern(event, file, reader, stop);
  }
  // Of another program it may be known.
  return rules_.files() != 0 && rules_.concerns(file.found.path);
}

// What the first look at a descriptor is in a program.
void SeenFiles::look(const page_event& event, File& file, Reader& reader) {
  struct stat status{};
  if (stat(file.found.path.c_str(), &status) != 0 || status.st_dev != file.found.status.st_dev ||
      status.st_ino != file.found.status.st_ino) {
    return;
  }
  const FileIdentity identity = identity_of(status);
  bool made = false;
  if (rules_.files() != 0 && identity.size > AdviceTable::smallest_file) {
    const Program program = program_of(event.process);
    const std::uint32_t rule = rules_.rule_for(file.found.path, program.name, program.file);
    const std::uint32_t number = rule == AdviceTable::no_rule ? rules_.files() : rules_.find(identity, rule, made);
    if (number != rules_.files()) {
      reader.rule = rule;
      reader.advised = &rules_.file(number);
      if (made) {
        set_name(*reader.advised, file.found.path);
      }
      return;
    }
  }
  const std::uint32_t number = detection_.find(identity, made);
  if (number != detection_.files()) {
    reader.detected = &detection_.file(number);
    if (made) {
      set_name(*reader.detected, file.found.path);
    }
  }
}

bool SeenFiles::by_rule(const page_event& event, File& file, Reader& reader, const std::function<bool()>& stop) {
  AdvisedFile& advised = *reader.advised;
  const std::uint64_t offset = event.first * page_;
  const std::uint64_t bytes = (event.last - event.first + 1) * page_;
  if (offset < reader.inside.offset || offset + bytes > reader.inside.end) {
    const std::uint64_t id = std::uint64_t{event.process} << 32 | event.thread;
    const AdviceTable::Noted noted =
        rules_.note(reader.rule, advised, offset, bytes, id, static_cast<std::uint32_t>(seconds()));
    reader.inside = noted.inside;
    reader.block_bytes = noted.block_bytes;
  }
  if (reader.block_bytes != 0 && advised.blocks.has_work() && open(file, advised)) {
    give_advice(advised, reader.block_bytes, OpenFile{file.descriptor, advised.piece_bytes(), advised.asked, stop});
  }
  return advised.given_up.load(std::memory_order_relaxed) == prefetching::not_given_up;
}

bool SeenFiles::by_pattern(const page_event& event, File& file, Reader& reader, const std::function<bool()>& stop) {
  DetectedFile& detected = *reader.detected;
  std::uint64_t offset = event.first * page_;
  const std::uint64_t end = (event.last + 1) * page_;
  // A read that begins within the page in which the one before has ended goes on from there.
  const std::uint64_t next = reader.told.next();
  offset = offset + page_ == next && end > next ? next : offset;
  const bool repetition_rests = detected.repetition.rests();
  reader.told.note(offset, end - offset, repetition_rests, [&](std::uint64_t from, std::uint64_t length, bool resting) {
    const Detector::Noted noted = detected.note(from, length, detection_.limits(detected), resting, repetition_rests);
    if (noted == Detector::Noted::no_pattern) {
      reader.told.rest(detected.detector.rest());
    }
    detection_.count_outstanding(detected);
  });
  if (detected.has_advice() && open(file, detected)) {
    give_detected(detected, OpenFile{file.descriptor, detected.piece_bytes(), detected.asked, stop});
  }
  return detected.given_up.load(std::memory_order_relaxed) == prefetching::not_given_up;
}

bool SeenFiles::open(File& file, FileEntry& entry) noexcept {
  file.used = seconds();
  if (file.descriptor >= 0) {
    return true;
  }
  if (open_ >= most_files()) {
    return false;  // later, when others are closed
  }
  errno = 0;
  file.descriptor = open_regular(file.found.path.c_str(), file.found.status);
  if (file.descriptor < 0) {
    if (errno != EMFILE && errno != ENFILE) {
      entry.given_up.store(prefetching::cannot_be_opened, std::memory_order_relaxed);
    }
    return false;
  }
  ++open_;
  return true;
}

void SeenFiles::close(File& file) noexcept {
  if (file.descriptor >= 0) {
    ::close(file.descriptor);
    file.descriptor = -1;
    --open_;
  }
}

bool SeenFiles::close_idle() noexcept {
  const std::uint64_t now = seconds();
  if (open_ != 0 && now != looked_) {
    looked_ = now;
    for (auto& [key, file] : files_) {
      if (now - file.used >= seconds_until_closed) {
        close(file);
      }
    }
  }
  return open_ != 0;
}

}  // namespace dovetail::observer
