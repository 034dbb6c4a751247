// algsimp_options.c - the algebraic simplifier's options as text.
#include <stdlib.h>

#include "base/text/text.h"
#include "passes/manager/passes.h"

hsc_algsimp_options hsc_algsimp_options_default(void) {
  return (hsc_algsimp_options){
#define OPTION(name, value, doc) .name = value,
#include "passes/manager/algsimp_options.def"
#undef OPTION
  };
}

hsc_status *hsc_algsimp_options_read(const char *text, hsc_algsimp_options *options) {
  static const char *const names[] = {
#define OPTION(name, value, doc) #name,
#include "passes/manager/algsimp_options.def"
#undef OPTION
  };
  int32_t *values[] = {
#define OPTION(name, value, doc) &options->name,
#include "passes/manager/algsimp_options.def"
#undef OPTION
  };
  for (const char *at = text; at && *at;) {
    size_t length = strcspn(at, ",");
    size_t name_length = strcspn(at, "=,");
    const char *value = at[name_length] == '=' ? at + name_length + 1 : "true";
    size_t value_length = at[name_length] == '=' ? length - name_length - 1 : 4;
    size_t found = HSC_COUNT_OF(names);
    char name[96];
    char number[24];
    char *end = NULL;
    snprintf(name, sizeof name, "%.*s", (int)(name_length < 95 ? name_length : 95), at);
    snprintf(number, sizeof number, "%.*s", (int)(value_length < 23 ? value_length : 23), value);
    for (size_t i = 0; i < HSC_COUNT_OF(names) && found == HSC_COUNT_OF(names); i++)
      if (!strcmp(names[i], name))
        found = i;
    if (found == HSC_COUNT_OF(names)) {
      const char *near = hsc_did_you_mean(name, names, HSC_COUNT_OF(names));
      hsc_status *status = HSC_ERR(NOT_FOUND, "algsimp: unknown option '%s'", name);
      return near ? hsc_status_hint(status, "did you mean '%s'?", near) : status;
    }
    long whole;
    if (!strcmp(number, "true"))
      whole = 1;
    else if (!strcmp(number, "false"))
      whole = 0;
    else
      whole = strtol(number, &end, 10);
    if (end && (end == number || *end || whole < 0 || whole > 1 << 20))
      return HSC_ERR(INVALID_ARGUMENT,
                     "algsimp: expected %s=true, false or a whole number, found '%s'", name,
                     number);
    *values[found] = (int32_t)whole;
    at += length;
    if (*at)
      at++;
  }
  return NULL;
}
