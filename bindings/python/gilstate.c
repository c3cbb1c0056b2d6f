#include <Python.h>
#if PY_VERSION_HEX < 0x030C0000
#define Py_BUILD_CORE
#include <internal/pycore_runtime.h>
#endif

#include "gilstate.h"

void dovetail_python_bind_gilstate(PyThreadState* state) {
#if PY_VERSION_HEX < 0x030C0000
  PyThread_tss_set(&_PyRuntime.gilstate.autoTSSkey, state);
#else
  (void)state;
#endif
}
