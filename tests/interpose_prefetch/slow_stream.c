// Reads by a stream of the C library, whose buffer is in memory that another thread gives: only after so many milliseconds (userfaultfd). So one read is
// slow on every disk. Prints the nanoseconds of the call that has read.
//   prefetch_slow_stream FILE fread|fgets|fgetc|fseek MILLISECONDS
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { buffer_bytes = 65536 };
static int faults;
static long milliseconds;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void* give(void* unused) {
  struct uffd_msg message;
  while (read(faults, &message, sizeof message) == sizeof message) {
    const struct timespec delay = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&delay, NULL);
    struct uffdio_zeropage page = {{message.arg.pagefault.address & ~(uint64_t)4095, 4096}, 0, 0};
    ioctl(faults, UFFDIO_ZEROPAGE, &page);
  }
  return unused;
}

int main(int count, char** words) {
  if (count != 4) {
    return 2;
  }
  milliseconds = atol(words[3]);
  char* buffer = mmap(NULL, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_api api = {UFFD_API, 0, 0};
  struct uffdio_register memory = {{(uintptr_t)buffer, buffer_bytes}, UFFDIO_REGISTER_MODE_MISSING, 0};
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0 || ioctl(faults, UFFDIO_REGISTER, &memory) != 0) {
    perror("userfaultfd");
    return 77;
  }
  pthread_t thread;
  pthread_create(&thread, NULL, give, NULL);
  FILE* file = fopen(words[1], "r");
  char data[64];
  const int is_seek = strcmp(words[2], "fseek") == 0;
  if (file == NULL || setvbuf(file, buffer, _IOFBF, buffer_bytes) != 0) {
    return 1;
  }
  const uint64_t begun = now();
  int done = 0;
  if (strcmp(words[2], "fread") == 0) {
    done = fread(data, 1, sizeof data, file) == sizeof data;
  } else if (strcmp(words[2], "fgets") == 0) {
    done = fgets(data, sizeof data, file) != NULL;
  } else if (strcmp(words[2], "fgetc") == 0) {
    done = fgetc(file) != EOF;
  } else if (is_seek) {
    // Which fills the buffer at the new place.
    done = fseek(file, 5 * buffer_bytes + 5, SEEK_SET) == 0;
  }
  printf("%llu\n", (unsigned long long)(now() - begun));
  fclose(file);
  return !done;
}
