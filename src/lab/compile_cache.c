// compile_cache.c - compiled programs on disk.
#include "lab/compile_cache.h"

#include <sys/stat.h>

typedef struct entry_header {
  char magic[4];     // "HSCX"
  uint32_t version;  // 1
  uint64_t key_bytes;
  uint64_t payload_bytes;
  uint64_t payload_hash;  // hsc_hash64, seed 1
} entry_header;

hsc_status *hsc_compile_key_text(const hsc_compile_key *key, hsc_bytes *out_text, char out_name[33]) {
  struct stat file = {0};
  const char *base = strrchr(key->plugin_path, '/');
  stat(key->plugin_path, &file);  // a plugin that cannot be looked at has size and time 0
  size_t start = out_text->size;
  hsc_bytes_printf(out_text, "program %s\nplugin %s %lld bytes %lld.%09ld\napi 0.%d\nplatform %s\noptions ",
                   key->fingerprint, base ? base + 1 : key->plugin_path, (long long)file.st_size,
                   (long long)file.st_mtim.tv_sec, (long)file.st_mtim.tv_nsec, key->api_minor, key->platform_version);
  for (size_t i = 0; i < key->options.size; i++)
    hsc_bytes_printf(out_text, "%02x", (unsigned char)key->options.data[i]);
  hsc_bytes_append_char(out_text, '\n');
  HSC_TRY(hsc_bytes_status(out_text));
  hsc_hash128_hex(hsc_hash128_of(out_text->data + start, out_text->size - start, 0), out_name);
  return NULL;
}

static void entry_path(const char *dir, const char *name, hsc_bytes *out) {
  hsc_bytes_printf(out, "%s/%s.hsx", dir, name);
}

hsc_status *hsc_compile_cache_get(const char *dir, const char *name, hsc_view key_text, hsc_bytes *out_payload,
                                  bool *out_found) {
  *out_found = false;
  hsc_bytes path = {0}, file = {0};
  entry_path(dir, name, &path);
  hsc_status *status = hsc_bytes_status(&path);
  if (!status) status = hsc_file_read(hsc_bytes_text(&path), &file);
  entry_header header;
  if (!status && file.size >= sizeof header) {
    memcpy(&header, file.data, sizeof header);
    const char *key = file.data + sizeof header, *payload = key + key_text.size;
    *out_found = !memcmp(header.magic, "HSCX", 4) && header.version == 1 && header.key_bytes == key_text.size &&
                 file.size - sizeof header >= key_text.size &&
                 file.size - sizeof header - key_text.size == header.payload_bytes &&
                 !memcmp(key, key_text.data, key_text.size) &&
                 hsc_hash64(payload, header.payload_bytes, 1) == header.payload_hash;
    if (*out_found) {
      hsc_bytes_append(out_payload, payload, header.payload_bytes);
      status = hsc_bytes_status(out_payload);
    }
  } else if (status && hsc_status_code(status) != HSC_RESOURCE_EXHAUSTED) {
    hsc_status_free(status);  // not there, or not readable: a miss
    status = NULL;
  }
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&file);
  return status;
}

hsc_status *hsc_compile_cache_put(const char *dir, const char *name, hsc_view key_text, hsc_view payload) {
  HSC_TRY(hsc_dir_make(dir));
  entry_header header = {
      {'H', 'S', 'C', 'X'}, 1, key_text.size, payload.size, hsc_hash64(payload.data, payload.size, 1)};
  hsc_bytes path = {0}, file = {0};
  entry_path(dir, name, &path);
  hsc_bytes_append(&file, &header, sizeof header);
  hsc_bytes_append(&file, key_text.data, key_text.size);
  hsc_bytes_append(&file, payload.data, payload.size);
  hsc_status *status = hsc_bytes_status(&path);
  if (!status) status = hsc_bytes_status(&file);
  if (!status) status = hsc_file_write_atomic(hsc_bytes_text(&path), file.data, file.size);
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&file);
  return status;
}
