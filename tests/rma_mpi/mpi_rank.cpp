// Preloaded, it makes a program of ranks one that uses MPI, and puts the rank on a node: in the network namespace of its number among those that
// DOVETAIL_TEST_NODES lists. libfabric cannot be loaded where DOVETAIL_TEST_NO_LIBFABRIC is set.
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int cannot_begin = 90;

pid_t of_rank = -1;

void enter_node(int rank) {
  const char* const nodes = std::getenv("DOVETAIL_TEST_NODES");
  if (nodes == nullptr) {
    return;
  }
  std::istringstream words(nodes);
  std::vector<std::string> names;
  for (std::string name; words >> name;) {
    names.push_back(name);
  }
  const std::string path = "/run/netns/" + names[static_cast<std::size_t>(rank) % names.size()];
  const int node = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (node < 0 || setns(node, CLONE_NEWNET) != 0) {
    std::perror(path.c_str());
    std::_Exit(cannot_begin);
  }
  close(node);
}

int level() {
  const char* const wanted = std::getenv("DOVETAIL_TEST_LEVEL");
  return wanted != nullptr && std::strcmp(wanted, "serialized") == 0 ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
}

void finalize() {
  int is_finalized = 0;
  if (getpid() == of_rank && std::getenv("DOVETAIL_TEST_NO_FINALIZE") == nullptr &&
      MPI_Finalized(&is_finalized) == MPI_SUCCESS && is_finalized == 0) {
    MPI_Finalize();
  }
}

__attribute__((constructor)) void begin() {
  int provided = MPI_THREAD_SINGLE;
  int rank = 0;
  // A program that a rank starts is no rank.
  unsetenv("LD_PRELOAD");  // NOLINT(concurrency-mt-unsafe): no other thread is there yet
  MPI_Init_thread(nullptr, nullptr, level(), &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  enter_node(rank);
  of_rank = getpid();
  std::atexit(finalize);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlopen(const char* file, int mode) {
  static const auto real = reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  const bool is_refused = file != nullptr && std::strcmp(file, "libfabric.so.1") == 0 &&
                          std::getenv("DOVETAIL_TEST_NO_LIBFABRIC") != nullptr;
  return real(is_refused ? "no-libfabric" : file, mode);
}
