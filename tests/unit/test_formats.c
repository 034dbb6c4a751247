// Readers and writers together: what XLA prints comes back byte for byte, what XLA serialises means
// the same, and what is written is read again. The files of tests/conformance/formats are made by
// XLA (export.py there).
#include "base/files/file_io.h"
#include "unit.h"

#include "formats/common/formats.h"

static char *source_dir;

static void read_bytes(const char *folder, const char *name, hsc_bytes *out) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s/%s", source_dir, folder, name);
  hsc_bytes packed = {0};
  EXPECT_OK(hsc_file_read(path, &packed));
  EXPECT_OK(hsc_decompress(hsc_bytes_view(&packed), 1 << 30, out));
  hsc_bytes_deinit(&packed);
}

static hsc_module *read_module(const char *folder, const char *name) {
  hsc_bytes bytes = {0};
  hsc_module *module = NULL;
  read_bytes(folder, name, &bytes);
  EXPECT_OK(hsc_program_read(hsc_bytes_view(&bytes), name, &module));
  hsc_bytes_deinit(&bytes);
  return module;
}

static void expect_same_meaning(const hsc_module *a, const hsc_module *b, const char *what) {
  hsc_hash128 x = hsc_module_fingerprint(a);
  hsc_hash128 y = hsc_module_fingerprint(b);
  if (x.low != y.low || x.high != y.high)
    fail_msg("%s: the fingerprints differ", what);
}

static const char *const xla_modules[] = {"attributes",
                                          "mesh_groups",
                                          "xla_cpu_control_flow",
                                          "xla_cpu_linear_algebra",
                                          "xla_cpu_indexing",
                                          "xla_cpu_random",
                                          "xla_cpu_network",
                                          "xla_cpu_narrow_types",
                                          "xla_cpu_resnet50_train"};

static const char *file_name(char *out, size_t size, size_t i, const char *extension) {
  snprintf(out, size, "%s.%s%s", xla_modules[i], extension,
           i == HSC_COUNT_OF(xla_modules) - 1 ? ".gz" : "");
  return out;
}

static void what_xla_prints_comes_back_byte_for_byte(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(xla_modules); i++) {
    char name[96];
    hsc_bytes text = {0};
    hsc_bytes printed = {0};
    read_bytes("tests/conformance/formats", file_name(name, sizeof name, i, "hlo"), &text);
    hsc_module *module = read_module("tests/conformance/formats", name);
    EXPECT_OK(hsc_program_write(module, HSC_FORMAT_HLO_TEXT, &printed));
    assert_string_equal(hsc_bytes_text(&printed), hsc_bytes_text(&text));
    hsc_module_destroy(module);
    hsc_bytes_deinit(&text);
    hsc_bytes_deinit(&printed);
  }
}

static void what_xla_serialises_means_the_same_as_its_text(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(xla_modules); i++) {
    char text_name[96], proto_name[96];
    hsc_module *text =
        read_module("tests/conformance/formats", file_name(text_name, sizeof text_name, i, "hlo"));
    hsc_module *proto =
        read_module("tests/conformance/formats", file_name(proto_name, sizeof proto_name, i, "pb"));
    expect_same_meaning(text, proto, proto_name);
    hsc_module_destroy(text);
    hsc_module_destroy(proto);
  }
}

static void round_trip(hsc_module *module, hsc_format format, const char *what) {
  hsc_bytes first = {0};
  hsc_bytes second = {0};
  hsc_module *again = NULL;
  EXPECT_OK(hsc_program_write(module, format, &first));
  EXPECT_OK(hsc_program_read_as(format, hsc_bytes_view(&first), what, &again));
  expect_same_meaning(module, again, what);
  EXPECT_OK(hsc_program_write(again, format, &second));
  if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0)
    fail_msg("%s: written twice it differs", what);
  hsc_module_destroy(again);
  hsc_bytes_deinit(&first);
  hsc_bytes_deinit(&second);
}

static void what_is_written_is_read_again(void **state) {
  static const char *const models[] = {"patterns/tiny_scan.hlo",         "patterns/mlp_vmap.hlo",
                                       "patterns/multihead_natural.hlo", "laplace_train.hlo.gz",
                                       "resnet50_forward.hlo.gz",        "resnet50_train.hlo.gz",
                                       "transformer_train.hlo.gz"};
  for (size_t i = 0; i < HSC_COUNT_OF(xla_modules) + HSC_COUNT_OF(models); i++) {
    char name[96];
    bool is_model = i >= HSC_COUNT_OF(xla_modules);
    const char *file =
        is_model ? models[i - HSC_COUNT_OF(xla_modules)] : file_name(name, sizeof name, i, "hlo");
    hsc_module *module = read_module(is_model ? "models" : "tests/conformance/formats", file);
    round_trip(module, HSC_FORMAT_HLO_TEXT, file);
    round_trip(module, HSC_FORMAT_HLO_PROTO, file);
    hsc_module_destroy(module);
  }
}

static void the_message_around_a_module_is_unwrapped(void **state) {
  hsc_bytes module_bytes = {0};
  hsc_bytes hlo_proto = {0};
  hsc_bytes snapshot = {0};
  hsc_bytes with_config = {0};
  hsc_module *module = read_module("models", "patterns/tiny_scan.hlo");
  hsc_module *again = NULL;
  EXPECT_OK(hsc_hlo_proto_write(module, &module_bytes));
  // HloProto { hlo_module = 1 } and HloSnapshot { hlo = 1 }: a tag and a length before the bytes.
  size_t size = module_bytes.size;
  hsc_bytes_append_char(&hlo_proto, 0x0a);
  for (size_t rest = size; rest || hlo_proto.size == 1; rest >>= 7)
    hsc_bytes_append_char(&hlo_proto, (char)((rest & 127) | (rest > 127 ? 128 : 0)));
  hsc_bytes_append(&hlo_proto, module_bytes.data, size);
  hsc_bytes_append_char(&snapshot, 0x0a);
  for (size_t rest = hlo_proto.size; rest || snapshot.size == 1; rest >>= 7)
    hsc_bytes_append_char(&snapshot, (char)((rest & 127) | (rest > 127 ? 128 : 0)));
  hsc_bytes_append(&snapshot, hlo_proto.data, hlo_proto.size);
  EXPECT_OK(hsc_hlo_proto_write_with_config(module, &with_config));
  const hsc_bytes *const forms[] = {&module_bytes, &hlo_proto, &snapshot, &with_config};
  for (size_t i = 0; i < HSC_COUNT_OF(forms); i++) {
    hsc_format format;
    assert_true(hsc_format_detect(hsc_bytes_view(forms[i]), NULL, &format));
    assert_int_equal(format, HSC_FORMAT_HLO_PROTO);
    EXPECT_OK(hsc_program_read(hsc_bytes_view(forms[i]), NULL, &again));
    expect_same_meaning(module, again, "wrapped");
    assert_string_equal(again->layout_text, module->layout_text);
    hsc_module_destroy(again);
  }
  hsc_module_destroy(module);
  hsc_bytes_deinit(&module_bytes);
  hsc_bytes_deinit(&hlo_proto);
  hsc_bytes_deinit(&snapshot);
  hsc_bytes_deinit(&with_config);
}

static void a_cut_proto_is_an_error_at_every_byte(void **state) {
  hsc_bytes bytes = {0};
  hsc_module *module = read_module("models", "patterns/tiny_dependent.hlo");
  EXPECT_OK(hsc_hlo_proto_write(module, &bytes));
  hsc_module_destroy(module);
  size_t errors = 0;
  for (size_t size = 0; size < bytes.size; size++) {
    char *copy = hsc_alloc(size + 1);
    memcpy(copy, bytes.data, size);
    hsc_status *status = hsc_hlo_proto_read((hsc_view){copy, size}, "cut.pb", &module);
    if (!status)
      hsc_module_destroy(module);
    else
      errors++;
    hsc_status_free(status);
    hsc_free(copy);
  }
  assert_true(errors > bytes.size * 9 / 10);  // whole fields at the end may go
  hsc_bytes_deinit(&bytes);
}

static void a_length_of_4_gigabytes_is_an_error(void **state) {
  static const char bytes[] =
      "\x0a\x01m\x1a\xff\xff\xff\xff\x0f\x0a\x01"
      "e";
  hsc_module *module;
  hsc_status *status = hsc_hlo_proto_read((hsc_view){bytes, sizeof bytes - 1}, "big.pb", &module);
  assert_int_equal(hsc_status_code(status), HSC_DATA_LOSS);
  assert_string_equal(hsc_status_message(status),
                      "HloModuleProto: byte 3 of 12: a length beyond the end of the message");
  assert_string_equal(hsc_status_path(status), "big.pb");
  hsc_status_free(status);
}

static void formats_are_told_apart(void **state) {
  static const struct {
    const char *bytes, *path;
    hsc_format format;
  } cases[] = {
      {"HloModule m\n", NULL, HSC_FORMAT_HLO_TEXT},
      {"// c\n/* d */ HloModule m", NULL, HSC_FORMAT_HLO_TEXT},
      {"ML\xefR", NULL, HSC_FORMAT_MLIR_BYTECODE},
      {"module @m {", NULL, HSC_FORMAT_MLIR_TEXT},
      {"#loc = loc(unknown)", NULL, HSC_FORMAT_MLIR_TEXT},
      {"e { x = f32[] parameter(0) }", "a.hlo.gz", HSC_FORMAT_HLO_TEXT},
      {"\n\x05m\x01\x02", "x", HSC_FORMAT_HLO_PROTO},
      {"nothing", "a.mlir.zst", HSC_FORMAT_MLIR_TEXT},
      {"nothing", "b.hlo.pb", HSC_FORMAT_HLO_PROTO},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_format format = HSC_FORMAT_COUNT;
    assert_true(hsc_format_detect(hsc_view_of(cases[i].bytes), cases[i].path, &format));
    assert_int_equal(format, cases[i].format);
  }
  hsc_module *module;
  hsc_format format;
  assert_false(hsc_format_detect(HSC_VIEW("what is this"), "notes.doc", &format));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_program_read(HSC_VIEW(""), "empty.hlo", &module));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_program_read(HSC_VIEW("what is this"), NULL, &module));
  EXPECT_CODE(DATA_LOSS, hsc_program_read(HSC_VIEW("\x1f\x8b\x08 broken"), "a.hlo.gz", &module));
}

int main(int argc, char **argv) {
  source_dir = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_xla_prints_comes_back_byte_for_byte),
      cmocka_unit_test(what_xla_serialises_means_the_same_as_its_text),
      cmocka_unit_test(what_is_written_is_read_again),
      cmocka_unit_test(the_message_around_a_module_is_unwrapped),
      cmocka_unit_test(a_cut_proto_is_an_error_at_every_byte),
      cmocka_unit_test(a_length_of_4_gigabytes_is_an_error),
      cmocka_unit_test(formats_are_told_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
