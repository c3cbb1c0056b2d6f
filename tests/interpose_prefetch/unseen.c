// Reads that no library sees. unseen mapped|ring|worker|bare FILE OFFSET...: reads a page at each offset, in memory that is mapped, by io_uring in the call
// or in a thread of the kernel's, or by a system call of its own. Status 77: this system has no io_uring.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { page = 4096 };
static char text[page];

static int read_in_memory(int fd, off_t at) {
  const unsigned char* memory = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, at);
  if (memory == MAP_FAILED) {
    return 0;
  }
  text[0] = (char)*(const volatile unsigned char*)memory;
  return 1;
}

static int read_by_ring(int fd, off_t at, unsigned flags) {
  struct io_uring ring;
  const int error = io_uring_queue_init(1, &ring, 0);
  if (error == -ENOSYS || error == -EPERM) {
    exit(77);
  }
  struct io_uring_cqe* done = NULL;
  if (error != 0) {
    return 0;
  }
  struct io_uring_sqe* asked = io_uring_get_sqe(&ring);
  io_uring_prep_read(asked, fd, text, page, (unsigned long long)at);
  io_uring_sqe_set_flags(asked, flags);
  const int good = io_uring_submit(&ring) == 1 && io_uring_wait_cqe(&ring, &done) == 0 && done->res == page;
  io_uring_queue_exit(&ring);
  return good;
}

int main(int count, char** words) {
  const int fd = count < 3 ? -1 : open(words[2], O_RDONLY);
  int good = fd >= 0;
  for (int i = 3; i < count && good; ++i) {
    const off_t at = atol(words[i]);
    if (strcmp(words[1], "mapped") == 0) {
      good = read_in_memory(fd, at);
    } else if (strcmp(words[1], "ring") == 0) {
      good = read_by_ring(fd, at, 0);
    } else if (strcmp(words[1], "worker") == 0) {
      good = read_by_ring(fd, at, IOSQE_ASYNC);
    } else {
      good = syscall(SYS_pread64, fd, text, page, at) == page;
    }
  }
  return good ? 0 : 1;
}
