// program_spec.c - the words for transforms, and reading a program with them.
#include "base/text/text.h"
#include "worker/program_spec.h"

#include <stdlib.h>

#include "formats/common/formats.h"

hsc_status *hsc_program_feeds(const hsc_module *module,
                              hsc_arena *arena,
                              int32_t **out_pairs,
                              int *out_count) {
  hsc_transform_options options = hsc_transform_options_default();
  int32_t *parameter_of_result = NULL;
  int32_t result_count = 0;
  int32_t data;
  *out_count = 0;
  *out_pairs = NULL;
  hsc_status *status =
      hsc_transform_feedback(module, &options, arena, &parameter_of_result, &result_count, &data);
  if (status) {
    bool nothing = hsc_status_code(status) == HSC_INVALID_ARGUMENT;
    if (!nothing)
      return status;
    hsc_status_free(status);
    return NULL;
  }
  *out_pairs = HSC_NEW_ARRAY(arena, int32_t, 2 * result_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int32_t r = 0; r < result_count; r++) {
    if (parameter_of_result[r] < 0)
      continue;
    (*out_pairs)[2 * *out_count] = r;
    (*out_pairs)[2 * (*out_count)++ + 1] = parameter_of_result[r];
  }
  return NULL;
}

// "3", "3:1,2", "3:same", "3:1,2:same" after the word and its colon.
static hsc_status *read_numbers(const char *text,
                                const char *at,
                                hsc_arena *arena,
                                int64_t *out_count,
                                hsc_transform_options *options) {
  char *end = NULL;
  *out_count = strtoll(at, &end, 10);
  if (end == at || *out_count < 1 || *out_count > 1000000)
    return HSC_ERR(INVALID_ARGUMENT, "'%s': a count from 1 to 1000000 must follow the colon", text);
  while (*end == ':') {
    at = end + 1;
    if (hsc_randomness_parse(hsc_view_of(at), &options->randomness))
      return NULL;
    if (options->argument_count)
      break;
    int64_t *list = HSC_NEW_ARRAY(arena, int64_t, strlen(at) + 1);
    HSC_TRY(hsc_arena_status(arena));
    for (;;) {
      list[options->argument_count++] = strtoll(at, &end, 10);
      if (end == at)
        return HSC_ERR(
            INVALID_ARGUMENT,
            "'%s': numbers of parameters, or error, same or different must follow the second colon",
            text);
      if (*end != ',')
        break;
      at = end + 1;
    }
    options->arguments = list;
  }
  return *end ? HSC_ERR(INVALID_ARGUMENT, "'%s': '%s' is too much", text, end) : NULL;
}

// What a list of aliases or donors says once parameter `gone` is no parameter any more: its own
// entries go, those of the parameters after it count one less.
static hsc_status *renumber(hsc_arena *arena,
                            int64_t gone,
                            const hsc_alias **io_list,
                            int32_t *io_count) {
  if (!*io_count)
    return NULL;
  hsc_alias *kept = HSC_NEW_ARRAY(arena, hsc_alias, *io_count);
  HSC_TRY(hsc_arena_status(arena));
  int32_t count = 0;
  for (int32_t i = 0; i < *io_count; i++) {
    hsc_alias alias = (*io_list)[i];
    if (alias.parameter == gone)
      continue;
    alias.parameter -= alias.parameter > gone;
    kept[count++] = alias;
  }
  *io_list = kept;
  *io_count = count;
  return NULL;
}

// Parameter I becomes V broadcast to its shape; the parameters after it move up, and what the
// module says about them by number with them.
static hsc_status *bind_constant(const char *text, const char *at, hsc_module *module) {
  char *end = NULL;
  long long number = strtoll(at, &end, 10);
  const char *value_text = end + 1;
  if (end == at || *end != '=')
    return HSC_ERR(INVALID_ARGUMENT, "'%s': write constant:PARAMETER=VALUE", text);
  double value = strtod(value_text, &end);
  if (end == value_text || *end)
    return HSC_ERR(INVALID_ARGUMENT, "'%s': '%s' is not a number", text, value_text);
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
  HSC_TRY(renumber(module->arena, number, &module->aliases, &module->alias_count));
  HSC_TRY(renumber(module->arena, number, &module->donors, &module->donor_count));
  module->layout_text = NULL;  // it lists the parameters that were
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
  size_t length = strcspn(text, ":");
  size_t word = 0;
  while (word < HSC_COUNT_OF(words) &&
         !(strlen(words[word]) == length && !strncmp(text, words[word], length)))
    word++;
  if (word == HSC_COUNT_OF(words)) {
    const char *near = hsc_did_you_mean(text, words, HSC_COUNT_OF(words));
    return hsc_status_usage(
        near ? HSC_ERR(INVALID_ARGUMENT, "unknown transform '%s'; did you mean '%s:'?", text, near)
             : HSC_ERR(INVALID_ARGUMENT,
                       "unknown transform '%s': repeat, vmap, scan and constant are known", text));
  }
  if (text[length] != ':')
    return HSC_ERR(INVALID_ARGUMENT, "'%s': a colon and a value must follow", text);
  const char *at = text + length + 1;
  if (!strcmp(words[word], "constant"))
    return bind_constant(text, at, *module);
  int64_t count;
  hsc_transform_options options = hsc_transform_options_default();
  hsc_module *made = NULL;
  HSC_TRY(read_numbers(text, at, (*module)->arena, &count, &options));
  if (word == 0)
    HSC_TRY(hsc_transform_repeat(*module, count, &options, &made));
  else if (word == 1)
    HSC_TRY(hsc_transform_vmap(*module, count, &options, &made));
  else
    HSC_TRY(hsc_transform_scan(*module, count, &options, &made));
  hsc_module_destroy(*module);
  *module = made;
  return NULL;
}

hsc_status *hsc_program_open(const char *path,
                             const char *const *transforms,
                             size_t transform_count,
                             hsc_module **out_module) {
  hsc_module *module = NULL;
  *out_module = NULL;
  HSC_TRY(hsc_program_read_file(path, &module));
  for (size_t i = 0; i < transform_count; i++) {
    hsc_status *status = hsc_program_transform(transforms[i], &module);
    if (!status)
      continue;
    hsc_module_destroy(module);
    return hsc_status_note(status, "while: transforming %s", path);
  }
  *out_module = module;
  return NULL;
}
