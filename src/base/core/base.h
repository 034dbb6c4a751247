// base.h - conventions of the whole project, and the macros that every header uses.
//
// Ownership, once for the whole project:
//   create/destroy   a heap object; the caller of create owns it and calls destroy (NULL is fine).
//   init/deinit      storage that the caller provides.
//   open/close       something outside of memory (a file, a plugin).
//   get              borrowed: valid as long as the thing it came from.
//   take             ownership moves to the caller.
//   An argument is borrowed for the duration of the call unless its comment says otherwise.
//   Whatever comes from an arena lives as long as the arena.
// Errors: every function that can fail returns `hsc_status *`; NULL is success. The caller owns a
// status and either returns it or frees it.
//   Libraries never exit, abort or print. `assert` is for programmer errors, never for input.
// Threads: objects are thread-compatible (one thread at a time per object) unless a header says
// thread-safe.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define HSC_MUST_USE __attribute__((warn_unused_result))
#define HSC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define HSC_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define HSC_STRINGIFY_(x) #x
#define HSC_STRINGIFY(x) HSC_STRINGIFY_(x)
#define HSC_EXPORT __attribute__((visibility("default")))
