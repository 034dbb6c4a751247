// Code in serialised executables: files made here by the formats' documents, and every way to cut
// or bend them.
#include "base/core/memory.h"
#include "unit.h"

#include "worker/device_code.h"

static void put(hsc_bytes *out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++)
    hsc_bytes_append_char(out, i < 8 ? (char)(value >> 8 * i) : 0);
}

static void put_varint(hsc_bytes *out, uint64_t value) {
  for (; value > 127; value >>= 7)
    hsc_bytes_append_char(out, (char)(value | 128));
  hsc_bytes_append_char(out, (char)value);
}

// A cubin of two sections: `code` executable bytes, and 1000 that are not.
static void put_cubin(hsc_bytes *out, uint64_t code) {
  hsc_bytes_append(out,
                   "\x7f"
                   "ELF\x02\x01\x01\x33\x07\0\0\0\0\0\0\0",
                   16);
  put(out, 2, 2);
  put(out, 190, 2);
  put(out, 1, 4);
  put(out, 0, 8);
  put(out, 0, 8);
  put(out, 64, 8);  // section table
  put(out, 0, 4);
  put(out, 64, 2);
  put(out, 56, 2);
  put(out, 0, 2);
  put(out, 64, 2);
  put(out, 2, 2);
  put(out, 0, 2);
  for (int s = 0; s < 2; s++) {
    put(out, 0, 4);
    put(out, 1, 4);
    put(out, s ? 2 : 6, 8);
    put(out, 0, 8);
    put(out, 192, 8);
    put(out, s ? 1000 : code, 8);
    put(out, 0, 24);
  }
  for (uint64_t i = 0; i < code + 1000; i++)
    hsc_bytes_append_char(out, (char)(i * 7));
}

static void put_chunk(hsc_bytes *out, char kind, const hsc_bytes *data) {
  put(out, 0x1122334455667788u, 8);
  put(out, data->size, 8);
  put(out, 0, 8);
  hsc_bytes_append_char(out, kind);
  put(out, 1, 7);
  put(out, 0, 8);
  hsc_bytes_append(out, data->data, data->size);
}

// Literals of 50 bytes, and a copy of the last eight each time where they repeat.
static void put_snappy(hsc_bytes *out, const hsc_bytes *plain) {
  put_varint(out, plain->size);
  for (size_t at = 0; at < plain->size;) {
    if (at >= 8 && at + 8 <= plain->size && !memcmp(plain->data + at, plain->data + at - 8, 8)) {
      hsc_bytes_append_char(out, (char)(7 << 2 | 2));
      put(out, 8, 2);
      at += 8;
      continue;
    }
    size_t n = plain->size - at < 50 ? plain->size - at : 50;
    hsc_bytes_append_char(out, (char)((n - 1) << 2));
    hsc_bytes_append(out, plain->data + at, n);
    at += n;
  }
}

// ExecutableAndOptionsProto with a file of records that hold two cubins of 3000 and 70000 bytes of
// code.
static void make_serialized(bool compressed, hsc_bytes *out) {
  hsc_bytes plain = {0};
  hsc_bytes data = {0};
  hsc_bytes chunks = {0};
  hsc_bytes file = {0};
  hsc_bytes none = {0};
  hsc_bytes_append_text(&plain, "before");
  put_cubin(&plain, 3000);
  for (int i = 0; i < 500; i++)
    hsc_bytes_append_text(&plain, "12345678");
  put_cubin(&plain, 70000);
  hsc_bytes_append_char(&data, compressed ? 's' : 0);
  put_varint(&data, 3);
  hsc_bytes_append(&data, "\x01\x02\x03", 3);
  if (compressed) {
    put_varint(&data, plain.size);
    put_snappy(&data, &plain);
  } else
    hsc_bytes_append(&data, plain.data, plain.size);
  put_chunk(&chunks, 's', &none);
  put_chunk(&chunks, 'r', &data);
  for (size_t at = 0; at < chunks.size;) {  // blocks of 64 KiB, each with a header
    size_t n = chunks.size - at < (1 << 16) - 24 ? chunks.size - at : (1 << 16) - 24;
    hsc_bytes_append(&file, "\x83\xaf\x70\xd1\x0d\x88\x4a\x3f", 8);
    put(&file, 0, 16);
    hsc_bytes_append(&file, chunks.data + at, n);
    at += n;
  }
  hsc_bytes_append_char(out, 0x0a);
  put_varint(out, file.size);
  hsc_bytes_append(out, file.data, file.size);
  hsc_bytes_append_text(out, "\x12\x02\x08\x01");
  hsc_bytes *const all[] = {&plain, &data, &chunks, &file};
  for (size_t i = 0; i < HSC_COUNT_OF(all); i++)
    hsc_bytes_deinit(all[i]);
}

static void code_is_counted(void **state) {
  for (int compressed = 0; compressed < 2; compressed++) {
    hsc_bytes bytes = {0};
    int64_t code = 0;
    make_serialized(compressed, &bytes);
    assert_true(hsc_device_code_bytes(hsc_bytes_view(&bytes), &code));
    assert_int_equal(code, 73000);
    hsc_bytes_deinit(&bytes);
  }
}

// Nothing outside of the bytes is read (the copies end where the heap block ends), and nothing that
// cannot be is counted.
static void what_is_cut_or_bent_is_no_code(void **state) {
  hsc_bytes bytes = {0};
  int64_t code;
  make_serialized(true, &bytes);
  for (size_t cut = 0; cut < bytes.size; cut += cut < 300 ? 1 : 997) {
    char *copy = hsc_alloc(cut + 1);
    memcpy(copy, bytes.data, cut);
    if (hsc_device_code_bytes((hsc_view){copy, cut}, &code) && cut + 4 < bytes.size)
      fail_msg("code in the first %zu bytes", cut);
    hsc_free(copy);
  }
  uint64_t h = 1;
  for (int i = 0; i < 3000; i++) {
    h = h * 6364136223846793005u + 1442695040888963407u;
    size_t at = i < 400 ? (size_t)i % 200 : (size_t)(h >> 33) % bytes.size;
    char before = bytes.data[at];
    bytes.data[at] = (char)(h >> 20);
    if (hsc_device_code_bytes(hsc_bytes_view(&bytes), &code))
      assert_true(code > 0 && code < 1 << 20);
    bytes.data[at] = before;
  }
  hsc_bytes_deinit(&bytes);
  assert_false(hsc_device_code_bytes((hsc_view){"", 0}, &code));
  assert_false(hsc_device_code_bytes((hsc_view){"HloModule m", 11}, &code));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(code_is_counted),
                                     cmocka_unit_test(what_is_cut_or_bent_is_no_code)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
