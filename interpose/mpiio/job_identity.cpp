#include "job_identity.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "staging/log_record.hpp"

namespace dovetail::interpose::mpiio {
namespace {

std::atomic<std::int64_t> agreed_identity{0};

void add(std::string& text, const char* value) {
  if (value != nullptr) {
    text += value;
    text += '\n';
  }
}

// Open MPI, and starters with PMIx: the name of the job, and a number that is chosen at random at each start. Slurm gives a job that it starts again the name
// that it had.
std::string from_pmix() {
  std::string text;
  add(text, std::getenv("PMIX_NAMESPACE"));
  if (!text.empty()) {
    add(text, std::getenv("OMPI_MCA_orte_precondition_transports"));
  }
  if (text.starts_with("slurm.")) {
    add(text, std::getenv("SLURM_RESTART_COUNT"));
  }
  return text;
}

std::string from_slurm() {
  if (std::getenv("SLURM_PROCID") == nullptr || std::getenv("SLURM_STEP_ID") == nullptr) {
    return {};
  }
  std::string text;
  add(text, std::getenv("SLURM_JOB_ID"));
  add(text, std::getenv("SLURM_STEP_ID"));
  add(text, std::getenv("SLURM_RESTART_COUNT"));
  return text;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// MPICH's starter tells its processes nothing in common. It has a process on each node, which is called with the port of the one that the user has started.
std::string from_hydra() {
  constexpr std::string_view option("--control-port\0", 15);
  if (std::getenv("PMI_FD") == nullptr) {
    return {};
  }
  // A script may have started this process.
  constexpr int most_generations = 8;
  pid_t process = ::getppid();
  for (int generation = 0; process > 1 && generation < most_generations; ++generation) {
    const std::string process_folder = "/proc/" + std::to_string(process);
    const std::string words = contents_of(process_folder + "/cmdline");
    if (const std::size_t at = words.find(option); at != std::string::npos) {
      const std::string port = words.c_str() + at + option.size();
      return port.empty() ? port : "hydra\n" + port;
    }
    // "PID (NAME) STATE PARENT ..."
    const std::string status = contents_of(process_folder + "/stat");
    const std::size_t name_end = status.rfind(") ");
    process =
        name_end == std::string::npos ? 0 : static_cast<pid_t>(std::strtol(status.c_str() + name_end + 4, nullptr, 10));
  }
  return {};
}

std::int64_t own_identity() {
  std::string text = from_pmix();
  text = text.empty() ? from_slurm() : text;
  text = text.empty() ? from_hydra() : text;
  std::uint64_t number = 0;
  if (text.empty()) {
    std::random_device random;
    number = std::uint64_t{random()} << 32 | random();
  } else {
    number = staging::checksum_of(std::as_bytes(std::span(text)), 0);
  }
  return static_cast<std::int64_t>((number & INT64_MAX) | 1);
}

}  // namespace

std::int64_t job_identity() {
  static const std::int64_t own = own_identity();
  const std::int64_t identity = agreed_identity;
  return identity != 0 ? identity : own;
}

void adopt_job_identity(std::int64_t identity) noexcept { agreed_identity = identity; }

}  // namespace dovetail::interpose::mpiio
