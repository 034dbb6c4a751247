// blame_zip.c - files into a zip archive, as they are: a report is small, and any system opens it.
#include <zlib.h>

#include "base/files/file_io.h"
#include "lab/blame/blame_internal.h"

enum { ZIP_VERSION = 20, ZIP_DAY = (2000 - 1980) << 9 | 1 << 5 | 1 };

static void put(hsc_bytes *out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++)
    hsc_bytes_append_char(out, (char)(value >> (8 * i)));
}

// What a local header and a row of the directory have in common.
static void put_facts(hsc_bytes *out, hsc_view data, uint32_t sum, size_t name_size) {
  put(out, ZIP_VERSION, 2);
  put(out, 0, 2);  // flags
  put(out, 0, 2);  // stored
  put(out, 0, 2);  // time
  put(out, ZIP_DAY, 2);
  put(out, sum, 4);
  put(out, data.size, 4);
  put(out, data.size, 4);
  put(out, name_size, 2);
  put(out, 0, 2);  // extra
}

hsc_status *hsc__blame_zip(const char *directory,
                           const char *const *names,
                           int count,
                           size_t limit_bytes,
                           hsc_bytes *out) {
  hsc_bytes index = {0};
  hsc_status *status = NULL;
  int entries = 0;
  for (int i = 0; i < count; i++) {
    hsc_bytes path = {0};
    hsc_bytes data = {0};
    size_t name_size = strlen(names[i]);
    hsc_bytes_printf(&path, "%s/%s", directory, names[i]);
    status = hsc_bytes_status(&path);
    if (!status)
      status = hsc_file_read(hsc_bytes_text(&path), &data);
    hsc_bytes_deinit(&path);
    if (!status && out->size + index.size + data.size + 4096 < limit_bytes) {
      uint32_t sum = (uint32_t)crc32(0, (const unsigned char *)data.data, (unsigned)data.size);
      size_t offset = out->size;
      put(out, 0x04034b50, 4);
      put_facts(out, hsc_bytes_view(&data), sum, name_size);
      hsc_bytes_append_text(out, names[i]);
      hsc_bytes_append(out, data.data, data.size);
      put(&index, 0x02014b50, 4);
      put(&index, ZIP_VERSION, 2);
      put_facts(&index, hsc_bytes_view(&data), sum, name_size);
      put(&index, 0, 2);  // comment
      put(&index, 0, 2);  // disk
      put(&index, 0, 2);  // internal attributes
      put(&index, 0, 4);  // external attributes
      put(&index, offset, 4);
      hsc_bytes_append_text(&index, names[i]);
      entries++;
    }
    hsc_bytes_deinit(&data);
    if (status)
      break;
  }
  size_t start = out->size;
  hsc_bytes_append(out, index.data, index.size);
  put(out, 0x06054b50, 4);
  put(out, 0, 4);  // disks
  put(out, (uint64_t)entries, 2);
  put(out, (uint64_t)entries, 2);
  put(out, index.size, 4);
  put(out, start, 4);
  put(out, 0, 2);
  if (!status)
    status = hsc_bytes_status(&index);
  hsc_bytes_deinit(&index);
  return status ? status : hsc_bytes_status(out);
}
