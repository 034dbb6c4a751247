// log.c - levels per domain from HLOSCOPE_LOG, one sink. Thread-safe; with no sink set,
// hsc_log_enabled is one load and one branch.
#include "base/core/bytes.h"
#include "base/core/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MAX_DOMAINS = 32, MAX_DOMAIN_NAME = 32 };

static struct {
  int default_level;
  int count;
  struct {
    char name[MAX_DOMAIN_NAME];
    int level;
  } domains[MAX_DOMAINS];
} levels;  // written once by parse_levels, read only afterwards

static pthread_once_t levels_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t sink_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool has_sink;
static hsc_log_sink sink;  // under sink_mutex
static void *sink_user;    // under sink_mutex

// "2" sets all; "worker=2,pass=1" sets each; "worker" alone is worker=1. What does not fit the
// table is left out.
static void parse_levels(void) {
  const char *at = getenv("HLOSCOPE_LOG");
  if (!at)
    return;
  while (*at) {
    size_t length = strcspn(at, ",");
    const char *equals = memchr(at, '=', length);
    size_t name_length = equals ? (size_t)(equals - at) : length;
    if (!equals && length && *at >= '0' && *at <= '9') {
      levels.default_level = atoi(at);
    } else if (name_length > 0 && name_length < MAX_DOMAIN_NAME && levels.count < MAX_DOMAINS) {
      memcpy(levels.domains[levels.count].name, at, name_length);
      levels.domains[levels.count++].level = equals ? atoi(equals + 1) : 1;
    }
    at += length;
    if (*at == ',')
      at++;
  }
}

void hsc_log_set_sink(hsc_log_sink new_sink, void *user) {
  pthread_mutex_lock(&sink_mutex);
  sink = new_sink;
  sink_user = user;
  atomic_store_explicit(&has_sink, new_sink != NULL, memory_order_release);
  pthread_mutex_unlock(&sink_mutex);
}

bool hsc_log_enabled(const char *domain, int level) {
  if (!atomic_load_explicit(&has_sink, memory_order_acquire))
    return false;
  pthread_once(&levels_once, parse_levels);
  for (int i = levels.count - 1; i >= 0; i--)
    if (strcmp(levels.domains[i].name, domain) == 0)
      return level <= levels.domains[i].level;
  return level <= levels.default_level;
}

void hsc_log(const char *domain, int level, const char *format, ...) {
  if (!hsc_log_enabled(domain, level))
    return;
  hsc_bytes text = {0};
  va_list args;
  va_start(args, format);
  hsc_bytes_printf_v(&text, format, args);
  va_end(args);
  pthread_mutex_lock(&sink_mutex);
  if (sink)
    sink(sink_user, domain, level, hsc_bytes_text(&text));
  pthread_mutex_unlock(&sink_mutex);
  hsc_bytes_deinit(&text);
}
