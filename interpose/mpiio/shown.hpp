// A function that stands before one of MPI.
#pragma once

#define SHOWN [[gnu::visibility("default")]]
