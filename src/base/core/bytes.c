// bytes.c - a growing byte buffer, always NUL-terminated, with a sticky error.
#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/spill.h"
#include "base/core/status.h"

#include <sys/mman.h>

void hsc_bytes_deinit(hsc_bytes *bytes) {
  hsc_free(bytes->data);
  *bytes = (hsc_bytes){0};
}

void hsc_bytes_reset(hsc_bytes *bytes) {
  bytes->size = 0;
  bytes->failed = false;
  if (bytes->data)
    bytes->data[0] = 0;
}

enum { HUGE_BYTES = 16 << 20 };

// Memory that is filled once from end to end: a page fault for 2 MiB instead of 512 of them. A
// wish; what comes of it does not matter.
static void ask_for_huge_pages(char *data, size_t capacity) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = 2 << 20;
  const uintptr_t begin = ((uintptr_t)data + page - 1) & ~(page - 1);
  const uintptr_t end = ((uintptr_t)data + capacity) & ~(page - 1);
  if (end > begin)
    madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
  (void)data;
  (void)capacity;
#endif
}

// Makes room for `size` more bytes and the NUL.
static bool grow(hsc_bytes *bytes, size_t size) {
  size_t needed;
  if (bytes->failed)
    return false;
  if (!hsc_add_size(bytes->size, size, &needed) || !hsc_add_size(needed, 1, &needed)) {
    bytes->failed = true;
    return false;
  }
  if (needed <= bytes->capacity)
    return true;
  size_t capacity = bytes->capacity < 64 ? 64 : bytes->capacity;
  while (capacity < needed)
    capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
  char *data = hsc_realloc(bytes->data, capacity);
  if (!data) {
    bytes->failed = true;
    return false;
  }
  bytes->data = data;
  bytes->capacity = capacity;
  return true;
}

void hsc_bytes_reserve(hsc_bytes *bytes, size_t size) {
  size_t needed;
  if (bytes->failed || !hsc_add_size(bytes->size, size, &needed) ||
      !hsc_add_size(needed, 1, &needed) || needed <= bytes->capacity)
    return;
  char *data = hsc_realloc(bytes->data, needed);
  if (!data)
    return;
  bytes->data = data;
  bytes->capacity = needed;
  if (needed >= HUGE_BYTES && !hsc_spill_holds(data))
    ask_for_huge_pages(data, needed);
}

void *hsc_bytes_extend(hsc_bytes *bytes, size_t size) {
  if (!grow(bytes, size))
    return NULL;
  char *room = bytes->data + bytes->size;
  bytes->size += size;
  bytes->data[bytes->size] = 0;
  return room;
}

void hsc_bytes_append(hsc_bytes *bytes, const void *data, size_t size) {
  if (size < bytes->capacity - bytes->size && !bytes->failed) {  // the common case, kept short
    if (size)
      memcpy(bytes->data + bytes->size, data, size);  // of nothing, data may be NULL
    bytes->size += size;
    bytes->data[bytes->size] = 0;
    return;
  }
  void *room = hsc_bytes_extend(bytes, size);
  if (room && size)
    memcpy(room, data, size);
}

void hsc_bytes_append_markup(hsc_bytes *bytes, const char *text) {
  for (; *text; text++) {
    switch (*text) {
      case '&':
        hsc_bytes_append_text(bytes, "&amp;");
        break;
      case '<':
        hsc_bytes_append_text(bytes, "&lt;");
        break;
      case '>':
        hsc_bytes_append_text(bytes, "&gt;");
        break;
      case '"':
        hsc_bytes_append_text(bytes, "&quot;");
        break;
      default:
        hsc_bytes_append_char(bytes, *text);
    }
  }
}

void hsc_bytes_append_text(hsc_bytes *bytes, const char *text) {
  hsc_bytes_append(bytes, text, strlen(text));
}

void hsc_bytes_append_char(hsc_bytes *bytes, char c) {
  if (bytes->capacity - bytes->size < 2 || bytes->failed) {
    hsc_bytes_append(bytes, &c, 1);
    return;
  }
  bytes->data[bytes->size++] = c;
  bytes->data[bytes->size] = 0;
}

void hsc_bytes_printf_v(hsc_bytes *bytes, const char *format, va_list args) {
  if (!grow(bytes, 0))
    return;
  va_list again;
  va_copy(again, args);
  size_t room = bytes->capacity - bytes->size;
  int length = vsnprintf(bytes->data + bytes->size, room, format, args);
  if (length < 0) {
    bytes->data[bytes->size] = 0;
    bytes->failed = true;
  } else if ((size_t)length < room) {
    bytes->size += (size_t)length;
  } else if (grow(bytes, (size_t)length)) {
    vsnprintf(bytes->data + bytes->size, (size_t)length + 1, format, again);
    bytes->size += (size_t)length;
  } else {
    bytes->data[bytes->size] = 0;
  }
  va_end(again);
}

void hsc_bytes_printf(hsc_bytes *bytes, const char *format, ...) {
  va_list args;
  va_start(args, format);
  hsc_bytes_printf_v(bytes, format, args);
  va_end(args);
}

const char *hsc_bytes_text(const hsc_bytes *bytes) {
  return bytes->data ? bytes->data : "";
}

hsc_view hsc_bytes_view(const hsc_bytes *bytes) {
  return (hsc_view){hsc_bytes_text(bytes), bytes->size};
}

char *hsc_bytes_take(hsc_bytes *bytes) {
  if (!bytes->data)
    grow(bytes, 0);
  if (bytes->failed) {
    hsc_bytes_deinit(bytes);
    return NULL;
  }
  char *data = bytes->data;
  data[bytes->size] = 0;
  *bytes = (hsc_bytes){0};
  return data;
}

hsc_status *hsc_bytes_status(const hsc_bytes *bytes) {
  return bytes->failed ? hsc_status_out_of_memory() : NULL;
}
