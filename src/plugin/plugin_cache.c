// plugin_cache.c - compiled programs on disk: with a cache directory (client option cache_dir, or
// $HLOSCOPE_CACHE_DIR) a process finds what another has compiled, without reading the program.
//
// The key is the program's bytes, the compile options as they were understood (hosts write the same
// options in changing order), what else changes code, the build, the processor, the threads.
// Nothing is looked up for programs whose compilation is wanted for itself (dumps), nor kept where
// a program cannot be written.
#include "base/core/build_id.h"
#include "base/core/clock.h"
#include "base/core/log.h"
#include "plugin/plugin_internal.h"

#include <stdlib.h>

#include "base/files/disk_cache.h"

// Environment that goes into code. XLA_FLAGS is in the options, the instruction set in the
// processor's description.
static const char *const variables[] = {"HLOSCOPE_CPU_DOT"};

static hsc_status *key_text(PJRT_Client *client,
                            const PJRT_Program *code,
                            const hsc__compile_settings *settings,
                            hsc_bytes *out) {
  char program[33];
  uint32_t features[HSC_CPU_FEATURE_WORDS];
  hsc_hash128_hex(hsc_hash128_of(code->code, code->code_size, 0), program);
  hsc_bytes_printf(out, "program %s %zu bytes %.*s\nbuild %s\nprocessor %s", program,
                   code->code_size, (int)code->format_size, code->format, hsc_build_id(),
                   hsc_cpu_device_description(client->device));
  hsc_cpu_features(features);
  for (int i = 0; i < HSC_CPU_FEATURE_WORDS; i++)
    hsc_bytes_printf(out, "%c%08x", i ? '.' : ' ', features[i]);
  hsc_bytes_printf(out, "\ndevices %d\n", client->device_count);
  for (size_t i = 0; i < HSC_COUNT_OF(variables); i++)
    if (getenv(variables[i]))
      hsc_bytes_printf(out, "%s %s\n", variables[i], getenv(variables[i]));
  const hsc_cpu_compile_options *cpu = &settings->cpu;
  hsc_bytes_printf(out, "options replicas=%d partitions=%d device=%d level=%d fuel=%lld\n",
                   settings->replica_count, settings->partition_count, settings->device,
                   cpu->backend_optimization_level, (long long)cpu->pass_fuel);
  if (cpu->memory_limit_bytes > 0)
    hsc_bytes_printf(out, "hloscope_memory_limit_bytes %lld\n", (long long)cpu->memory_limit_bytes);
  if (cpu->record_fusion)
    hsc_bytes_printf(out, "hloscope_record_fusion\n");
  if (cpu->strict_dot_conv_math)
    hsc_bytes_printf(out, "xla_cpu_strict_dot_conv_math\n");
  if (cpu->autotune_level > 0)
    hsc_bytes_printf(out, "xla_gpu_autotune_level %d\n", cpu->autotune_level);
  if (cpu->autotune_faults)
    hsc_bytes_printf(out, "hloscope_autotune_faults\n");
  if (cpu->disable_hlo_passes)
    hsc_bytes_printf(out, "xla_disable_hlo_passes %s\n", cpu->disable_hlo_passes);
  if (cpu->enable_hlo_passes_only)
    hsc_bytes_printf(out, "xla_enable_hlo_passes_only %s\n", cpu->enable_hlo_passes_only);
  if (cpu->enable_hlo_passes)
    hsc_bytes_printf(out, "hloscope_enable_hlo_passes %s\n", cpu->enable_hlo_passes);
  if (cpu->algsimp)
    hsc_bytes_printf(out, "hloscope_algsimp %s\n", cpu->algsimp);
  if (cpu->fuel_of_passes)
    hsc_bytes_printf(out, "xla_fuel %s\n", cpu->fuel_of_passes);
  return hsc_bytes_status(out);
}

static void load(PJRT_Client *client, hsc_view key, hsc_view options, hsc__program **out_program) {
  hsc_bytes payload = {0};
  bool found = false;
  hsc_status *status = hsc_disk_cache_get(client->cache_dir, key, &payload, &found);
  hsc_view program = {0};
  if (!status && found)
    status = hsc_disk_cache_unbind(key, hsc_bytes_view(&payload), &program);
  if (!status && found)
    status = hsc__program_load(client->device, program, options, client->device_count, out_program);
  if (status)
    hsc_log("cpu", 1, "an entry of the cache was refused: %s", hsc_status_message(status));
  hsc_status_free(status);
  hsc_bytes_deinit(&payload);
}

static void keep(PJRT_Client *client,
                 hsc_view key,
                 const hsc__program *program,
                 int64_t compile_ns) {
  hsc_bytes payload = {0};
  hsc_bytes information = {0};
  hsc_bytes_printf(&information, "name %s\ncompile_ns %lld\n",
                   hsc_cpu_executable_name(program->executable), (long long)compile_ns);
  hsc_status *status = hsc_bytes_status(&information);
  hsc_disk_cache_bind(key, &payload);
  if (!status)
    status = hsc__program_serialize(program, &payload);
  if (!status)
    status = hsc_disk_cache_put(client->cache_dir, key, hsc_bytes_view(&information),
                                hsc_bytes_view(&payload));
  // A cache that cannot be written costs time, not results.
  if (status)
    hsc_log("cpu", 1, "%s is not kept in the cache: %s",
            hsc_cpu_executable_name(program->executable), hsc_status_message(status));
  hsc_status_free(status);
  hsc_bytes_deinit(&payload);
  hsc_bytes_deinit(&information);
}

// False: no cache for this one. A wrong option is the compiler's to tell.
static bool make_key(PJRT_Client *client,
                     const PJRT_Program *code,
                     hsc_view options,
                     hsc_bytes *out_key) {
  hsc__compile_settings settings;
  if (!client->cache_dir)
    return false;
  hsc_status *status = hsc__compile_settings_read(options, &settings);
  // What files say about algorithms is not in the key.
  const hsc_cpu_compile_options *cpu = &settings.cpu;
  bool files = !status && (cpu->algorithm_denylist_path || cpu->load_autotune_results_from ||
                           cpu->dump_autotune_results_to || cpu->dump_autotune_logs_to);
  bool cached = !status && !cpu->dump_to && !cpu->dump_module_metadata && !files;
  if (!status) {
    if (cached)
      status = key_text(client, code, &settings, out_key);
    hsc__compile_settings_deinit(&settings);
  }
  cached = cached && !status;
  hsc_status_free(status);
  return cached;
}

hsc_status *hsc__program_get(PJRT_Client *client,
                             const PJRT_Program *code,
                             hsc_view options,
                             hsc__program **out_program) {
  hsc_bytes key = {0};
  hsc_status *status = NULL;
  *out_program = NULL;
  bool cached = make_key(client, code, options, &key);
  if (cached)
    load(client, hsc_bytes_view(&key), options, out_program);
  if (!*out_program) {
    int64_t start = hsc_now_ns();
    status = hsc__program_compile(client->device, code, options, client->device_count, out_program);
    if (!status && cached)
      keep(client, hsc_bytes_view(&key), *out_program, hsc_now_ns() - start);
  }
  hsc_bytes_deinit(&key);
  return status;
}
