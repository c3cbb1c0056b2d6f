// Which sanitizer this build runs under, in one place.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define DOVETAIL_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DOVETAIL_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define DOVETAIL_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DOVETAIL_THREAD_SANITIZER 1
#endif
#endif
