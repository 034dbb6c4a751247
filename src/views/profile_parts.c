// profile_parts.c - what the readers of a profile share: notes and times.
#include "views/profile.h"

#include "views/profile_internal.h"

void hsc__profile_note(hsc_profile *profile, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (profile->notes.size)
    hsc_bytes_append_char(&profile->notes, '\n');
  hsc_bytes_printf_v(&profile->notes, format, args);
  va_end(args);
}

int64_t hsc__profile_time(const hsc_profile *profile, const hsc_xline *line, int64_t offset_ps) {
  int64_t ns;
  // 90 days in picoseconds fit in 64 bits
  const int64_t most_ns = (int64_t)90 * 86400 * 1000000000;
  // another clock
  if (__builtin_sub_overflow(line->timestamp_ns, profile->base_ns, &ns) || ns < -most_ns ||
      ns > most_ns)
    ns = 0;
  return hsc__sat_add(ns * 1000, offset_ps);
}
