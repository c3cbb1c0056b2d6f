/* Storage requests of OpenMP tasks, under the OpenMP that this file was compiled with. Each behaviour is a function; the data
 * that a task leaves behind are compared by the tasks that depend on it. Tasks with dependences are made by the primary thread
 * (`masked`): libgomp leaks the tables of the others, with or without us (docs/design/openmp.md). */
#define _GNU_SOURCE
#include <dovetail_omp.h>
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 4096, MOST = 1000, PARTS = 4 };

static int failures;
static int scale = 1;
static char* data; /* MOST * PARTS blocks */
static char marks[MOST];
static int file;

/* What stands for all blocks of a task in `depend`. */
#define KEY(task) data[(size_t)(task) * PARTS * BLOCK]

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      _Pragma("omp atomic")++ failures;                               \
    }                                                                 \
  } while (0)

static unsigned char byte_of(int task, int part) { return (unsigned char)(1 + (task * 7 + part * 31) % 255); }
static char* block_of(int task, int part) { return data + ((size_t)task * PARTS + (size_t)part) * BLOCK; }
static int64_t place_of(int task, int part) { return ((int64_t)task * PARTS + part) * BLOCK; }

static int holds(int task, int part) {
  const unsigned char* block = (const unsigned char*)block_of(task, part);
  for (int i = 0; i < BLOCK; ++i) {
    if (block[i] != byte_of(task, part)) {
      return 0;
    }
  }
  return 1;
}

/* What is in the page cache is read by the call itself: a test of requests wants none of it there. */
static void drop_cache(void) {
  fdatasync(file);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

static void read_parts(omp_event_handle_t event, int task) {
  dovetail_omp_task* io = dovetail_omp_begin(event);
  for (int part = 0; part < PARTS; ++part) {
    dovetail_omp_pread(io, file, block_of(task, part), BLOCK, place_of(task, part), NULL);
  }
  dovetail_omp_end(io);
}

static void write_parts(omp_event_handle_t event, int task) {
  dovetail_omp_task* io = dovetail_omp_begin(event);
  for (int part = 0; part < PARTS; ++part) {
    dovetail_omp_pwrite(io, file, block_of(task, part), BLOCK, place_of(task, part), NULL);
  }
  dovetail_omp_end(io);
}

static void check_parts(int task) {
  for (int part = 0; part < PARTS; ++part) {
    EXPECT(holds(task, part));
  }
  marks[task] = 1;
}

static void clear(int tasks) {
  memset(data, 0, (size_t)tasks * PARTS * BLOCK);
  memset(marks, 0, sizeof marks);
}

static void expect_marks(int tasks) {
  int missing = 0;
  for (int task = 0; task < tasks; ++task) {
    missing += !marks[task];
  }
  EXPECT(missing == 0);
}

/* Fill, write, spoil, read back, compare: each step of a block depends on the one before. */
static void chains(int tasks) {
  clear(tasks);
#pragma omp parallel
#pragma omp masked
  for (int task = 0; task < tasks; ++task) {
#pragma omp task depend(out : KEY(task)) firstprivate(task)
    for (int part = 0; part < PARTS; ++part) {
      memset(block_of(task, part), byte_of(task, part), BLOCK);
    }
    omp_event_handle_t written;
#pragma omp task depend(inout : KEY(task)) detach(written) firstprivate(task)
    write_parts(written, task);
#pragma omp task depend(inout : KEY(task)) firstprivate(task)
    memset(block_of(task, 0), 0, (size_t)PARTS * BLOCK);
    omp_event_handle_t read;
#pragma omp task depend(inout : KEY(task)) detach(read) firstprivate(task)
    read_parts(read, task);
#pragma omp task depend(in : KEY(task)) firstprivate(task)
    check_parts(task);
  }
  expect_marks(tasks);
}

/* Successors find the data, although far more tasks are pending than OpenMP likes to keep. */
static void dependences(int tasks) {
  clear(tasks);
  drop_cache();
#pragma omp parallel
#pragma omp masked
  for (int task = 0; task < tasks; ++task) {
    omp_event_handle_t event;
#pragma omp task depend(out : KEY(task)) detach(event) firstprivate(task)
    read_parts(event, task);
#pragma omp task depend(in : KEY(task)) firstprivate(task)
    check_parts(task);
  }
  expect_marks(tasks);
}

static void after_taskwait(int tasks) {
  clear(tasks);
  drop_cache();
#pragma omp parallel
#pragma omp single
  {
    for (int task = 0; task < tasks; ++task) {
      omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(task)
      read_parts(event, task);
    }
#pragma omp taskwait
    for (int task = 0; task < tasks; ++task) {
      check_parts(task);
    }
  }
}

static void after_taskgroup(int tasks) {
  clear(tasks);
  drop_cache();
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup
    {
#pragma omp taskloop grainsize(1) nogroup
      for (int task = 0; task < tasks; ++task) {
        omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(task)
        read_parts(event, task);
      }
    }
    for (int task = 0; task < tasks; ++task) {
      check_parts(task);
    }
  }
}

static void after_barrier(int tasks) {
  clear(tasks);
  drop_cache();
#pragma omp parallel
  {
#pragma omp for
    for (int task = 0; task < tasks; ++task) {
      omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(task)
      read_parts(event, task);
    }
#pragma omp barrier
#pragma omp for
    for (int task = 0; task < tasks; ++task) {
      check_parts(task);
    }
  }
}

/* A thread that waits for one dependence runs the task itself: libgomp then forgets `detach` (docs/design/openmp.md). */
static void after_taskwait_depend(int tasks) {
  clear(tasks);
  drop_cache();
#pragma omp parallel
#pragma omp masked
  for (int task = 0; task < tasks; ++task) {
    omp_event_handle_t event;
#pragma omp task depend(out : KEY(task)) detach(event) firstprivate(task)
    read_parts(event, task);
#pragma omp taskwait depend(in : KEY(task))
    check_parts(task);
  }
  expect_marks(tasks);
}

static void undeferred(int tasks) {
  clear(tasks);
  drop_cache();
#pragma omp parallel
#pragma omp masked
  for (int task = 0; task < tasks; ++task) {
    omp_event_handle_t event;
#pragma omp task depend(out : KEY(task)) detach(event) firstprivate(task)
    read_parts(event, task);
#pragma omp task if (0) depend(in : KEY(task)) firstprivate(task)
    check_parts(task);
  }
  expect_marks(tasks);
}

static void outside_parallel(int tasks) {
  clear(tasks);
  drop_cache();
  for (int task = 0; task < tasks; ++task) {
    omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task detach(event) firstprivate(task)
    read_parts(event, task);
#pragma omp taskwait
    check_parts(task);
  }
}

/* Several sources of completions for one event. The second is an ordinary task that plays another library. */
static void two_libraries(int tasks) {
  static int others[MOST];
  clear(tasks);
  drop_cache();
  memset(others, 0, sizeof others);
#pragma omp parallel
#pragma omp masked
  for (int task = 0; task < tasks; ++task) {
    omp_event_handle_t event;
#pragma omp task depend(out : KEY(task)) detach(event) firstprivate(task)
    {
      dovetail_omp_task* io = dovetail_omp_begin(event);
      dovetail_omp_add(io, 1);
#pragma omp task firstprivate(io, task)
      {
        others[task] = task + 1;
        for (int part = 1; part < PARTS; ++part) {
          dovetail_omp_pread(io, file, block_of(task, part), BLOCK, place_of(task, part), NULL);
        }
        dovetail_omp_submit(io);
        dovetail_omp_fulfill(io, 1);
      }
#pragma omp taskwait
      dovetail_omp_pread(io, file, block_of(task, 0), BLOCK, place_of(task, 0), NULL);
      dovetail_omp_end(io);
    }
#pragma omp task depend(in : KEY(task)) firstprivate(task)
    {
      EXPECT(others[task] == task + 1);
      check_parts(task);
    }
  }
  expect_marks(tasks);
}

static void results(int tasks) {
  static ssize_t got[MOST][3];
  static int status[MOST];
  const int64_t end = lseek(file, 0, SEEK_END);
  clear(tasks);
  drop_cache();
#pragma omp parallel
#pragma omp masked
  for (int task = 0; task < tasks; ++task) {
    omp_event_handle_t event;
#pragma omp task depend(out : got[task]) detach(event) firstprivate(task)
    {
      dovetail_omp_task* io = dovetail_omp_begin(event);
      dovetail_omp_set_status(io, &status[task]);
      dovetail_omp_pread(io, file, block_of(task, 0), BLOCK, place_of(task, 0), &got[task][0]);
      dovetail_omp_pread(io, file, block_of(task, 1), BLOCK, end - 100, &got[task][1]);
      dovetail_omp_pread(io, -1, block_of(task, 2), BLOCK, 0, &got[task][2]);
      if (task % 2 == 0) {
        dovetail_omp_pread(io, file, block_of(task, 2), BLOCK, end - 100, NULL);
      }
      dovetail_omp_end(io);
    }
#pragma omp task depend(in : got[task]) firstprivate(task)
    {
      EXPECT(got[task][0] == BLOCK && holds(task, 0));
      EXPECT(got[task][1] == 100);
      EXPECT(got[task][2] == -EBADF);
      EXPECT(status[task] == (task % 2 == 0 ? -ENODATA : 0));
      marks[task] = 1;
    }
  }
  expect_marks(tasks);
}

/* Tasks that had begun before the cancellation complete; the others never begin. Needs OMP_CANCELLATION=true. */
static void cancellation(int tasks) {
  int begun = 0;
  clear(tasks);
  drop_cache();
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
  for (int task = 0; task < tasks; ++task) {
    omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(task) shared(begun)
    {
#pragma omp atomic
      ++begun;
      marks[task] = 1;
      read_parts(event, task);
    }
    if (task == tasks / 2) {
#pragma omp task
      {
#pragma omp cancel taskgroup
      }
    }
  }
  EXPECT(begun > 0);
  for (int task = 0; task < tasks; ++task) {
    if (marks[task]) {
      check_parts(task);
    }
  }
}

static void restart(int tasks) {
  EXPECT(dovetail_omp_stop() == 0);
  EXPECT(dovetail_omp_stop() == 0);
  dependences(tasks);
  EXPECT(dovetail_omp_stop() == 0);
  EXPECT(dovetail_omp_start() == 0);
  EXPECT(dovetail_omp_start() == 0);
  dependences(tasks);
}

static const struct Test {
  const char* name;
  void (*run)(int tasks);
  int tasks;
} tests[] = {
    {"chains", chains, MOST},
    {"dependences", dependences, MOST},
    {"after_taskwait", after_taskwait, MOST},
    {"after_taskgroup", after_taskgroup, MOST},
    {"after_barrier", after_barrier, MOST},
    {"after_taskwait_depend", after_taskwait_depend, 300},
    {"undeferred", undeferred, 300},
    {"outside_parallel", outside_parallel, 100},
    {"two_libraries", two_libraries, 300},
    {"results", results, 300},
    {"cancellation", cancellation, MOST},
    {"restart", restart, 100},
};

int main(int argc, char** argv) {
  const char* size = getenv("DOVETAIL_TEST_SCALE");
  char path[] = "omp-tasks-XXXXXX";
  if (size != NULL && strcmp(size, "small") == 0) {
    scale = 5;
  }
  data = malloc((size_t)MOST * PARTS * BLOCK);
  file = mkstemp(path);
  if (data == NULL || file < 0) {
    perror(path);
    return 1;
  }
  unlink(path);
  for (int task = 0; task < MOST; ++task) {
    for (int part = 0; part < PARTS; ++part) {
      memset(block_of(task, part), byte_of(task, part), BLOCK);
    }
  }
  if (pwrite(file, data, (size_t)MOST * PARTS * BLOCK, 0) != (ssize_t)MOST * PARTS * BLOCK) {
    perror("pwrite");
    return 1;
  }
  for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) {
    if (argc > 1 && strcmp(argv[1], tests[i].name) != 0) {
      continue;
    }
    const double begin = omp_get_wtime();
    tests[i].run(tests[i].tasks / scale);
    printf("%-22s %5d tasks %6.0f ms%s\n", tests[i].name, tests[i].tasks / scale, 1e3 * (omp_get_wtime() - begin),
           failures != 0 ? " FAILED" : "");
    fflush(stdout);
  }
  close(file);
  free(data);
  return failures != 0;
}
