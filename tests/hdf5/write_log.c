/* Preloaded: every pwrite and ftruncate of a file whose name ends with .h5 goes into the file $WRITE_LOG as well, in its order.
   A record is three native 64-bit numbers (0 for a write, 1 for a truncation; the offset; the bytes), then the bytes written. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kind_write = 0, kind_truncate = 1 };

static int is_wanted(int descriptor) {
  char link[64];
  char name[4096];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, name, sizeof name);
  return length > 3 && memcmp(name + length - 3, ".h5", 3) == 0;
}

static void record(int64_t kind, int64_t offset, const void* bytes, int64_t size) {
  const char* const path = getenv("WRITE_LOG");
  if (path == NULL) return;
  FILE* const log = fopen(path, "ab");
  const int64_t head[3] = {kind, offset, size};
  if (log == NULL || fwrite(head, sizeof head, 1, log) != 1 ||
      (bytes != NULL && fwrite(bytes, 1, (size_t)size, log) != (size_t)size) || fclose(log) != 0)
    abort();
}

typedef ssize_t write_function(int, const void*, size_t, off64_t);
typedef int truncate_function(int, off64_t);

/* POSIX has dlsym give functions as pointers to objects. */
static void find(const char* name, void* function) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  memcpy(function, &found, sizeof found);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  write_function* next = NULL;
  find("pwrite64", &next);
  const ssize_t written = next(descriptor, bytes, size, offset);
  if (written > 0 && is_wanted(descriptor)) record(kind_write, offset, bytes, written);
  return written;
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  return pwrite64(descriptor, bytes, size, offset);
}

int ftruncate64(int descriptor, off64_t length) {
  truncate_function* next = NULL;
  find("ftruncate64", &next);
  const int result = next(descriptor, length);
  if (result == 0 && is_wanted(descriptor)) record(kind_truncate, length, NULL, 0);
  return result;
}

int ftruncate(int descriptor, off_t length) { return ftruncate64(descriptor, length); }
