// test_pjrt_options.c - the bytes of CompileOptionsProto, against bytes that real compilers were
// seen to accept; the table of functions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "pjrt/client.h"

static void expect_bytes(const hsc_compile_options *options, const char *expected, size_t size) {
  hsc_bytes bytes = {0};
  assert_null(hsc_compile_options_write(options, &bytes));
  assert_int_equal(bytes.size, size);
  assert_memory_equal(bytes.data, expected, size);
  hsc_bytes_deinit(&bytes);
}

static void defaults_are_what_the_tpu_compiler_needs(void **state) {
  hsc_compile_options options = hsc_compile_options_default();
  expect_bytes(&options, "\x1a\x04\x20\x01\x28\x01", 6);
}

static void a_text_override_is_one_map_entry(void **state) {
  hsc_override override = {
      .name = "xla_disable_hlo_passes", .type = HSC_OVERRIDE_TEXT, .text = "fusion"};
  hsc_compile_options options = hsc_compile_options_default();
  options.overrides = &override;
  options.override_count = 1;
  expect_bytes(&options,
               "\x1a\x04\x20\x01\x28\x01\x3a\x22\x0a\x16xla_disable_hlo_passes\x12\x08\x0a\x06"
               "fusion",
               6 + 36);
}

static void overrides_of_the_other_types(void **state) {
  hsc_override overrides[] = {
      {.name = "b", .type = HSC_OVERRIDE_BOOL, .boolean = true},
      {.name = "i", .type = HSC_OVERRIDE_INT, .integer = -1},
      {.name = "d", .type = HSC_OVERRIDE_DOUBLE, .real = 1.0},
  };
  hsc_compile_options options = hsc_compile_options_default();
  options.overrides = overrides;
  options.override_count = 3;
  expect_bytes(&options,
               "\x1a\x04\x20\x01\x28\x01"
               "\x3a\x07\x0a\x01"
               "b"
               "\x12\x02\x10\x01"
               "\x3a\x10\x0a\x01"
               "i"
               "\x12\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
               "\x3a\x0e\x0a\x01"
               "d"
               "\x12\x09\x21\x00\x00\x00\x00\x00\x00\xf0\x3f",
               6 + 9 + 18 + 16);
}

static void a_device_assignment_lists_devices_by_partition(void **state) {
  hsc_compile_options options = hsc_compile_options_default();
  options.replica_count = 2;
  options.partition_count = 2;
  options.device_assignment = true;
  options.parameter_is_tupled = true;
  // replica-major numbering: device = replica * 2 + partition
  expect_bytes(&options,
               "\x10\x01\x1a\x16\x20\x02\x28\x02\x4a\x10\x08\x02\x10\x02\x1a\x04\x0a\x02\x00\x02"
               "\x1a\x04\x0a\x02\x01\x03",
               26);
}

// Fields 12 and 18, packed: what JAX sends of results and arguments without a sharding.
static void what_the_partitioner_may_cut_is_listed(void **state) {
  static const int64_t results[] = {1, 0};
  static const int64_t parameters[] = {0, 1, 1};
  hsc_compile_options options = hsc_compile_options_default();
  options.free_results = results;
  options.free_result_count = 2;
  options.free_parameters = parameters;
  options.free_parameter_count = 3;
  expect_bytes(&options, "\x1a\x0e\x20\x01\x28\x01\x62\x02\x01\x00\x92\x01\x03\x00\x01\x01", 16);
}

static void nonsense_is_refused(void **state) {
  hsc_bytes bytes = {0};
  hsc_compile_options options = hsc_compile_options_default();
  options.replica_count = 0;
  hsc_status *status = hsc_compile_options_write(&options, &bytes);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
  hsc_override override = {.name = "xla_x", .type = HSC_OVERRIDE_TEXT};
  options = hsc_compile_options_default();
  options.overrides = &override;
  options.override_count = 1;
  status = hsc_compile_options_write(&options, &bytes);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  assert_non_null(strstr(hsc_status_message(status), "xla_x"));
  hsc_status_free(status);
  assert_int_equal(bytes.size, 0);
}

static void the_table_of_functions_is_the_table(void **state) {
  assert_int_equal(HSC_PJRT_FUNCTION_COUNT, 138);
  for (int f = 0; f < HSC_PJRT_FUNCTION_COUNT; f++) {
    const hsc_pjrt_function_info *info = hsc_pjrt_function_get((hsc_pjrt_function)f);
    assert_int_equal(info->offset, 40 + 8 * f);
    assert_true(info->minor >= HSC_PJRT_MINOR_OLDEST && info->minor <= PJRT_API_MINOR);
    assert_true(strlen(info->doc) > 5);
    if (f > 0)
      assert_true(info->minor >= hsc_pjrt_function_get((hsc_pjrt_function)(f - 1))->minor);
  }
  // Ends of released tables: 0.29 ended after OutputDimensions, 0.90 after Event_Set.
  assert_int_equal(hsc_pjrt_function_get(HSC_FN_PJRT_Buffer_CopyToMemory)->minor, 32);
  assert_int_equal(hsc_pjrt_function_get(HSC_FN_PJRT_Event_Set)->offset, 1064 - 8);
  assert_int_equal(hsc_pjrt_function_get(HSC_FN_PJRT_Device_GetAttributes)->minor, 92);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_what_the_tpu_compiler_needs),
      cmocka_unit_test(a_text_override_is_one_map_entry),
      cmocka_unit_test(overrides_of_the_other_types),
      cmocka_unit_test(a_device_assignment_lists_devices_by_partition),
      cmocka_unit_test(what_the_partitioner_may_cut_is_listed),
      cmocka_unit_test(nonsense_is_refused),
      cmocka_unit_test(the_table_of_functions_is_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
