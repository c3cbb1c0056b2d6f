/// @file
/// How a runtime is set up. Every field has a default that suits an unprepared machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace dovetail {

/// Settings of a `Runtime`. A field left at its default is taken from the environment where a variable is named and set. A field set in
/// code wins over the environment. Values that make no sense are refused by the constructor of `Runtime` with `std::invalid_argument`,
/// which names the field or the variable.
struct Options {
  /// Compute workers, each an operating-system thread. 0: `DOVETAIL_WORKERS`, or else the cores this process may use.
  unsigned workers = 0;
  /// Most threads that may run I/O tasks and blocking calls at once. 0: `DOVETAIL_IO_EXECUTORS`, or else 64. I/O tasks without a constraint
  /// begin with as many; by default with max(4, 2 x workers). They get more where they wait for anything but files (docs/admission.md).
  unsigned io_executors = 0;
  /// Storage engine: `uring`, `aio` (what is not direct goes to threads), `threads`, or `auto` (what works, measured and
  /// chosen). Empty: `DOVETAIL_ENGINE`, or else `auto`.
  std::string engine = {};
  /// File of settings that names storage devices (docs/admission.md). Empty: `DOVETAIL_CONFIG`, or else `dovetail.toml` in the current
  /// folder or in the user's folder of settings, if there is one. Read when the first task asks for a device.
  std::string config = {};
  /// File that the trace is written to when the runtime ends (Chrome/Perfetto JSON). Empty: `DOVETAIL_TRACE`, or no trace. Where MPI's starter or
  /// `dovetail launch` has started several processes, each writes the file with its rank appended ("trace.json.3"; docs/report.md). One that
  /// cannot be written is refused at the start; what it holds stays until there is a trace.
  std::string trace = {};
  /// Bytes of the stack that the bodies of tasks run on; rounded up to pages. Memory is taken where it is touched, and given back when
  /// fewer tasks are paused. A body finds at least half of it free. One that needs more ends the process with a message that names its
  /// task. 0: `DOVETAIL_STACK_SIZE`, or else 1 MiB.
  std::size_t stack_size = 0;
  /// Spawned tasks that have not completed, above which spawning makes way for executing. 0: follows the tasks, from 1024
  /// for tasks of up to 20 microseconds to 131072 for long ones. Tasks with accesses that take less than 4 microseconds may be fewer, down to 256,
  /// or 128 for each worker, where a task spawns them. A task costs more the more pending ones it overlaps. Where tasks wait for many others, the
  /// limit goes down to 128, or 16 for each worker if that is more. Such are tasks that read a whole array of which each cell was written alone.
  std::size_t pending_limit = 0;
  /// The runtime reports on standard error what waits for what when nothing has run for so long. It does so only while tasks wait for what it
  /// cannot cause: `TaskHandle::resume`, an event, a descriptor, a message, an operation of a polling service. A task that waits so long for one
  /// of the last three is reported though others run. That takes a quarter of the time more at most, or eight times the time after another
  /// report. The runtime reports again after twice that time, and so on. It looks only while a thread waits for its tasks, or a callback does.
  /// Zero: never. A time of more than a day counts as a day.
  std::chrono::milliseconds report_after{5000};
  /// When nothing can run for so long, the waiting tasks and threads are told by `Stuck` that they wait in vain. This is about tasks that
  /// wait for `TaskHandle::resume`, a `Semaphore` and its kind, or an event that a thread outside may still give. Zero: never, since such a
  /// thread may take its time. Tasks that wait only for each other are told at once in any case.
  std::chrono::milliseconds stuck_after{0};
  /// Bind each worker to a core, spread over NUMA nodes. Wrong where several processes share the machine.
  bool bind_workers = false;
};

}  // namespace dovetail
