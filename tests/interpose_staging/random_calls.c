/* A program that has never heard of Dovetail: random calls on a few files, by a seed. It prints what each has given. With and without the library before it,
   and a child or two, it prints the same and leaves the same files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { files = 4, slots = 8, most = 70000, room = 300000 };

static uint64_t state;
static unsigned below(unsigned limit) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % limit;
}

static int fds[slots];
static char data[most + 1];
static char got[room];

static uint64_t sum(const char* bytes, size_t count) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < count; ++i) {
    hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
  }
  return hash;
}

static const char* name(unsigned number) {
  static char names[files][8];
  snprintf(names[number], sizeof names[number], "f%u", number);
  return names[number];
}

static void fill(size_t bytes) {
  const unsigned first = below(256);
  for (size_t i = 0; i < bytes; ++i) {
    data[i] = (char)(first + i * 7);
  }
}

static size_t length(void) { return below(4) == 0 ? below(most) : below(200); }
static off_t place(void) { return below(3) == 0 ? below(room / 2) : below(2000); }

static void say(const char* call, long long result) {
  printf("%s %lld %s\n", call, result, result < 0 ? strerrorname_np(errno) : "");
}

static void look(int fd) {
  struct stat opened;
  if (fstat(fd, &opened) == 0) {
    printf("fstat %lld\n", (long long)opened.st_size);
  } else {
    say("fstat", -1);
  }
}

static void step(void) {
  static const int modes[] = {O_RDWR,          O_RDWR, O_WRONLY, O_RDONLY, O_RDWR | O_APPEND, O_WRONLY | O_APPEND,
                              O_RDWR | O_DSYNC};
  static const int makes[] = {0, O_CREAT, O_CREAT, O_CREAT | O_TRUNC, O_CREAT | O_EXCL};
  const unsigned slot = below(slots);
  const int fd = fds[slot];
  const size_t bytes = length();
  const off_t offset = place();
  switch (below(40)) {
    case 0:
    case 1:
    case 2:
    case 3: {
      if (fd >= 0) {
        say("close", close(fd));
      }
      const int flags = modes[below(7)] | makes[below(5)];
      fds[slot] = below(2) ? open(name(below(files)), flags, 0644) : openat(AT_FDCWD, name(below(files)), flags, 0600);
      say("open", fds[slot] < 0 ? -1 : 0);
      break;
    }
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
      fill(bytes);
      say("write", write(fd, data, bytes));
      break;
    case 9:
    case 10:
    case 11:
    case 12:
      fill(bytes);
      say("pwrite", pwrite(fd, data, bytes, offset));
      break;
    case 13: {
      fill(bytes);
      const struct iovec parts[3] = {{data, bytes / 3}, {data + bytes / 3, 0}, {data + bytes / 3, bytes - bytes / 3}};
      say("writev", below(2) ? writev(fd, parts, 3) : pwritev(fd, parts, 3, offset));
      break;
    }
    case 14: {
      fill(bytes);
      const struct iovec part = {data, bytes};
      const int flags = below(2) ? RWF_APPEND : RWF_DSYNC;
      say("pwritev2", pwritev2(fd, &part, 1, below(2) ? -1 : offset, flags));
      break;
    }
    case 15:
    case 16:
    case 17: {
      const ssize_t done = read(fd, got, bytes);
      say("read", done);
      printf("%llx\n", (unsigned long long)sum(got, done > 0 ? (size_t)done : 0));
      break;
    }
    case 18:
    case 19:
    case 20: {
      const ssize_t done = pread(fd, got, room, offset);
      say("pread", done);
      printf("%llx\n", (unsigned long long)sum(got, done > 0 ? (size_t)done : 0));
      break;
    }
    case 21: {
      const struct iovec parts[2] = {{got, bytes / 2}, {got + bytes / 2, bytes - bytes / 2}};
      const ssize_t done = below(2) ? readv(fd, parts, 2) : preadv(fd, parts, 2, offset);
      say("readv", done);
      printf("%llx\n", (unsigned long long)sum(got, done > 0 ? (size_t)done : 0));
      break;
    }
    case 22:
    case 23:
      say("lseek", lseek(fd, below(4) == 0 ? -(off_t)below(100) : offset, (int)below(3)));
      break;
    case 24:
      say("ftruncate", ftruncate(fd, offset));
      break;
    case 25:
      say("truncate", truncate(name(below(files)), offset));
      break;
    case 26:
      say("fsync", below(2) ? fsync(fd) : fdatasync(fd));
      break;
    case 27: {
      const unsigned to = below(slots);
      if (to != slot && fds[to] >= 0) {
        if (fd >= 0 && below(2)) {
          say("dup2", dup2(fd, fds[to]) < 0 ? -1 : 0);
          break;
        }
        say("close", close(fds[to]));
        fds[to] = -1;
      }
      if (to != slot) {
        fds[to] = below(2) ? dup(fd) : fcntl(fd, F_DUPFD_CLOEXEC, 0);
        say("dup", fds[to] < 0 ? -1 : 0);
      }
      break;
    }
    case 28: {
      struct stat status;
      const int result = below(2) ? stat(name(below(files)), &status) : lstat(name(below(files)), &status);
      say("stat", result);
      if (result == 0) {
        printf("%lld %d\n", (long long)status.st_size, (int)status.st_nlink);
      }
      break;
    }
    case 29: {
      struct statx status;
      const int result = statx(AT_FDCWD, name(below(files)), 0, STATX_SIZE, &status);
      say("statx", result);
      if (result == 0) {
        printf("%lld\n", (long long)status.stx_size);
      }
      break;
    }
    case 30:
      say("rename", rename(name(below(files)), name(below(files))));
      break;
    case 31:
      say("unlink", unlink(name(below(files))));
      break;
    case 32:
      say("link", link(name(below(files)), name(below(files))));
      break;
    case 33: {
      const int flags = fcntl(fd, F_GETFL);
      say("F_SETFL", flags < 0 ? -1 : fcntl(fd, F_SETFL, flags ^ O_APPEND));
      break;
    }
    case 34: {
      const int in = fds[below(slots)];
      off_t from = offset;
      off_t to = place();
      const int with = (int)below(2);
      ssize_t done = 0;
      ssize_t all = 0;
      size_t left = bytes;  // as many as there are, in whatever pieces
      do {
        done = with ? copy_file_range(in, &from, fd, &to, left, 0) : sendfile(fd, in, &from, left);
        all += done > 0 ? done : 0;
        left -= done > 0 ? (size_t)done : 0;
      } while (done > 0 && left != 0);
      say("copy", done < 0 && all == 0 ? -1 : all);
      break;
    }
    case 35: {
      const struct timespec times[2] = {{1000000 + below(1000), 0}, {2000000 + below(1000), 5000}};
      if (below(2)) {
        say("futimens", futimens(fd, times));
      } else {
        say("utimensat", utimensat(AT_FDCWD, name(below(files)), times, 0));
      }
      break;
    }
    case 36:
      look(fd);
      break;
    case 37: {
      if (below(4) != 0) {
        break;
      }
      char* memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      struct stat status;
      if (memory == MAP_FAILED) {
        say("mmap", -1);
      } else {
        if (fstat(fd, &status) == 0 && status.st_size > 100) {
          memory[50] = (char)below(256);
          printf("map %d\n", memory[99]);
        }
        munmap(memory, 4096);
      }
      break;
    }
    case 38: {
      if (below(4) != 0) {
        break;
      }
      fflush(stdout);
      const pid_t child = fork();
      if (child == 0) {
        fill(100);
        const ssize_t done = below(2) ? write(fd, data, 100) : pwrite(fd, data, 100, offset);
        const int more = open(name(below(files)), O_WRONLY | O_APPEND);
        const ssize_t then = more < 0 ? -1 : write(more, data, 50);
        _exit((done > 0) + 2 * (then > 0));
      }
      below(2), fill(100), place(), below(files);
      int status = 0;
      waitpid(child, &status, 0);
      printf("child %d\n", WEXITSTATUS(status));
      break;
    }
    default: {
      FILE* stream = fopen(name(below(files)), below(2) ? "r+" : "a+");
      say("fopen", stream == NULL ? -1 : 0);
      if (stream != NULL) {
        fseek(stream, (long)below(300), SEEK_SET);
        printf("%d\n", fgetc(stream));
        fseek(stream, 0, SEEK_CUR);
        fputs("from a stream", stream);
        fclose(stream);
      }
      break;
    }
  }
}

int main(int count, char** arguments) {
  if (count != 4 || chdir(arguments[1]) != 0) {
    return 2;
  }
  state = strtoull(arguments[2], NULL, 10);
  const int steps = atoi(arguments[3]);
  for (int i = 0; i < slots; ++i) {
    fds[i] = -1;
  }
  for (int i = 0; i < steps; ++i) {
    printf("%d: ", i);
    step();
  }
  for (int i = 0; i < files; ++i) {
    struct stat status;
    if (stat(name((unsigned)i), &status) == 0) {
      printf("%d %lld\n", i, (long long)status.st_size);
    }
  }
  fflush(stdout);
  switch (below(3)) {
    case 0:
      _exit(3);
    case 1:
      exit(3);
    default:
      execlp("true", "true", NULL);
  }
  return 1;
}
