// line_time.c - the time stamp that a line of a log begins with.
#include "doctor/log_reader.h"

// Nanoseconds since 1970 end in April 2262.
enum { LAST_YEAR = 2261 };
static const int64_t LAST_SECOND = INT64_C(9200000000);

static inline bool two(const char *at, int64_t *out_value) {
  unsigned high = (unsigned)(at[0] - '0');
  unsigned low = (unsigned)(at[1] - '0');
  *out_value = (int64_t)(high * 10 + low);
  return high <= 9 && low <= 9;
}

static bool digits(const char *at, int count, int64_t *out_value) {
  int64_t value = 0;
  for (int i = 0; i < count; i++) {
    if (at[i] < '0' || at[i] > '9')
      return false;
    value = value * 10 + (at[i] - '0');
  }
  *out_value = value;
  return true;
}

// Days from 1970-01-01 to a date of the Gregorian calendar (Howard Hinnant, "chrono-compatible
// low-level date algorithms").
static int64_t days_of(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2;
  int64_t era = year / 400;
  int64_t of_era = year - era * 400;
  int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// ".000296" gives nanoseconds. The wrapper of neuronx-cc pads milliseconds to six digits.
static int64_t fraction_ns(const char *at, const char *end, bool is_neuron) {
  if (at >= end || (*at != '.' && *at != ','))
    return 0;
  static const int64_t scales[] = {1000000000, 100000000, 10000000, 1000000, 100000,
                                   10000,      1000,      100,      10,      1};
  int64_t value = 0;
  const char *start = ++at;
  if (end > start + 9)
    end = start + 9;
  for (; at < end && *at >= '0' && *at <= '9'; at++)
    value = value * 10 + (*at - '0');
  if (is_neuron && at - start == 6 && !memcmp(start, "000", 3))
    return value * 1000000;
  return value * scales[at - start];
}

// "Z", "+09:00", "-0700" or " UTC" after the seconds: how far the zone is east of Greenwich.
static bool zone_of(const char *at, const char *end, int64_t *out_seconds) {
  *out_seconds = 0;
  if (at < end && (*at == '.' || *at == ','))
    at++;
  while (at < end && *at >= '0' && *at <= '9')
    at++;
  if (at < end && *at == 'Z')
    return true;
  if (at < end && *at == ' ')
    at++;
  if (end - at >= 3 && !memcmp(at, "UTC", 3))
    return true;
  if (end - at < 5 || (*at != '+' && *at != '-'))
    return false;
  int64_t hours;
  int64_t minutes;
  size_t colon = at[3] == ':';
  if (!two(at + 1, &hours) || end - at < (ptrdiff_t)(5 + colon) || !two(at + 3 + colon, &minutes) ||
      hours > 14)
    return false;
  *out_seconds = (hours * 60 + minutes) * (*at == '-' ? -60 : 60);
  return true;
}

static hsc_log_time calendar_time(hsc_view line) {
  const char *at = line.data;
  const char *end = line.data + line.size;
  int64_t century, year, month, day, hour, minute, second;
  if (at[4] != '-' || at[7] != '-' || (at[10] != ' ' && at[10] != 'T') || at[13] != ':' ||
      at[16] != ':')
    return (hsc_log_time){0};
  bool whole = two(at, &century) + two(at + 2, &year) + two(at + 5, &month) + two(at + 8, &day) +
                   two(at + 11, &hour) + two(at + 14, &minute) + two(at + 17, &second) ==
               7;
  year += century * 100;
  if (!whole || month < 1 || month > 12 || day < 1 || day > 31 || year < 1970 || year > LAST_YEAR)
    return (hsc_log_time){0};
  size_t looked_at = line.size < 100 ? line.size : 100;
  const char *bar = line.size > 30 ? memchr(at + 19, '|', looked_at - 19) : NULL;
  bool is_neuron = bar && end - bar > 8 && !memcmp(bar, "||NEURON", 8);
  int64_t seconds = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
  int64_t fraction = fraction_ns(at + 19, end, is_neuron);
  int64_t east;
  if (zone_of(at + 19, end, &east))
    return (hsc_log_time){.zoned_ns = (seconds - east) * 1000000000 + fraction};
  return (hsc_log_time){.local_ns = seconds * 1000000000 + fraction};
}

hsc_log_time hsc_line_time(hsc_view line) {
  while (line.size && (line.data[0] == ' ' || line.data[0] == '[')) {
    line.data++;
    line.size--;
  }
  if (line.size < 19)
    return (hsc_log_time){0};
  hsc_log_time time = calendar_time(line);
  if (time.zoned_ns || time.local_ns)
    return time;
  int64_t seconds;  // I0000 00:00:1731234567.123456 as Abseil's early log lines have it
  if (line.size >= 32 && !memcmp(line.data + 5, " 00:00:", 7) &&
      digits(line.data + 12, 10, &seconds) && seconds <= LAST_SECOND)
    time.zoned_ns =
        seconds * 1000000000 + fraction_ns(line.data + 22, line.data + line.size, false);
  return time;
}

// Negative = this clock does not tell.
static double between(int64_t begin_ns, int64_t end_ns) {
  return begin_ns && end_ns && end_ns >= begin_ns ? (double)(end_ns - begin_ns) / 1e9 : -1;
}

double hsc_log_seconds(hsc_log_time begin, hsc_log_time end) {
  double seconds = between(begin.zoned_ns, end.zoned_ns);
  if (seconds < 0)
    seconds = between(begin.local_ns, end.local_ns);
  if (seconds < 0)
    seconds = between(begin.arrival_ns, end.arrival_ns);
  return seconds;
}
