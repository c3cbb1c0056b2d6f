/* Preloaded, so that the times which HDF5 writes into its files are the same in every run. */
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

enum { constant_time = 1000000000 };

time_t time(time_t* result) {
  if (result != NULL) *result = constant_time;
  return constant_time;
}

int gettimeofday(struct timeval* restrict result, void* restrict zone) {
  (void)zone;
  result->tv_sec = constant_time;
  result->tv_usec = 0;
  return 0;
}
