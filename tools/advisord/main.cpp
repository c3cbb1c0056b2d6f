// The advisor of a user's programs: `dovetail advisord` reads the configuration, makes the memory and becomes this program.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>

#include "base/descriptor.hpp"
#include "clients.hpp"
#include "prefetch/advisor.hpp"

namespace dovetail::advisord {
namespace {

/// The memory behind a descriptor, until the end of the process.
prefetching::AdviceTable table_in(int memory) {
  struct stat status{};
  const int seals = fcntl(memory, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(memory, &status) != 0) {
    throw std::invalid_argument("--memory: no sealed memory; start it as `dovetail advisord`");
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (mapped == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mapping the memory");
  }
  const auto table = prefetching::AdviceTable::in(static_cast<std::byte*>(mapped), bytes);
  if (table.files() == 0) {
    throw std::invalid_argument("--memory: it holds no rules; start it as `dovetail advisord`");
  }
  return table;
}

/// What ends the advisor comes as something to read. Blocked in all threads that are made from here on.
int signals_to_read() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&signals, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC);
  if (descriptor < 0) {
    throw std::system_error(errno, std::generic_category(), "signalfd");
  }
  return descriptor;
}

/// Files and clients need a descriptor each.
void allow_descriptors() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

int run(int memory, const std::string& socket, bool stay) {
  allow_descriptors();
  const base::Descriptor signals(signals_to_read());
  Clients clients(socket, memory);
  prefetching::Advisor advisor(table_in(memory));
  std::printf("dovetail advisord: at %s\n", socket.c_str());
  std::fflush(stdout);
  const std::jthread thread([&advisor](const std::stop_token& ends) {
    const std::stop_callback stop(ends, [&advisor] { advisor.stop(); });
    advisor.run();
  });
  clients.serve(signals.get(), stay, [&advisor] { advisor.forget(); });
  return 0;
}

}  // namespace
}  // namespace dovetail::advisord

int main(int count, char** arguments) {
  int memory = -1;
  std::string socket;
  bool stay = false;
  CLI::App app("Gives the advice that the programs of `dovetail run --advised` want. Started by `dovetail advisord`.",
               "dovetail-advisord");
  app.set_version_flag("--version", DOVETAIL_VERSION);
  app.add_option("--memory", memory, "The descriptor of the memory with the rules")->required();
  app.add_option("--socket", socket, "Where programs find it")->required();
  app.add_flag("--stay", stay, "Do not end with the last program");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return dovetail::advisord::run(memory, socket, stay);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dovetail advisord: %s\n", error.what());
    return 2;
  }
}
