/* A detached task outside of a parallel region: libgomp waits for it where it is made, which is said, once. Inside of one nothing is said. */
#define _GNU_SOURCE
#include <dovetail_omp.h>
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { size = 4096, tasks = 3 };
static char block[tasks][size];

static void check(int holds, const char* what) {
  if (!holds) {
    fprintf(stdout, "outside_test: this does not hold: %s\n", what);
    exit(1);
  }
}

static void read_blocks(int file) {
  for (int i = 0; i < tasks; ++i) {
    char* const data = block[i];
    omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task depend(out : data[0]) detach(event) firstprivate(i, data)
    {
      dovetail_omp_task* io = dovetail_omp_begin((uintptr_t)event);
      dovetail_omp_pread(io, file, data, size, (int64_t)i * size, NULL);
      dovetail_omp_end(io);
    }
  }
#pragma omp taskwait
  for (int i = 0; i < tasks; ++i) {
    check(block[i][0] == (char)('a' + i) && block[i][size - 1] == (char)('a' + i), "the data are there");
  }
}

/* How often the notice is in what this prints to standard error. */
static int notices(int file, int inside) {
  FILE* const caught = tmpfile();
  check(caught != NULL, "a file for standard error");
  fflush(stderr);
  const int before = dup(2);
  check(before >= 0 && dup2(fileno(caught), 2) >= 0, "standard error goes to the file");
  memset(block, 0, sizeof block);
  if (inside) {
#pragma omp parallel
#pragma omp masked
    read_blocks(file);
  } else {
    read_blocks(file);
  }
  fflush(stderr);
  dup2(before, 2);
  close(before);
  rewind(caught);
  int found = 0;
  char line[1000];
  while (fgets(line, sizeof line, caught) != NULL) {
    fputs(line, stdout);
    found += strstr(line, "outside of a parallel region") != NULL;
  }
  fclose(caught);
  return found;
}

int main(void) {
  FILE* const source = tmpfile();
  check(source != NULL, "a file");
  for (int i = 0; i < tasks; ++i) {
    for (int k = 0; k < size; ++k) {
      fputc('a' + i, source);
    }
  }
  fflush(source);
  const int file = fileno(source);
#if defined(__clang__)
  const int wanted = 0;
#else
  const int wanted = 1;
#endif
  check(notices(file, 1) == 0, "nothing is said inside of a parallel region");
  check(notices(file, 0) == wanted, "it is said outside of one, under libgomp");
  check(notices(file, 0) == 0, "it is said once");
  return 0;
}
