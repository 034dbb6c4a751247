// The protobuf wire format: known bytes (written by hand from the encoding's specification),
// malformed ones, nested messages of every length.
#include "base/core/memory.h"
#include "unit.h"

#include "base/wire/wire.h"

static hsc_view view(const char *bytes, size_t size) {
  return (hsc_view){bytes, size};
}

static void reads_the_specification_s_examples(void **state) {
  hsc_wire in = hsc_wire_of(view(
      "\x08\x96\x01\x12\x07testing\x1d\x00\x00\x80\x3f\x21\x00\x00\x00\x00\x00\x00\x04\x40", 26));
  hsc_wire_field f;
  assert_true(hsc_wire_next(&in, &f));
  assert_int_equal(f.number, 1);
  assert_int_equal(f.value, 150);
  assert_true(hsc_wire_next(&in, &f));
  assert_int_equal(f.number, 2);
  assert_true(hsc_view_equals_text(f.bytes, "testing"));
  assert_true(hsc_wire_next(&in, &f));
  assert_true(hsc_wire_float(&f) == 1.0f);
  assert_true(hsc_wire_next(&in, &f));
  assert_true(hsc_wire_double(&f) == 2.5);
  assert_false(hsc_wire_next(&in, &f));
  EXPECT_OK(hsc_wire_status(&in, "m"));
}

static void reads_packed_and_single_integers(void **state) {
  hsc_wire in = hsc_wire_of(view(
      "\x32\x06\x03\x8e\x02\x9e\xa7\x05\x30\x07\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 21));
  int64_t values[8];
  size_t count = 0;
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    assert_true(hsc_wire_ints(&f, values, 8, &count));
  assert_int_equal(count, 5);
  assert_int_equal(values[2], 86942);
  assert_int_equal(values[3], 7);
  assert_int_equal(values[4], -1);
}

static void groups_are_stepped_over(void **state) {
  hsc_wire in = hsc_wire_of(view("\x0b\x13\x08\x01\x14\x12\x01x\x0c\x10\x05", 11));
  hsc_wire_field f;
  assert_true(hsc_wire_next(&in, &f));
  assert_int_equal(f.number, 2);
  assert_int_equal(f.value, 5);
}

static void malformed_bytes_are_errors(void **state) {
  static const struct {
    const char *bytes;
    size_t size;
    const char *message;
  } cases[] = {
      {"\x08", 1, "m: byte 0 of 1: the message ends in a number"},
      {"\x12\x05"
       "abc",
       5, "m: byte 0 of 5: a length beyond the end of the message"},
      {"\x12\xff\xff\xff\xff\x0f", 6, "m: byte 0 of 6: a length beyond the end of the message"},
      {"\x08\x01\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14,
       "m: byte 2 of 14: a number longer than 64 bits"},
      {"\x00\x01", 2, "m: byte 0 of 2: a field number out of range"},
      {"\x0f\x01", 2, "m: byte 0 of 2: an unknown wire type"},
      {"\x0b\x08\x01", 3, "m: byte 0 of 3: the message ends in a group"},
      {"\x0c", 1, "m: byte 0 of 1: an unknown wire type"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_wire in = hsc_wire_of(view(cases[i].bytes, cases[i].size));
    for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    }
    hsc_status *status = hsc_wire_status(&in, "m");
    assert_int_equal(hsc_status_code(status), HSC_DATA_LOSS);
    assert_string_equal(hsc_status_message(status), cases[i].message);
    hsc_status_free(status);
  }
}

static void nested_messages_of_every_length_come_back(void **state) {
  static const size_t lengths[] = {0, 1, 126, 127, 128, 129, 16382, 16383, 16384, 100000};
  for (size_t i = 0; i < HSC_COUNT_OF(lengths); i++) {
    hsc_bytes out = {0};
    char *payload = hsc_alloc(lengths[i] + 1);
    memset(payload, 'x', lengths[i]);
    size_t outer = hsc_wire_begin(&out, 5);
    size_t inner = hsc_wire_begin(&out, 300);
    hsc_wire_put_bytes(&out, 1, payload, lengths[i]);
    hsc_wire_end(&out, inner);
    hsc_wire_put_varint(&out, 2, 42);
    hsc_wire_end(&out, outer);
    EXPECT_OK(hsc_bytes_status(&out));
    hsc_wire top = hsc_wire_of(hsc_bytes_view(&out));
    hsc_wire_field f;
    assert_true(hsc_wire_next(&top, &f));
    assert_int_equal(f.number, 5);
    hsc_wire middle = hsc_wire_of(f.bytes);
    assert_true(hsc_wire_next(&middle, &f));
    assert_int_equal(f.number, 300);
    hsc_wire_field g;
    hsc_wire deep = hsc_wire_of(f.bytes);
    assert_true(hsc_wire_next(&deep, &g));
    assert_int_equal(g.bytes.size, lengths[i]);
    assert_memory_equal(g.bytes.data, payload, lengths[i]);
    assert_true(hsc_wire_next(&middle, &f));
    assert_int_equal(f.value, 42);
    hsc_free(payload);
    hsc_bytes_deinit(&out);
  }
}

static void zero_values_are_left_out(void **state) {
  hsc_bytes out = {0};
  hsc_wire_put_int(&out, 1, 0);
  hsc_wire_put_bool(&out, 2, false);
  hsc_wire_put_double(&out, 3, 0);
  hsc_wire_put_float(&out, 4, 0);
  hsc_wire_put_text(&out, 5, "");
  hsc_wire_put_packed(&out, 6, NULL, 0);
  assert_int_equal(out.size, 0);
  hsc_wire_put_int(&out, 1, -2);
  hsc_wire_put_double(&out, 3, -0.0);
  hsc_wire_put_packed(&out, 4, (int64_t[]){3, 270, 86942}, 3);
  assert_memory_equal(out.data,
                      "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x19\0\0\0\0\0\0\0\x80\x22\x06"
                      "\x03\x8e\x02\x9e\xa7\x05",
                      28);
  hsc_bytes_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_the_specification_s_examples),
      cmocka_unit_test(reads_packed_and_single_integers),
      cmocka_unit_test(groups_are_stepped_over),
      cmocka_unit_test(malformed_bytes_are_errors),
      cmocka_unit_test(nested_messages_of_every_length_come_back),
      cmocka_unit_test(zero_values_are_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
