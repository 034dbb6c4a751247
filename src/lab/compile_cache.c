// compile_cache.c - see compile_cache.h.
#include "lab/compile_cache.h"

#include <sys/stat.h>

// The first "model name" of /proc/cpuinfo: one machine's code need not run on another that shares the directory.
static void append_processor(hsc_bytes *out) {
  char line[512] = "unknown";
  FILE *file = fopen("/proc/cpuinfo", "re");
  while (file && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (!hsc_starts_with(line, "model name") || !colon) continue;
    line[strcspn(line, "\n")] = 0;
    hsc_bytes_printf(out, "processor%s\n", colon + 1);
    break;
  }
  if (file) fclose(file);
}

hsc_status *hsc_compile_key_text(const hsc_compile_key *key, hsc_bytes *out_text) {
  struct stat file = {0};
  const char *base = strrchr(key->plugin_path, '/');
  stat(key->plugin_path, &file);  // a plugin that cannot be looked at has size and time 0
  hsc_bytes_printf(out_text, "program %s\nplugin %s %lld bytes %lld.%09ld\napi 0.%d\nplatform %s\n", key->fingerprint,
                   base ? base + 1 : key->plugin_path, (long long)file.st_size, (long long)file.st_mtim.tv_sec,
                   (long)file.st_mtim.tv_nsec, key->api_minor, key->platform_version);
  append_processor(out_text);
  hsc_bytes_append_text(out_text, "options ");
  for (size_t i = 0; i < key->options.size; i++)
    hsc_bytes_printf(out_text, "%02x", (unsigned char)key->options.data[i]);
  hsc_bytes_append_char(out_text, '\n');
  return hsc_bytes_status(out_text);
}

hsc_status *hsc_compile_information(const char *program_name, int64_t compile_ns, hsc_bytes *out_text) {
  hsc_bytes_printf(out_text, "name %s\ncompile_ns %lld\n", program_name, (long long)compile_ns);
  return hsc_bytes_status(out_text);
}
