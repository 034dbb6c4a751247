// pattern.c - see pattern.h.
#include "base/text/pattern.h"

#include <stdlib.h>

enum { MOST_BYTES = 1000, MOST_REPEATS = 1000, MOST_DEPTH = 100 };

// The largest numbers of all {N,M}, multiplied, whether they lie in each other or not.
static bool is_modest(const char *text) {
  long repeats = 1;
  int depth = 0;
  for (const char *at = text; *at; at++) {
    depth += *at == '(';
    if (at - text >= MOST_BYTES || depth > MOST_DEPTH)
      return false;
    if (*at != '{')
      continue;
    char *behind;
    long most = strtol(at + 1, &behind, 10);
    if (*behind == ',' && behind[1] >= '0' && behind[1] <= '9')
      most = strtol(behind + 1, &behind, 10);
    if (most > MOST_REPEATS)
      return false;
    repeats *= most > 1 ? most : 1;
    if (repeats > MOST_REPEATS)
      return false;
  }
  return true;
}

hsc_status *hsc_pattern_compile(const char *text, regex_t *out) {
  if (!is_modest(text))
    return hsc_status_hint(HSC_ERR(INVALID_ARGUMENT, "too large an expression: '%.80s'", text),
                           "at most %d bytes, and repetitions that multiply to at most %d",
                           MOST_BYTES, MOST_REPEATS);
  if (regcomp(out, text, REG_EXTENDED | REG_NOSUB))
    return HSC_ERR(INVALID_ARGUMENT, "not a regular expression: '%.80s'", text);
  return NULL;
}
