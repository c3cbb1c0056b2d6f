#include "device/request_facts.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/kernel_files.hpp"
#include "base/process_mutex.hpp"

namespace dovetail::device {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t usual_read_ahead = 128 * 1024;  // of a device that does not say
constexpr std::uint64_t of_heads = 1024 * 1024;
constexpr std::uint64_t of_others = 256 * 1024;
constexpr std::uint64_t longest = std::uint64_t{1} << 30;

std::uint64_t kibibytes_in(const std::string& path) { return base::number_in(base::first_line(path)) * 1024; }

RequestFacts ask(dev_t id) {
  const std::string name = std::to_string(major(id)) + ":" + std::to_string(minor(id));
  const std::string block = "/sys/dev/block/" + name;
  // Of a partition the folder above has it.
  const std::string queue = block + (access((block + "/queue").c_str(), F_OK) == 0 ? "/queue/" : "/../queue/");
  std::uint64_t ahead = kibibytes_in("/sys/class/bdi/" + name + "/read_ahead_kb");
  if (ahead == 0) {
    ahead = kibibytes_in(queue + "read_ahead_kb");
  }
  const std::uint64_t advised = std::max(ahead, kibibytes_in(queue + "max_sectors_kb")) / page * page;
  return {advised == 0 ? usual_read_ahead : std::min(advised, longest),
          base::first_line(queue + "rotational") == "1" ? of_heads : of_others, ahead == 0 ? usual_read_ahead : ahead};
}

struct Known {
  base::ProcessMutex mutex;
  std::map<dev_t, RequestFacts> facts GUARDED_BY(mutex);
};

// Never destroyed: there may be work at the very end of the process.
Known& known() {
  static auto* const instance = new Known;
  return *instance;
}

}  // namespace

RequestFacts request_facts_of(dev_t id) {
  const base::LockGuard lock(known().mutex);
  const auto [place, is_new] = known().facts.try_emplace(id);
  if (is_new) {
    place->second = ask(id);
  }
  return place->second;
}

}  // namespace dovetail::device
