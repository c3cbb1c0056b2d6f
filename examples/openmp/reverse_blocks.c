/* Copies a file with the bytes of each block in reverse order, and counts how often each byte occurs. Reading, computing and
 * writing of different blocks overlap: the tasks below say what they need, and I/O takes no thread.
 *
 * A plain OpenMP program; compile it with any compiler whose OpenMP has `detach` (gcc 11, clang 11, or later):
 *   gcc -fopenmp reverse_blocks.c $(pkg-config --cflags --libs dovetail-omp) */
#include <dovetail_omp.h>
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 16 };

static int fail(const char* what, const char* path, int error) {
  fprintf(stderr, "reverse_blocks: %s %s: %s\n", what, path, strerror(error));
  return error == EIO || error == ENOSPC ? 1 : 2;
}

static void reverse(unsigned char* bytes, size_t size) {
  for (size_t low = 0, high = size; low + 1 < high; ++low) {
    const unsigned char byte = bytes[low];
    bytes[low] = bytes[--high];
    bytes[high] = byte;
  }
}

int main(int argc, char** argv) {
  const long given = argc == 4 ? strtol(argv[3], NULL, 10) : 65536;
  if (argc < 3 || argc > 4 || given <= 0 || given > 1 << 30) {
    fprintf(stderr, "usage: reverse_blocks SOURCE TARGET [BYTES PER BLOCK, 1 to %d]\n", 1 << 30);
    return 2;
  }
  const size_t block = (size_t)given;
  struct stat status;
  const int source = open(argv[1], O_RDONLY);
  if (source < 0 || fstat(source, &status) != 0) {
    return fail("cannot open", argv[1], errno);
  }
  const int target = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (target < 0) {
    return fail("cannot open", argv[2], errno);
  }
  const size_t size = (size_t)status.st_size;
  const size_t blocks = (size + block - 1) / block;
  unsigned char* buffers = malloc(SLOTS * block);
  if (buffers == NULL) {
    return fail("no memory for blocks of", argv[1], ENOMEM);
  }
  unsigned long counts[256] = {0};
  /* Errors are asked for once, at the end. */
  dovetail_omp_set_error_handler(dovetail_omp_keep_errors, NULL);

#pragma omp parallel
#pragma omp single
  for (size_t number = 0; number < blocks; ++number) {
    unsigned char* bytes = buffers + number % SLOTS * block;
    const size_t length = number + 1 < blocks ? block : size - number * block;
    const int64_t offset = (int64_t)(number * block);
    omp_event_handle_t has_read, has_written;

    /* Waits until the slot's last block has been written, not only handed over. */
#pragma omp task depend(out : bytes[0]) detach(has_read) firstprivate(bytes, length, offset)
    {
      dovetail_omp_task* io = dovetail_omp_begin(has_read);
      dovetail_omp_pread(io, source, bytes, length, offset, NULL);
      dovetail_omp_end(io);
    }

#pragma omp task depend(inout : bytes[0]) firstprivate(bytes, length)
    {
      reverse(bytes, length);
      for (size_t i = 0; i < length; ++i) {
#pragma omp atomic
        ++counts[bytes[i]];
      }
    }

#pragma omp task depend(inout : bytes[0]) detach(has_written) firstprivate(bytes, length, offset)
    {
      dovetail_omp_task* io = dovetail_omp_begin(has_written);
      dovetail_omp_pwrite(io, target, bytes, length, offset, NULL);
      dovetail_omp_end(io);
    }
  }

  char message[512];
  uint64_t errors = 0;
  if (dovetail_omp_status(message, sizeof message, &errors) != 0) {
    fprintf(stderr, "reverse_blocks: %s (%lu errors)\n", message, (unsigned long)errors);
    return 1;
  }
  if (close(target) != 0) {
    return fail("cannot close", argv[2], errno);
  }
  close(source);
  free(buffers);
  int most = 0;
  for (int value = 1; value < 256; ++value) {
    most = counts[value] > counts[most] ? value : most;
  }
  printf("bytes %zu\nblocks %zu\nmost frequent byte %d, %lu times\n", size, blocks, most, counts[most]);
  return 0;
}
