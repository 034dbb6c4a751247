// device_code.c - Riegeli records, Snappy, and the section headers of ELF: just as much of each as
// counting needs.
#include "base/wire/wire.h"
#include "worker/device_code.h"

enum {
  BLOCK_BYTES = 1 << 16,
  BLOCK_HEADER = 24,
  CHUNK_HEADER = 40,
  ELF_CUDA = 190,
  SECTION_EXECUTABLE = 4
};
static const size_t unpacked_most = (size_t)1 << 30;

static uint64_t little(const char *at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--)
    value = value << 8 | (unsigned char)at[i];
  return value;
}

// Takes a varint off the front.
static bool varint(hsc_view *from, uint64_t *out) {
  hsc_wire in = hsc_wire_of(*from);
  if (!hsc_wire_varint(&in, out))
    return false;
  *from = (hsc_view){(const char *)in.p, (size_t)(in.end - in.p)};
  return true;
}

// Raw Snappy (google/snappy, format_description.txt), appended to *out.
static bool unpack_snappy(hsc_view from, hsc_bytes *out) {
  uint64_t whole;
  size_t start = out->size;
  if (!varint(&from, &whole) || whole > unpacked_most || start + whole > unpacked_most)
    return false;
  while (from.size) {
    unsigned tag = (unsigned char)from.data[0];
    size_t length;
    size_t distance = 0;
    size_t extra;
    if ((tag & 3) == 0) {
      extra = (tag >> 2) < 60 ? 0 : (tag >> 2) - 59;
      if (from.size < 1 + extra)
        return false;
      length = (extra ? (size_t)little(from.data + 1, (int)extra) : tag >> 2) + 1;
      if (length > from.size - 1 - extra || out->size - start + length > whole)
        return false;
      hsc_bytes_append(out, from.data + 1 + extra, length);
      extra += length;
    } else {
      if ((tag & 3) == 1)
        extra = 1;
      else if ((tag & 3) == 2)
        extra = 2;
      else
        extra = 4;
      if (from.size < 1 + extra)
        return false;
      length = (tag & 3) == 1 ? (tag >> 2 & 7) + 4 : (tag >> 2) + 1;
      distance = (size_t)little(from.data + 1, (int)extra) |
                 ((tag & 3) == 1 ? (size_t)(tag >> 5) << 8 : 0);
      if (!distance || distance > out->size - start || out->size - start + length > whole)
        return false;
      for (size_t i = 0; i < length; i++)
        hsc_bytes_append_char(out, out->data[out->size - distance]);
    }
    if (out->failed)
      return false;
    from.data += 1 + extra;
    from.size -= 1 + extra;
  }
  return out->size - start == whole;
}

// The records of one chunk of the simple kind, appended to *out.
static bool unpack_chunk(hsc_view data, hsc_bytes *out) {
  uint64_t sizes, whole;
  if (data.size < 1)
    return false;
  char compression = *data.data++;
  data.size--;
  if (!varint(&data, &sizes) || sizes > data.size)
    return false;
  data.data += sizes;
  data.size -= sizes;
  if (!compression) {
    hsc_bytes_append(out, data.data, data.size);
    return true;
  }
  return compression == 's' && varint(&data, &whole) && unpack_snappy(data, out);
}

// All records of a file, one after the other. Chunks of other kinds are passed over.
static bool unpack_records(hsc_view file, hsc_bytes *out) {
  hsc_bytes chunks = {0};
  // a header at the begin of each block interrupts whatever is there
  for (size_t at = 0; at < file.size; at += BLOCK_BYTES) {
    size_t end = file.size - at < BLOCK_BYTES ? file.size : at + BLOCK_BYTES;
    if (end - at > BLOCK_HEADER)
      hsc_bytes_append(&chunks, file.data + at + BLOCK_HEADER, end - at - BLOCK_HEADER);
  }
  bool good = !chunks.failed;
  for (size_t at = 0; good && chunks.size - at >= CHUNK_HEADER;) {
    const char *header = chunks.data + at;
    uint64_t size = little(header + 8, 8);
    if (size > chunks.size - at - CHUNK_HEADER)
      break;
    if (header[24] == 'r')
      good = unpack_chunk((hsc_view){header + CHUNK_HEADER, (size_t)size}, out);
    at += CHUNK_HEADER + (size_t)size;
  }
  hsc_bytes_deinit(&chunks);
  return good && !out->failed;
}

// The executable sections of an ELF file of 64 bits for CUDA at the begin of `file`; -1 = it is
// none.
static int64_t executable_bytes(hsc_view file) {
  if (file.size < 64 || file.data[4] != 2 || little(file.data + 18, 2) != ELF_CUDA)
    return -1;
  uint64_t table = little(file.data + 40, 8);
  uint64_t entry = little(file.data + 58, 2);
  uint64_t count = little(file.data + 60, 2);
  int64_t sum = 0;
  if (entry < 64 || table > file.size || count * entry > file.size - table)
    return -1;
  for (uint64_t i = 0; i < count; i++) {
    const char *section = file.data + table + i * entry;
    uint64_t size = little(section + 32, 8);
    if ((little(section + 8, 8) & SECTION_EXECUTABLE) && size <= file.size)
      sum += (int64_t)size;
  }
  return sum;
}

bool hsc_device_code_bytes(hsc_view serialized, int64_t *out_bytes) {
  static const char signature[] = "\x83\xaf\x70\xd1\x0d\x88\x4a\x3f";
  static const char elf[] =
      "\x7f"
      "ELF";
  uint64_t tag, size;
  hsc_bytes records = {0};
  int64_t sum = 0;
  if (!varint(&serialized, &tag) || tag != 0x0a || !varint(&serialized, &size) ||
      size > serialized.size)
    return false;
  hsc_view file = {serialized.data, (size_t)size};
  if (file.size < BLOCK_HEADER || memcmp(file.data, signature, 8) != 0 ||
      !unpack_records(file, &records)) {
    hsc_bytes_deinit(&records);
    return false;
  }
  const char *at = records.data;
  const char *end = records.data + records.size;
  while (at && at < end && (at = memmem(at, (size_t)(end - at), elf, 4))) {
    int64_t bytes = executable_bytes((hsc_view){at, (size_t)(end - at)});
    if (bytes > 0)
      sum += bytes;
    at += 4;
  }
  hsc_bytes_deinit(&records);
  *out_bytes = sum;
  return sum > 0;
}
