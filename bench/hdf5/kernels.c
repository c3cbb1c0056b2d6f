/* The I/O of some HDF5 applications without their physics: one run of one kernel, its times on standard output as JSON.

   write          a time series of particles as VPIC-IO writes it: 8 variables a step, then the computation of the step
   read           the same series as BD-CATS-IO reads it: 8 variables a step, then the analysis of the step
   metadata_write many small datasets with attributes
   metadata_read  all of them again
   mixed          a step of the series, then some small datasets
   files_write    a file for each step with one small dataset: created, written, closed

   Computation is processor time of this thread, so that it is the same work however busy the machine is. Which connector is
   used is said by the environment, as for any program. */
#include <hdf5.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { variables = 8 };

#define MUST(call)                                 \
  do {                                             \
    if ((call) < 0) {                              \
      (void)fprintf(stderr, "%s failed\n", #call); \
      exit(1);                                     \
    }                                              \
  } while (0)

struct options {
  const char* kernel;
  const char* file;
  long steps;
  long particles;
  long compute_ms;
  int is_explicit;
  int flushes;
  long deflate;
};

static double compute_seconds;

static double seconds(clockid_t clock) {
  struct timespec now;
  (void)clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void compute(long milliseconds) {
  const double begin = seconds(CLOCK_MONOTONIC);
  const double until = seconds(CLOCK_THREAD_CPUTIME_ID) + (double)milliseconds * 1e-3;
  volatile double value = 1;
  while (milliseconds > 0 && seconds(CLOCK_THREAD_CPUTIME_ID) < until) {
    for (int turn = 0; turn < 2000; ++turn) value = value * 1.0000001 + 1e-9;
  }
  compute_seconds += seconds(CLOCK_MONOTONIC) - begin;
}

static float value_of(long step, int variable, long particle) {
  return (float)(step * variables + variable) + (float)(particle % 1000) * 1e-3F;
}

static void fill(float* values, const struct options* options, long step, int variable) {
  /* What is to be compressed is no easier than measured values are. */
  const float noise = options->deflate > 0 ? 1e-9F : 0;
  unsigned state = 1 + (unsigned)variable;
  for (long particle = 0; particle < options->particles; ++particle) {
    state = state * 1664525U + 1013904223U;
    values[particle] = value_of(step, variable, particle) + noise * (float)(state >> 8U);
  }
}

static void write_small(hid_t file, long first, long count) {
  const hsize_t extent = 16;
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  const hid_t scalar = H5Screate(H5S_SCALAR);
  int values[16];
  for (long number = first; number < first + count; ++number) {
    char name[64];
    (void)snprintf(name, sizeof name, "small %ld", number);
    for (int element = 0; element < 16; ++element) values[element] = (int)number + element;
    const hid_t dataset = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    MUST(dataset);
    MUST(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    const hid_t attribute = H5Acreate2(dataset, "number", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
    MUST(attribute);
    MUST(H5Awrite(attribute, H5T_NATIVE_INT, values));
    MUST(H5Aclose(attribute));
    MUST(H5Dclose(dataset));
  }
  MUST(H5Sclose(scalar));
  MUST(H5Sclose(space));
}

static void write_files(const struct options* options) {
  for (long step = 0; step < options->steps; ++step) {
    char name[4096];
    const int length = snprintf(name, sizeof name, "%s.%ld", options->file, step);
    if (length < 0 || (size_t)length >= sizeof name) {
      (void)fprintf(stderr, "the name of the file is too long\n");
      exit(2);
    }
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    MUST(file);
    write_small(file, step, 1);
    MUST(H5Fclose(file));
  }
}

static void read_small(hid_t file, long count) {
  for (long number = 0; number < count; ++number) {
    char name[64];
    int values[16];
    int attribute_value = -1;
    (void)snprintf(name, sizeof name, "small %ld", number);
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    MUST(dataset);
    MUST(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    const hid_t attribute = H5Aopen(dataset, "number", H5P_DEFAULT);
    MUST(attribute);
    MUST(H5Aread(attribute, H5T_NATIVE_INT, &attribute_value));
    MUST(H5Aclose(attribute));
    MUST(H5Dclose(dataset));
    if (values[15] != (int)number + 15 || attribute_value != (int)number) {
      (void)fprintf(stderr, "%s is wrong\n", name);
      exit(1);
    }
  }
}

/* Two sets of buffers take turns where the writes are explicit: those of the step before the last are free again. */
static void write_series(hid_t file, const struct options* options) {
  const hsize_t extent = (hsize_t)options->particles;
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  const size_t bytes = (size_t)options->particles * sizeof(float);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  if (options->deflate > 0) {
    MUST(H5Pset_chunk(creation, 1, &extent));
    MUST(H5Pset_shuffle(creation));
    MUST(H5Pset_deflate(creation, (unsigned)options->deflate));
  }
  float* buffers[2][variables];
  hid_t sets[2];
  for (int turn = 0; turn < 2; ++turn) {
    sets[turn] = options->is_explicit ? H5EScreate() : H5ES_NONE;
    for (int variable = 0; variable < variables; ++variable) {
      buffers[turn][variable] = malloc(bytes);
      fill(buffers[turn][variable], options, 0, variable);
    }
  }
  const int mixed = strcmp(options->kernel, "mixed") == 0;
  for (long step = 0; step < options->steps; ++step) {
    const hid_t set = sets[step % 2];
    float** const values = buffers[step % 2];
    if (options->is_explicit) {
      size_t pending = 0;
      hbool_t failed = 0;
      MUST(H5ESwait(set, H5ES_WAIT_FOREVER, &pending, &failed));
    }
    char name[64];
    (void)snprintf(name, sizeof name, "Step#%ld", step);
    const hid_t group = H5Gcreate_async(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, set);
    MUST(group);
    for (int variable = 0; variable < variables; ++variable) {
      values[variable][0] = value_of(step, variable, 0);
      (void)snprintf(name, sizeof name, "variable %d", variable);
      const hid_t dataset =
          H5Dcreate_async(group, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT, set);
      MUST(dataset);
      MUST(H5Dwrite_async(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values[variable], set));
      MUST(H5Dclose_async(dataset, set));
    }
    MUST(H5Gclose_async(group, set));
    if (mixed) write_small(file, step * 50, 50);
    if (options->flushes) MUST(H5Fflush_async(file, H5F_SCOPE_GLOBAL, set));
    compute(options->compute_ms);
  }
  for (int turn = 0; turn < 2; ++turn) {
    if (options->is_explicit) {
      size_t pending = 0;
      hbool_t failed = 0;
      MUST(H5ESwait(sets[turn], H5ES_WAIT_FOREVER, &pending, &failed));
      MUST(H5ESclose(sets[turn]));
    }
    for (int variable = 0; variable < variables; ++variable) free(buffers[turn][variable]);
  }
  MUST(H5Pclose(creation));
  MUST(H5Sclose(space));
}

static void read_series(hid_t file, const struct options* options) {
  float* const values = malloc((size_t)options->particles * sizeof(float));
  for (long step = 0; step < options->steps; ++step) {
    for (int variable = 0; variable < variables; ++variable) {
      char name[64];
      (void)snprintf(name, sizeof name, "Step#%ld/variable %d", step, variable);
      const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
      MUST(dataset);
      MUST(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
      MUST(H5Dclose(dataset));
      /* All but the first particle is written once and for all. */
      if (values[0] != value_of(step, variable, 0) ||
          values[options->particles - 1] != value_of(0, variable, options->particles - 1)) {
        (void)fprintf(stderr, "%s is wrong\n", name);
        exit(1);
      }
    }
    compute(options->compute_ms);
  }
  free(values);
}

static long number_of(const char* name, const char* text) {
  char* end = NULL;
  errno = 0;
  const long number = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || number < 0) {
    (void)fprintf(stderr, "%s is '%s': it must be a number\n", name, text);
    exit(2);
  }
  return number;
}

static struct options options_of(int count, char** arguments) {
  struct options options = {NULL, NULL, 20, 131072, 0, 0, 0, 0};
  for (int index = 1; index < count; ++index) {
    const char* const name = arguments[index];
    const char* const value = index + 1 < count ? arguments[index + 1] : "";
    if (strcmp(name, "--explicit") == 0) {
      options.is_explicit = 1;
      continue;
    }
    if (strcmp(name, "--flush") == 0) {
      options.flushes = 1;
      continue;
    }
    if (strcmp(name, "--kernel") == 0)
      options.kernel = value;
    else if (strcmp(name, "--file") == 0)
      options.file = value;
    else if (strcmp(name, "--steps") == 0)
      options.steps = number_of(name, value);
    else if (strcmp(name, "--particles") == 0)
      options.particles = number_of(name, value);
    else if (strcmp(name, "--compute") == 0)
      options.compute_ms = number_of(name, value);
    else if (strcmp(name, "--deflate") == 0)
      options.deflate = number_of(name, value);
    else
      options.kernel = options.file = NULL;
    ++index;
  }
  if (options.kernel == NULL || options.file == NULL || options.particles < 2 || options.deflate > 9) {
    (void)fprintf(stderr,
                  "usage: hdf5_kernels --kernel write|read|metadata_write|metadata_read|mixed|files_write --file PATH\n"
                  "  [--steps N] [--particles N] [--compute MS] [--explicit] [--flush] [--deflate LEVEL]\n");
    exit(2);
  }
  return options;
}

static void use_file(const struct options* options) {
  const int reads = strcmp(options->kernel, "read") == 0 || strcmp(options->kernel, "metadata_read") == 0;
  const int small = strncmp(options->kernel, "metadata", 8) == 0;
  const hid_t file = reads ? H5Fopen(options->file, H5F_ACC_RDONLY, H5P_DEFAULT)
                           : H5Fcreate(options->file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  MUST(file);
  if (small && reads)
    read_small(file, options->steps);
  else if (small)
    write_small(file, 0, options->steps);
  else if (reads)
    read_series(file, options);
  else
    write_series(file, options);
  MUST(H5Fclose(file));
}

int main(int count, char** arguments) {
  const struct options options = options_of(count, arguments);
  MUST(H5open());
  const double begin = seconds(CLOCK_MONOTONIC);
  if (strcmp(options.kernel, "files_write") == 0)
    write_files(&options);
  else
    use_file(&options);
  const double total = seconds(CLOCK_MONOTONIC) - begin;
  struct rusage usage;
  (void)getrusage(RUSAGE_SELF, &usage);
  const double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  (void)printf("{\"total\": %.6f, \"compute\": %.6f, \"io\": %.6f, \"cpu\": %.6f}\n", total, compute_seconds,
               total - compute_seconds, cpu);
  return 0;
}
