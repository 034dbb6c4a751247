// fuzz_custom_config.c - any text as the attributes of a custom call: a tree whose parts lie in the
// text or the arena, or an error with a place.
#include <stdlib.h>

#include "hlo/ir/custom.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(const hsc_config *config, int depth) {
  if (depth > 64)
    fuzz_broken();
  size_t nodes = 1;
  fuzz_said_number("kind", config->kind);
  fuzz_said_number("count", config->count);
  if (config->kind == HSC_CONFIG_STRING)
    fuzz_said((hsc_view){config->text, config->text_bytes});
  if (config->kind == HSC_CONFIG_STRING && strlen(config->text) > config->text_bytes)
    fuzz_broken();
  for (int32_t i = 0; i < config->count; i++) {
    const hsc_config *element = &config->elements[i];
    // every entry has a name
    if (config->kind == HSC_CONFIG_DICT && hsc_config_get(config, "") == element)
      fuzz_broken();
    nodes += count(element, depth + 1);
  }
  return nodes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_arena *arena = NULL;
  hsc_status_free(hsc_arena_create(&arena));
  if (!arena)
    return 0;
  char *text = hsc_arena_strndup(arena, (const char *)data, size);
  const hsc_config *config = NULL;
  hsc_status *status = hsc_config_parse(text, arena, &config);
  if (status && hsc_status_code(status) != HSC_INVALID_ARGUMENT &&
      hsc_status_code(status) != HSC_RESOURCE_EXHAUSTED)
    fuzz_broken();
  fuzz_said_status(status);
  if (!status && count(config, 0) > size + 1)
    fuzz_broken();
  hsc_status_free(status);
  hsc_arena_destroy(arena);
  return 0;
}
