// compile_cache.c - see compile_cache.h.
#include "base/text/text.h"
#include "worker/compile_cache.h"

#include <stdlib.h>
#include <sys/stat.h>

// Where compilers and their plugins read options besides CompileOptionsProto: XLA and our device,
// libtpu, neuronx-cc.
static const char *const variables[] = {"XLA_FLAGS", "LIBTPU_INIT_ARGS", "NEURON_CC_FLAGS",
                                        "HLOSCOPE_CPU_ISA", "HLOSCOPE_CPU_DOT"};

bool hsc_compile_option_cacheable(const char *name_or_flags) {
  static const char *const not_cached[] = {"xla_dump_", "autotune_results", "autotune_logs",
                                           "algorithm_denylist"};
  for (size_t i = 0; i < HSC_COUNT_OF(not_cached); i++)
    if (strstr(name_or_flags, not_cached[i]))
      return false;
  return true;
}

// The first of each of these lines of /proc/cpuinfo: one machine's code need not run on another
// that shares the directory.
static void append_processor(hsc_bytes *out) {
  static const char *const lines[][2] = {
      {"model name", "processor"}, {"flags", "features"}, {"Features", "features"}};
  bool have[HSC_COUNT_OF(lines)] = {false};
  size_t size = 0;
  size_t found = 0;
  char *line = NULL;
  FILE *file = fopen("/proc/cpuinfo", "re");
  for (ssize_t length; file && found < 2 && (length = getline(&line, &size, file)) > 0;) {
    char *colon = strchr(line, ':');
    for (size_t i = 0; colon && i < HSC_COUNT_OF(lines); i++) {
      size_t name = strlen(lines[i][0]);
      if (have[i] || strncmp(line, lines[i][0], name) || !strchr("\t :", line[name]))
        continue;
      line[strcspn(line, "\n")] = 0;
      hsc_bytes_printf(out, "%s%s\n", lines[i][1], colon + 1);
      have[i] = true;
      found++;
    }
  }
  if (file)
    fclose(file);
  free(line);
}

// One line, whatever is in it.
static void append_variable(const char *name, hsc_bytes *out) {
  const char *value = getenv(name);
  if (!value || !*value)
    return;
  hsc_bytes_printf(out, "%s ", name);
  for (; *value; value++)
    hsc_bytes_append_char(out, *value == '\n' ? ' ' : *value);
  hsc_bytes_append_char(out, '\n');
}

hsc_status *hsc_compile_key_text(const hsc_compile_key *key, hsc_bytes *out_text) {
  struct stat file = {0};
  stat(key->plugin_path, &file);  // a plugin that cannot be looked at has size and time 0
  hsc_bytes_printf(out_text, "program %s\nplugin %s %lld bytes %lld.%09ld\napi 0.%d\nplatform %s\n",
                   key->fingerprint, hsc_path_file(key->plugin_path), (long long)file.st_size,
                   (long long)file.st_mtim.tv_sec, (long)file.st_mtim.tv_nsec, key->api_minor,
                   key->platform_version);
  append_processor(out_text);
  for (size_t i = 0; i < HSC_COUNT_OF(variables); i++)
    append_variable(variables[i], out_text);
  hsc_bytes_append_text(out_text, "options ");
  for (size_t i = 0; i < key->options.size; i++)
    hsc_bytes_printf(out_text, "%02x", (unsigned char)key->options.data[i]);
  hsc_bytes_append_char(out_text, '\n');
  return hsc_bytes_status(out_text);
}

hsc_status *hsc_compile_information(const char *program_name,
                                    int64_t compile_ns,
                                    hsc_bytes *out_text) {
  hsc_bytes_printf(out_text, "name %s\ncompile_ns %lld\n", program_name, (long long)compile_ns);
  return hsc_bytes_status(out_text);
}
