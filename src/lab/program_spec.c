// program_spec.c - the words for transforms, and reading a program with them.
#include "lab/program_spec.h"

#include <stdlib.h>

#include "formats/formats.h"

int hsc_program_carried_parameter(const hsc_module *module) {
  const hsc_computation *entry = module->entry;
  if (hsc_shape_leaf_count(&entry->root->shape) < 1) return -1;
  const hsc_shape *state = hsc_shape_leaf(&entry->root->shape, 0);
  for (int p = entry->parameter_count; p-- > 0;)
    if (hsc_shape_equal(&entry->parameters[p]->shape, state)) return p;
  return -1;
}

// "3:1,2" after the word: a count, then numbers of parameters.
static hsc_status *read_numbers(const char *text, const char *at, int64_t *out_count, hsc_arena *arena,
                                hsc_dims *out_list) {
  char *end = NULL;
  *out_count = strtoll(at, &end, 10);
  *out_list = (hsc_dims){0};
  if (end == at || *out_count < 1 || *out_count > 1000000)
    return HSC_ERR(INVALID_ARGUMENT, "'%s': a count from 1 to 1000000 must follow the colon", text);
  if (*end == ':') {
    int64_t *list = HSC_NEW_ARRAY(arena, int64_t, strlen(end));
    HSC_TRY(hsc_arena_status(arena));
    do {
      at = end + 1;
      list[out_list->count++] = strtoll(at, &end, 10);
      if (end == at) return HSC_ERR(INVALID_ARGUMENT, "'%s': numbers of parameters must follow the second colon", text);
    } while (*end == ',');
    out_list->v = list;
  }
  return *end ? HSC_ERR(INVALID_ARGUMENT, "'%s': '%s' is too much", text, end) : NULL;
}

// Parameter I becomes V broadcast to its shape; the parameters behind it move up.
static hsc_status *bind_constant(const char *text, const char *at, hsc_module *module) {
  char *end = NULL;
  long long number = strtoll(at, &end, 10);
  const char *value_text = end + 1;
  if (end == at || *end != '=') return HSC_ERR(INVALID_ARGUMENT, "'%s': write constant:PARAMETER=VALUE", text);
  double value = strtod(value_text, &end);
  if (end == value_text || *end) return HSC_ERR(INVALID_ARGUMENT, "'%s': '%s' is not a number", text, value_text);
  hsc_computation *entry = module->entry;
  if (number < 0 || number >= entry->parameter_count)
    return HSC_ERR(INVALID_ARGUMENT, "'%s': the program has %d parameters, counted from 0", text,
                   entry->parameter_count);
  hsc_instr *parameter = entry->parameters[number];
  if (!hsc_shape_is_array(&parameter->shape))
    return HSC_ERR(INVALID_ARGUMENT, "'%s': parameter %lld is no array", text, number);
  hsc_builder builder;
  hsc_builder_at(&builder, entry, entry->first);
  hsc_instr *scalar = hsc_build_scalar(&builder, parameter->shape.type, value);
  hsc_instr *constant = hsc_build_broadcast(&builder, scalar, parameter->shape, (hsc_dims){0});
  HSC_TRY(hsc_builder_finish(&builder, NULL, NULL));
  HSC_TRY(hsc_instr_replace_uses(parameter, constant));
  for (int p = (int)number; p + 1 < entry->parameter_count; p++) {
    entry->parameters[p] = entry->parameters[p + 1];
    entry->parameters[p]->attr.index.value = p;
  }
  entry->parameter_count--;
  hsc_instr_remove(parameter);
  module->layout_text = NULL;  // it named the parameter
  return hsc_module_verify(module);
}

hsc_status *hsc_program_transform(const char *text, hsc_module **module) {
  static const char *const words[] = {"repeat", "vmap", "scan", "constant"};
  size_t length = strcspn(text, ":"), word = 0;
  while (word < HSC_COUNT_OF(words) && !(strlen(words[word]) == length && !strncmp(text, words[word], length))) word++;
  if (word == HSC_COUNT_OF(words)) {
    const char *near = hsc_did_you_mean(text, words, HSC_COUNT_OF(words));
    return near ? HSC_ERR(INVALID_ARGUMENT, "unknown transform '%s'; did you mean '%s:'?", text, near)
                : HSC_ERR(INVALID_ARGUMENT, "unknown transform '%s': repeat, vmap, scan and constant are known", text);
  }
  if (text[length] != ':') return HSC_ERR(INVALID_ARGUMENT, "'%s': a colon and a value must follow", text);
  const char *at = text + length + 1;
  if (!strcmp(words[word], "constant")) return bind_constant(text, at, *module);
  int64_t count;
  hsc_dims list;
  HSC_TRY(read_numbers(text, at, &count, (*module)->arena, &list));
  return HSC_ERR(UNIMPLEMENTED, "%s: not built yet", words[word]);
}

hsc_status *hsc_program_open(const char *path, const char *const *transforms, size_t transform_count,
                             hsc_module **out_module) {
  hsc_module *module = NULL;
  *out_module = NULL;
  HSC_TRY(hsc_program_read_file(path, &module));
  for (size_t i = 0; i < transform_count; i++) {
    hsc_status *status = hsc_program_transform(transforms[i], &module);
    if (!status) continue;
    hsc_module_destroy(module);
    return hsc_status_note(status, "while: transforming %s", path);
  }
  *out_module = module;
  return NULL;
}
