// compile_options.c - compile options: the defaults, and the ones that can be read from a line of
// flags in XLA's manner.
#include <stdlib.h>

#include "cpu/core/cpu.h"

hsc_cpu_compile_options hsc_cpu_compile_options_default(void) {
  return (hsc_cpu_compile_options){
      .backend_optimization_level = 2, .pass_fuel = -1, .strict_conv_algorithm_picker = true};
}

static hsc_status *read_bool(const char *name, const char *value, bool *out_value) {
  if (!value || !strcmp(value, "true") || !strcmp(value, "1"))
    *out_value = true;
  else if (!strcmp(value, "false") || !strcmp(value, "0"))
    *out_value = false;
  else
    return HSC_ERR(INVALID_ARGUMENT, "flag --%s: expected true or false, found '%s'", name, value);
  return NULL;
}

static hsc_status *read_int(
    const char *name, const char *value, long long low, long long high, long long *out_value) {
  char *end = NULL;
  *out_value = value ? strtoll(value, &end, 10) : 0;
  if (!value || end == value || *end || *out_value < low || *out_value > high)
    return HSC_ERR(INVALID_ARGUMENT,
                   "flag --%s: expected a whole number from %lld to %lld, found '%s'", name, low,
                   high, value ? value : "");
  return NULL;
}

// `flag` is "name=value" or "name"; it is cut in place. Values live in the arena.
static hsc_status *read_flag(char *flag, hsc_cpu_compile_options *options) {
  char *value = strchr(flag, '=');
  if (value)
    *value++ = 0;
  long long number;
  if (!strcmp(flag, "xla_disable_hlo_passes"))
    options->disable_hlo_passes = value;
  else if (!strcmp(flag, "xla_enable_hlo_passes_only"))
    options->enable_hlo_passes_only = value;
  else if (!strcmp(flag, "xla_fuel"))
    options->fuel_of_passes = value;
  else if (!strcmp(flag, "hloscope_algsimp"))
    options->algsimp = value;
  else if (!strcmp(flag, "hloscope_enable_hlo_passes"))
    options->enable_hlo_passes = value;
  else if (!strcmp(flag, "xla_dump_to"))
    options->dump_to = value;
  else if (!strcmp(flag, "xla_dump_hlo_pass_re"))
    options->dump_hlo_pass_re = value;
  else if (!strcmp(flag, "xla_dump_module_metadata"))
    return read_bool(flag, value, &options->dump_module_metadata);
  else if (!strcmp(flag, "hloscope_record_fusion"))
    return read_bool(flag, value, &options->record_fusion);
  else if (!strcmp(flag, "xla_backend_optimization_level")) {
    HSC_TRY(read_int(flag, value, 0, 3, &number));
    options->backend_optimization_level = (int)number;
  } else if (!strcmp(flag, "xla_gpu_autotune_level")) {
    HSC_TRY(read_int(flag, value, 0, INT32_MAX, &number));
    options->autotune_level = (int)number;
  } else if (!strcmp(flag, "xla_cpu_strict_dot_conv_math")) {
    return read_bool(flag, value, &options->strict_dot_conv_math);
  } else if (!strcmp(flag, "xla_gpu_strict_conv_algorithm_picker")) {
    return read_bool(flag, value, &options->strict_conv_algorithm_picker);
  } else if (!strcmp(flag, "xla_gpu_crash_on_verification_failures")) {
    return read_bool(flag, value, &options->crash_on_verification_failures);
  } else if (!strcmp(flag, "hloscope_autotune_faults")) {
    return read_bool(flag, value, &options->autotune_faults);
  } else if (!strcmp(flag, "xla_gpu_algorithm_denylist_path")) {
    options->algorithm_denylist_path = value;
  } else if (!strcmp(flag, "xla_gpu_load_autotune_results_from")) {
    options->load_autotune_results_from = value;
  } else if (!strcmp(flag, "xla_gpu_dump_autotune_results_to")) {
    options->dump_autotune_results_to = value;
  } else if (!strcmp(flag, "xla_gpu_dump_autotune_logs_to")) {
    options->dump_autotune_logs_to = value;
  } else if (!strcmp(flag, "xla_gpu_experimental_autotuner_cache_dir")) {
    options->autotune_cache_dir = value;
  } else if (!strcmp(flag, "hloscope_memory_limit_bytes")) {
    HSC_TRY(read_int(flag, value, 0, INT64_MAX, &number));
    options->memory_limit_bytes = number;
  } else if (!strcmp(flag, "hloscope_pass_fuel")) {
    HSC_TRY(read_int(flag, value, -1, INT64_MAX, &number));
    options->pass_fuel = number;
  }
  return NULL;
}

hsc_status *hsc_cpu_compile_options_parse_flags(const char *flags,
                                                hsc_arena *arena,
                                                hsc_cpu_compile_options *options) {
  if (!flags)
    return NULL;
  char *text = hsc_arena_strdup(arena, flags);
  char *rest = NULL;
  HSC_TRY(hsc_arena_status(arena));
  for (char *word = strtok_r(text, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
    while (*word == '-')
      word++;
    HSC_TRY(read_flag(word, options));
  }
  return NULL;
}
