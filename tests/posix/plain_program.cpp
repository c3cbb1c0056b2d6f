// A program that has never heard of Dovetail. It writes to standard output what it saw, which must be the same with the
// library loaded before the C library and without it. Calls come from a constructor, threads, signal handlers, children of
// every kind, destructors of thread-locals, atexit handlers and destructors of static objects.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

void say(const char* text) {
  if (write(1, text, strlen(text)) < 0) _exit(9);
}

[[gnu::constructor(102)]] void before_main() { say("constructor\n"); }
[[gnu::destructor]] void after_main() { say("destructor\n"); }

struct Static {
  Static() { say("static constructed\n"); }
  ~Static() { say("static destroyed\n"); }
} const static_object;

struct OfThread {
  ~OfThread() { say("thread-local destroyed\n"); }
};

int pipe_of_handler[2];
void handler(int signal) {
  const char byte = static_cast<char>('0' + signal % 10);
  if (write(pipe_of_handler[1], &byte, 1) != 1) _exit(9);
}

void streams(const std::string& path) {
  {
    std::ofstream out(path);
    for (int i = 0; i < 20'000; ++i) out << i * i << '\n';
  }
  std::ifstream in(path);
  long long sum = 0;
  for (long long number = 0; in >> number;) sum += number;
  std::printf("stream sum %lld\n", sum);
  std::fstream both(path, std::ios::in | std::ios::out | std::ios::ate);
  both << "the end";
  both.seekg(0);
  std::stringstream all;
  all << both.rdbuf();
  std::printf("stream size %zu\n", all.str().size());
}

void calls(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  char buffer[100] = "something to write";
  iovec vectors[] = {{buffer, 9}, {buffer + 9, 9}};
  std::printf("write %zd\n", write(file, buffer, 18));
  std::printf("pwrite %zd\n", pwrite(file, buffer, 18, 100));
  std::printf("writev %zd\n", writev(file, vectors, 2));
  std::printf("pwritev %zd\n", pwritev(file, vectors, 2, 200));
  std::printf("pwritev2 %zd\n", pwritev2(file, vectors, 2, 300, 0));
  std::printf("fsync %d fdatasync %d\n", fsync(file), fdatasync(file));
  std::printf("pread %zd", pread(file, buffer, 100, 290));
  std::printf(" %s\n", buffer + 10);
  std::printf("preadv %zd preadv2 %zd\n", preadv(file, vectors, 2, 310), preadv2(file, vectors, 2, 1000, 0));
  lseek(file, 0, SEEK_SET);
  std::printf("read %zd readv %zd\n", read(file, buffer, 10), readv(file, vectors, 2));
  close(file);
  std::printf("closed %zd %d\n", read(file, buffer, 1), errno);
  std::printf("pipe %zd %d\n", pread(pipe_of_handler[0], buffer, 1, 0), errno);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string path = std::string(arguments[1]) + "/plain";
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  std::atexit([] { say("atexit\n"); });
  if (pipe(pipe_of_handler) != 0) return 1;
  streams(path);
  calls(path);

  struct sigaction action{};
  action.sa_handler = handler;
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGALRM, &action, nullptr);
  raise(SIGUSR1);
  char byte = 0;
  std::printf("handler %zd %c\n", read(pipe_of_handler[0], &byte, 1), byte);
  // Interrupted, since the handler was installed without SA_RESTART.
  int silent[2];
  if (pipe(silent) != 0) return 1;
  const pid_t parent = getpid();
  std::thread([&] {
    static thread_local OfThread local;
    (void)local;
    say("thread\n");
  }).join();
  const pid_t poker = fork();
  if (poker == 0) {
    for (;;) {  // until it is killed: the first signal may come before the read begins
      kill(parent, SIGALRM);
      usleep(20'000);
    }
  }
  const ssize_t interrupted = read(silent[0], &byte, 1);
  const bool said_so = errno == EINTR;
  kill(poker, SIGKILL);
  waitpid(poker, nullptr, 0);
  std::printf("interrupted %zd %d\n", interrupted, said_so);

  const pid_t forked = fork();
  if (forked == 0) {
    calls(path + ".fork");
    _exit(7);
  }
  int status = 0;
  waitpid(forked, &status, 0);
  std::printf("fork %d\n", WEXITSTATUS(status));
  const pid_t quick = vfork();
  if (quick == 0) {
    if (write(1, "vfork\n", 6) != 6) _exit(9);
    execl("/bin/echo", "echo", "executed", nullptr);
    _exit(9);
  }
  waitpid(quick, &status, 0);
  std::printf("vfork %d\n", WEXITSTATUS(status));
  pid_t spawned = 0;
  char name[] = "sh";
  char option[] = "-c";
  char command[] = "echo spawned | cat";
  char* words[] = {name, option, command, nullptr};
  posix_spawn(&spawned, "/bin/sh", nullptr, nullptr, words, environ);
  waitpid(spawned, &status, 0);
  std::printf("spawn %d\n", WEXITSTATUS(status));
  return 3;
}
