// What the compiler is told of locks: clang checks it with -Wthread-safety, as `make lint` does; for other compilers it is nothing.
// The names are those of clang's documentation ("Thread Safety Analysis").
#pragma once

#if defined(__clang__)
#define DOVETAIL_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define DOVETAIL_THREAD_SAFETY(attribute)
#endif

/// A class whose objects are locks.
#define CAPABILITY(name) DOVETAIL_THREAD_SAFETY(capability(name))
/// A class whose objects hold a lock as long as they live.
#define SCOPED_CAPABILITY DOVETAIL_THREAD_SAFETY(scoped_lockable)
/// A member that is read and written only while the lock is held.
#define GUARDED_BY(lock) DOVETAIL_THREAD_SAFETY(guarded_by(lock))
/// A function that its caller calls with the locks held.
#define REQUIRES(...) DOVETAIL_THREAD_SAFETY(requires_capability(__VA_ARGS__))
/// The same, where it is enough that a shared lock is held.
#define REQUIRES_SHARED(...) DOVETAIL_THREAD_SAFETY(requires_shared_capability(__VA_ARGS__))
/// A function that its caller calls without the locks, which it takes itself.
#define EXCLUDES(...) DOVETAIL_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
/// A function that takes locks and returns with them, or gives them back. Without arguments: the object itself.
#define ACQUIRE(...) DOVETAIL_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) DOVETAIL_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) DOVETAIL_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
#define RELEASE(...) DOVETAIL_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) DOVETAIL_THREAD_SAFETY(release_shared_capability(__VA_ARGS__))
/// A function whose caller has the lock by a way that the check cannot follow, such as an object that is moved.
#define ASSERT_SHARED_CAPABILITY(lock) DOVETAIL_THREAD_SAFETY(assert_shared_capability(lock))
/// A function that returns that lock.
#define RETURN_CAPABILITY(lock) DOVETAIL_THREAD_SAFETY(lock_returned(lock))
/// A function in which the check would need to know what it cannot. The reason is said beside it.
#define NO_THREAD_SAFETY_ANALYSIS DOVETAIL_THREAD_SAFETY(no_thread_safety_analysis)
