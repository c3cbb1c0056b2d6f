// A library like many that Python loads: it brings libstdc++ into a process without one, and uses its thread-local variables.
#include <mutex>

extern "C" int use() {
  static std::once_flag flag;
  int result = 1;
  std::call_once(flag, [&] { result = 0; });
  return result;
}
