// Which sanitizer this build runs under, in one place. Both are always defined, so -Wundef finds a file that does not include this one.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define DOVETAIL_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DOVETAIL_ADDRESS_SANITIZER 1
#endif
#endif
#if !defined(DOVETAIL_ADDRESS_SANITIZER)
#define DOVETAIL_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__)
#define DOVETAIL_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DOVETAIL_THREAD_SANITIZER 1
#endif
#endif
#if !defined(DOVETAIL_THREAD_SANITIZER)
#define DOVETAIL_THREAD_SANITIZER 0
#endif
