/* The one thing that is needed of CPython 3.11 and that its public headers do not offer. */
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes `PyGILState_Ensure` on the calling thread use this state, which is attached to it. CPython 3.12 and later see to that
 * themselves whenever a state is attached. */
void dovetail_python_bind_gilstate(PyThreadState* state);

#ifdef __cplusplus
}
#endif
