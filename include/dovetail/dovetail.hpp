/// @file
/// All of Dovetail's C++ interface.
#pragma once

#include "dovetail/access.hpp"
#include "dovetail/admission.hpp"
#include "dovetail/buffers.hpp"
#include "dovetail/device.hpp"
#include "dovetail/events.hpp"
#include "dovetail/failure.hpp"
#include "dovetail/file.hpp"
#include "dovetail/future.hpp"
#include "dovetail/options.hpp"
#include "dovetail/parallel.hpp"
#include "dovetail/polling.hpp"
#include "dovetail/runtime.hpp"
#include "dovetail/select.hpp"
#include "dovetail/space.hpp"
#include "dovetail/storage_bandwidth.hpp"
#include "dovetail/synchronization.hpp"
#include "dovetail/task.hpp"
#include "dovetail/this_task.hpp"
#include "dovetail/trace.hpp"
#include "dovetail/urgency.hpp"
