// spill.h - arrays that need not fit in memory: a command that reads recordings of any size asks
// for them once, and from then on what hsc_alloc and hsc_realloc give in one piece of
// HSC_SPILL_BYTES or more lies in a file without a name ($TMPDIR, else /var/tmp), mapped.
//
//   hsc_spill_begin();                 // at the beginning of `tables`, `report`, `stats`, `export`
//   hsc_spill_watch(bytes, size);      // a mapped file that is read: its pages go back as well
//   ...
//   hsc_spill_forget(bytes);           // before munmap
//
// While there are such pieces, the process looks every few milliseconds of its processor time how
// much of it is in memory (a timer; signal SIGRTMIN + 5) and, above HSC_SPILL_RESIDENT_BYTES, hands
// the pages of all pieces back to the kernel. They come again at the next touch, from the page
// cache where there is room for it and from disk where not: what the process must have in memory
// stays near that bound, and no reader needs to know. Without room on disk, or where temporary
// files are memory themselves (tmpfs), memory is memory as before.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
  HSC_SPILL_BYTES = 32 << 20,
  HSC_SPILL_RESIDENT_BYTES = 96 << 20,
  HSC_SPILL_LOOK_ITEMS = 1 << 15,
};

// For the whole process, until its end. Thread-safe, and so is everything below.
void hsc_spill_begin(void);
// To be called with its number for each of many items that a loop goes through fast: looks now and
// then, sooner than the timer would.
void hsc_spill_passed(size_t item);
// A mapping of a file, read only or shared. Ignored before hsc_spill_begin, and for small ones.
void hsc_spill_watch(const void *at, size_t size_bytes);
void hsc_spill_forget(const void *at);
// Whether a piece begins here.
bool hsc_spill_holds(const void *memory);

// ---- for alloc.c alone ----

// Zeroed; NULL when the size is small, nobody began, or there is no room on disk.
void *hsc__spill_alloc(size_t size_bytes);
// Frees what hsc__spill_alloc gave; false = it did not.
bool hsc__spill_free(void *memory);
// What hsc__spill_alloc gave gets another size and perhaps place; its address in *memory. False =
// it is not from there. NULL in *memory: there is no room, the piece is as it was.
bool hsc__spill_resize(void **memory, size_t size_bytes);
