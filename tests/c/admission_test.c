// Tasks that are admitted to a device.
#include <dovetail/dovetail_admission.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "check.h"

struct Counts {
  atomic_int inside;
  atomic_int most;
  atomic_int runs;
};

static void count(void* argument) {
  struct Counts* const counts = argument;
  const int inside = atomic_fetch_add(&counts->inside, 1) + 1;
  int most = atomic_load(&counts->most);
  while (inside > most && !atomic_compare_exchange_weak(&counts->most, &most, inside)) {
  }
  atomic_fetch_add(&counts->runs, 1);
  atomic_fetch_sub(&counts->inside, 1);
}

static void spawn_child(void* argument) {
  const dovetail_task_description child = {
      .size = sizeof child, .body = count, .argument = argument, .io = 1, .storage_bw = "adaptive", .device = "disk"};
  CHECK_EQUAL(dovetail_task_spawn(&child, NULL), 0);
}

int main(void) {
  char config[] = "/tmp/dovetail-c-admission-XXXXXX";
  const int file = mkstemp(config);
  CHECK(file >= 0);
  const char text[] = "[[device]]\nname = \"disk\"\nread = 200\nwrite = 100\nshared = true\n";
  CHECK_EQUAL(write(file, text, sizeof text - 1), sizeof text - 1);
  close(file);
  setenv("DOVETAIL_CONFIG", config, 1);
  setenv("XDG_STATE_HOME", "/proc/nowhere", 1);

  dovetail_storage_device device = {.size = sizeof device};
  CHECK_EQUAL(dovetail_storage_device_find("disk", NULL, 1, &device), 0);
  CHECK(device.read_mb_per_second == 200 && device.write_mb_per_second == 100);
  CHECK_EQUAL(device.shared, 1);
  CHECK_EQUAL(device.configured, 1);
  CHECK_EQUAL(dovetail_storage_device_find("nowhere", NULL, 0, &device), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "there is no storage device 'nowhere'");
  CHECK_EQUAL(dovetail_storage_device_find("disk", "/nowhere.toml", 0, &device), -EINVAL);

  dovetail_runtime* const runtime = start_runtime(2);
  struct Counts counts = {0, 0, 0};
  dovetail_task_description task = {.size = sizeof task,
                                    .body = count,
                                    .argument = &counts,
                                    .label = "write",
                                    .io = 1,
                                    .storage_bw = "100",
                                    .device = "disk"};
  for (int i = 0; i < 50; ++i) {
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, NULL), 0);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(counts.most, 1);
  CHECK_EQUAL(counts.runs, 50);

  const dovetail_task_description parent = {.size = sizeof parent, .body = spawn_child, .argument = &counts};
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &parent, NULL), 0);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(counts.runs, 51);

  task.storage_bw = "auto(8,2,2)";
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, NULL), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "min (8) is greater than max (2)");
  task.storage_bw = "4";
  CHECK_EQUAL(dovetail_task_spawn(&task, NULL), -EPERM);

  // Ordinary tasks are admitted by the same rules, and run on workers.
  task.storage_bw = "100";
  task.io = 0;
  task.label = "compute and write";
  for (int i = 0; i < 50; ++i) {
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, NULL), 0);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(counts.most, 1);
  CHECK_EQUAL(counts.runs, 101);

  // A program of the first version, whose description ends before these fields.
  task.size = offsetof(dovetail_task_description, storage_bw);
  task.storage_bw = "nonsense";
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, NULL), 0);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(counts.runs, 102);
  task.size = offsetof(dovetail_task_description, storage_bw) - 1;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, NULL), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "set it to sizeof of the structure");

  char report[4096];
  CHECK(dovetail_admission_report(report, sizeof report) > 0);
  CHECK_CONTAINS(report, "\"most_running\":1");
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  unlink(config);
  return 0;
}
