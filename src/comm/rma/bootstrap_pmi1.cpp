// PMI 1, as MPICH's starter and `dovetail launch` speak it: lines of key=value on a descriptor that the process has inherited. The
// MPI library of the process uses the same descriptor, at other times.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "comm/rma/bootstrap.hpp"
#include "comm/rma/connection.hpp"

namespace dovetail::comm::rma {
namespace {

using Fields = std::map<std::string, std::string>;

Fields parse(std::string_view line) {
  Fields fields;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
      fields.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return fields;
}

// The starter takes the end of a process that has asked something, and not said `finalize`, for an accident, and ends the others. An MPI library
// that was initialised says it itself.
void say_finalize_at_exit(int descriptor) {
  struct AtExit {
    int descriptor;
    pid_t process;
    ~AtExit() {
      if (process != getpid()) {
        return;  // the child of a fork
      }
      int initialized = 0;
      const auto ask = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, "MPI_Initialized"));
      if (ask == nullptr || ask(&initialized) != 0 || initialized == 0) {
        constexpr std::string_view line = "cmd=finalize\n";
        char answer = 0;
        if (write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
          while (read(descriptor, &answer, 1) == 1 && answer != '\n') {
          }
        }
      }
    }
  };
  static const AtExit at_exit{descriptor, getpid()};
}

// A program that a process of the starter has started may have the variables, and a file of its own at this number.
void require_connection(int descriptor) {
  struct stat at{};
  if (fstat(descriptor, &at) != 0 || !(S_ISSOCK(at.st_mode) || S_ISFIFO(at.st_mode))) {
    throw std::runtime_error(
        "PMI_FD is " + std::to_string(descriptor) +
        ", which is no connection to a starter. If this process was started by a rank, and is none "
        "itself, remove the variables that begin with PMI_");
  }
}

class Pmi1 final : public Bootstrap {
 public:
  Pmi1(int descriptor, int rank, int size, std::chrono::milliseconds limit)
      : descriptor_(descriptor), rank_(rank), size_(size), limit_(limit) {
    require_connection(descriptor);
    say_finalize_at_exit(descriptor);
    // Without `init`: an MPI library that comes later says that.
    store_ = ask("cmd=get_my_kvsname", "my_kvsname")["kvsname"];
  }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }

  std::vector<std::string> exchange(const std::string& card) override {
    const std::string key = "dovetail-" + std::to_string(exchanges_++) + "-";
    ask("cmd=put kvsname=" + store_ + " key=" + key + std::to_string(rank_) + " value=" + card, "put_result");
    ask("cmd=barrier_in", "barrier_out");
    std::vector<std::string> cards;
    cards.reserve(static_cast<std::size_t>(size_));
    for (int rank = 0; rank < size_; ++rank) {
      cards.push_back(rank == rank_ ? card
                                    : ask("cmd=get kvsname=" + store_ + " key=" + key + std::to_string(rank),
                                          "get_result")["value"]);
    }
    return cards;
  }

 private:
  Fields ask(const std::string& question, const std::string& expected) const {
    write_line(question);
    const std::string line = read_line();
    Fields answer = parse(line);
    if (answer["cmd"] != expected || (answer.contains("rc") && answer["rc"] != "0")) {
      throw std::runtime_error("The starter of this process answered \"" + line + "\" to \"" + question +
                               "\" (PMI 1, descriptor " + std::to_string(descriptor_) + ")");
    }
    return answer;
  }

  void write_line(const std::string& line) const {
    const std::string ended = line + "\n";
    for (std::size_t sent = 0; sent < ended.size();) {
      const ssize_t now = write(descriptor_, ended.data() + sent, ended.size() - sent);
      if (now < 0 && errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), "write to the starter of this process (PMI 1)");
      }
      sent += now > 0 ? static_cast<std::size_t>(now) : 0;
    }
  }
  // By the byte: nothing that follows may be taken, which is for the MPI library.
  std::string read_line() const {
    std::string line;
    for (char byte = 0;;) {
      const int error = wait_until_readable(descriptor_, limit_);
      if (error == ETIMEDOUT) {
        throw std::runtime_error(
            "The starter of this process has not answered in time (GroupOptions::start_timeout): not all " +
            std::to_string(size_) + " ranks have begun the group (PMI 1)");
      }
      if (error != 0) {
        throw std::system_error(error, std::generic_category(), "poll of the starter of this process (PMI 1)");
      }
      const ssize_t now = read(descriptor_, &byte, 1);
      if (now == 0 || (now < 0 && errno != EINTR)) {
        throw std::system_error(now == 0 ? EPIPE : errno, std::generic_category(),
                                "read from the starter of this process (PMI 1)");
      }
      if (now == 1 && byte == '\n') {
        return line;
      }
      if (now == 1) {
        line += byte;
      }
    }
  }

  const int descriptor_;
  const int rank_;
  const int size_;
  const std::chrono::milliseconds limit_;
  static inline unsigned exchanges_ = 0;  // of the process, which may have several groups one after the other
  std::string store_;
};

}  // namespace

std::unique_ptr<Bootstrap> find_pmi1_bootstrap(std::chrono::milliseconds limit) {
  const int descriptor = number_from_starter("PMI_FD", 0);
  const int rank = number_from_starter("PMI_RANK", 0);
  const int size = number_from_starter("PMI_SIZE", 1);
  if (descriptor < 0 || rank < 0 || size < 0) {
    return nullptr;
  }
  return std::make_unique<Pmi1>(descriptor, rank, size, limit);
}

}  // namespace dovetail::comm::rma
