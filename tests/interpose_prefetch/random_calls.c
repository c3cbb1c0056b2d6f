// random_calls FOLDER SEED CALLS: makes calls at random on the files a, b and c of the folder, good ones and bad ones, and prints what each of
// them has given. The files are only read; `out` is written.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { room = 1 << 16, numbers = 24, streams = 4, largest = 1900000 };

static uint64_t state;
static uint64_t any(uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 8) % below;
}

static const char* folder;
static int fds[numbers];
static FILE* files[streams];
static char data[room];
static int call_number;
static char* volatile nowhere = (char*)8;

static const char* path(void) {
  static char text[4096];
  const char* names[] = {"a", "b", "c", "none", "/dev/null", "."};
  const uint64_t which = any(20);
  const char* name = names[which < 17 ? which % 3 : which - 14];
  if (name[0] == '/') {
    return name;
  }
  snprintf(text, sizeof text, "%s/%s", folder, name);
  return text;
}

static uint64_t hash(const void* bytes, int64_t count) {
  uint64_t sum = 14695981039346656037U;
  for (int64_t i = 0; i < count; ++i) {
    sum = (sum ^ ((const unsigned char*)bytes)[i]) * 1099511628211U;
  }
  return sum;
}

// errno too: 77 before each call.
static void tell(const char* what, int64_t result, const void* bytes, int64_t count) {
  const int error = errno;
  printf("%d %s %lld %d %llx\n", call_number, what, (long long)result, error,
         (unsigned long long)hash(bytes, count > 0 ? count : 0));
}

static int one(void) { return any(20) == 0 ? 9000 : fds[any(numbers)]; }
static void keep(int fd) {
  int* place = &fds[any(numbers)];
  if (fd < 0) {
    return;
  }
  if (*place >= 0) {
    close(*place);
  }
  *place = fd;
}
static size_t amount(void) { return (size_t)(any(10) == 0 ? any(4) : any(room)); }
static off_t offset(void) { return any(15) == 0 ? -5 : (off_t)any(largest); }

static void vectors(struct iovec* made) {
  const size_t half = amount() / 2;
  made[0] = (struct iovec){data, half};
  made[1] = (struct iovec){data + half, half / 3};
}

static volatile sig_atomic_t handled;
static void handler(int number) {
  static char mine[512];
  const int error = errno;
  (void)number;
  handled = (int)pread(fds[0], mine, sizeof mine, 4096);
  errno = error;
}

static void* read_in_thread(void* place) {
  *(ssize_t*)place = pread(fds[1], data, 1000, 100);
  return NULL;
}

static void child(int kind) {
  char word[PATH_MAX + 64];
  snprintf(word, sizeof word, "head -c 9000 '%s/a' | cksum", folder);
  fflush(stdout);
  if (kind == 0) {
    const pid_t made = fork();
    if (made == 0) {
      const ssize_t done = pread(fds[2], data, 5000, 12000);
      close_range(3, 8000, 0);
      const int fd = open("/proc/self/exe", O_RDONLY);
      tell("child", done, data, done);
      tell("its descriptor", fd, NULL, 0);
      fflush(stdout);
      _exit(7);
    }
    int status = 0;
    waitpid(made, &status, 0);
    tell("fork", status, NULL, 0);
  } else if (kind == 1) {
    const pid_t made = vfork();
    if (made == 0) {
      execl("/bin/sh", "sh", "-c", word, (char*)NULL);
      _exit(9);
    }
    int status = 0;
    waitpid(made, &status, 0);
    tell("vfork", status, NULL, 0);
  } else {
    FILE* pipe = popen(word, "r");
    const size_t done = fread(data, 1, 100, pipe);
    tell("popen", (int64_t)done, data, (int64_t)done);
    tell("pclose", pclose(pipe), NULL, 0);
  }
}

static void stream_call(void) {
  FILE** place = &files[any(streams)];
  FILE* file = *place;
  if (file == NULL) {
    *place = file = any(4) == 0 ? fdopen(open(path(), O_RDONLY), "r") : fopen(path(), "r");
    tell("fopen", file == NULL ? -1 : fileno(file), NULL, 0);
    return;
  }
  int64_t done = 0;
  static char* line;
  static size_t length;
  fpos_t place_in_file;
  switch (any(16)) {
    case 0:
      done = (int64_t)fread(data, 1, amount(), file);
      return tell("fread", done, data, done);
    case 1:
      done = (int64_t)fread(data, 3, amount() / 3, file);
      return tell("fread 3", done, data, 3 * done);
    case 2:
      done = fgets(data, 1 + (int)any(300), file) != NULL;
      return tell("fgets", done, data, done ? (int64_t)strlen(data) : 0);
    case 3:
      done = getline(&line, &length, file);
      return tell("getline", done, line, done);
    case 4:
      done = getdelim(&line, &length, 'q', file);
      return tell("getdelim", done, line, done);
    case 5:
      return tell("getc", getc(file), NULL, 0);
    case 6:
      return tell("fgetc_unlocked", fgetc_unlocked(file), NULL, 0);
    case 7:
      return tell("fseek", fseek(file, (long)offset(), SEEK_SET), NULL, 0);
    case 8:
      return tell("fseeko", fseeko(file, (off_t)any(5000) - 2500, SEEK_CUR), NULL, 0);
    case 9:
      rewind(file);
      return tell("rewind", ftell(file), NULL, 0);
    case 10:
      done = fscanf(file, "%60s", data);
      return tell("fscanf", done, data, done > 0 ? (int64_t)strlen(data) : 0);
    case 11:
      done = (int64_t)fread_unlocked(data, 1, amount(), file);
      return tell("fread_unlocked", done, data, done);
    case 12:
      done = fgets_unlocked(data, 1 + (int)any(300), file) != NULL;
      return tell("fgets_unlocked", done, data, done ? (int64_t)strlen(data) : 0);
    case 13:
      done = fgetpos(file, &place_in_file);
      getc(file);
      return tell("fsetpos", done == 0 ? fsetpos(file, &place_in_file) : done, NULL, 0);
    case 14:
      *place = freopen(path(), "r", file);
      return tell("freopen", *place == NULL ? -1 : fileno(*place), NULL, 0);
    default:
      *place = NULL;
      return tell("fclose", fclose(file), NULL, 0);
  }
}

static void call(int out, const int* pipes) {
  struct iovec two[2];
  vectors(two);
  const int fd = one();
  ssize_t done = 0;
  off_t from = offset();
  memset(data, 0, sizeof data);
  errno = 77;
  switch (any(29)) {
    case 0:
      done = open(path(), any(9) == 0 ? O_RDWR : O_RDONLY | O_CLOEXEC);
      tell("open", done, NULL, 0);
      return keep((int)done);
    case 1:
      done = openat(AT_FDCWD, path(), O_RDONLY);
      tell("openat", done, NULL, 0);
      return keep((int)done);
    case 2:
      done = dup(fd);
      tell("dup", done, NULL, 0);
      return keep((int)done);
    case 3:
      return tell("dup2", dup2(fd, one()), NULL, 0);
    case 4:
      return tell("dup3", dup3(fd, one(), O_CLOEXEC), NULL, 0);
    case 5:
      return tell("close", any(3) == 0 ? close(fd) : 0, NULL, 0);
    case 6:
      return tell("close_range", close_range(200, 9500, 0), NULL, 0);
    case 7:
    case 8:
    case 9:
      done = read(fd, data, amount());
      return tell("read", done, data, done);
    case 10:
      return tell("read to nowhere", read(fd, nowhere, 100), NULL, 0);
    case 11:
    case 12:
    case 13:
      done = pread(fd, data, amount(), from);
      return tell("pread", done, data, done);
    case 14:
      done = readv(fd, two, 2);
      return tell("readv", done, data, done);
    case 15:
      done = preadv(fd, two, 2, from);
      return tell("preadv", done, data, done);
    case 16:
      done = preadv2(fd, two, 2, any(2) == 0 ? -1 : from, 0);
      return tell("preadv2", done, data, done);
    case 17:
    case 18:
      return tell("lseek", lseek(fd, from, any(3) == 0 ? SEEK_CUR : SEEK_SET), NULL, 0);
    case 19: {
      const size_t bytes = 1 + amount();
      void* mapped = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, (from < 0 ? -1 : from / 65536 * 4096));
      tell("mmap", mapped == MAP_FAILED ? -1 : 0, mapped, mapped == MAP_FAILED ? 0 : 1);
      return mapped == MAP_FAILED ? (void)0 : (void)munmap(mapped, bytes);
    }
    case 20:
      done = sendfile(out, fd, any(2) == 0 ? NULL : &from, amount());
      return tell("sendfile", done, &from, sizeof from);
    case 21: {
      off_t to = (off_t)any(10000);
      done = copy_file_range(fd, any(2) == 0 ? NULL : &from, out, &to, amount(), 0);
      return tell("copy_file_range", done, &from, sizeof from);
    }
    case 22:
      done = splice(fd, any(2) == 0 ? NULL : &from, pipes[1], NULL, any(4096), 0);
      tell("splice", done, &from, sizeof from);
      return tell("its data", done > 0 ? read(pipes[0], data, (size_t)done) : 0, data, done);
    case 23:
      raise(SIGUSR1);
      return tell("handler", handled, NULL, 0);
    case 24: {
      pthread_t thread;
      pthread_create(&thread, NULL, read_in_thread, &done);
      pthread_join(thread, NULL);
      return tell("thread", done, data, done);
    }
    case 25: {
      // The C library has no function for it.
      const struct open_how how = {.flags = O_RDONLY};
      done = syscall(SYS_openat2, AT_FDCWD, path(), &how, sizeof how);
      tell("openat2", done, NULL, 0);
      return keep((int)done);
    }
    case 26:
      return any(6) == 0 ? child((int)any(3)) : (void)0;
    default:
      return stream_call();
  }
}

int main(int count, char** words) {
  if (count != 4) {
    return 2;
  }
  folder = words[1];
  state = strtoull(words[2], NULL, 10) * 2654435761U + 88172645463325252U;
  static char text[4096];
  snprintf(text, sizeof text, "%s/out", folder);
  const int out = open(text, O_RDWR | O_CREAT | O_TRUNC, 0600);
  int pipes[2];
  if (out < 0 || pipe(pipes) != 0) {
    return 2;
  }
  signal(SIGUSR1, handler);
  for (int i = 0; i < numbers; ++i) {
    fds[i] = open(path(), O_RDONLY);
  }
  for (call_number = 0; call_number < atoi(words[3]); ++call_number) {
    call(out, pipes);
  }
  return 3;
}
