/* Preloaded, so that the times which HDF5 writes into its files are the same in every run. For the program itself a second passes with each call:
 * one of HDF5's own tests waits for that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <time.h>

enum { constant_time = 1000000000 };

static int is_of_program(void* caller) {
  Dl_info of_caller, of_program;
  return dladdr(caller, &of_caller) != 0 && dladdr((void*)getauxval(AT_PHDR), &of_program) != 0 &&
         of_caller.dli_fbase == of_program.dli_fbase;
}

time_t time(time_t* result) {
  static time_t passed;
  const time_t now =
      constant_time +
      (is_of_program(__builtin_return_address(0)) ? __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED) : 0);
  if (result != NULL) *result = now;
  return now;
}

int gettimeofday(struct timeval* restrict result, void* restrict zone) {
  (void)zone;
  result->tv_sec = constant_time;
  result->tv_usec = 0;
  return 0;
}
