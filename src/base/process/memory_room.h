// memory_room.h - how much memory this process may still take.
#pragma once

#include <stddef.h>

// The machine's memory, or what its control group allows when that is less; bytes.
size_t hsc_memory_limit_bytes(void);
// What is left of it now: memory that is free, or that the system gives back when asked (caches of
// files). Reads a few files, about 50 us. SIZE_MAX when the system does not tell.
size_t hsc_memory_available_bytes(void);
