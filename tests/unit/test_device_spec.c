// test_device_spec.c - what --device may say, what is known of the machine, and the cache of
// compiled programs.
#include <stdlib.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "worker/compile_cache.h"
#include "lab/devices/devices.h"
#include "lab/store/environment.h"
#include "unit.h"

static hsc_arena *arena;
static char file[64];
static const char *source_root = ".";

static int set_up(void **state) {
  strcpy(file, "/tmp/hloscope-plugin-XXXXXX");
  int fd = mkstemp(file);
  if (fd < 0)
    return -1;
  close(fd);
  return hsc_arena_create(&arena) ? -1 : 0;
}

static int tear_down(void **state) {
  hsc_arena_destroy(arena);
  return unlink(file);
}

static const char *message_of(const char *text, hsc_code code) {
  static char message[512];
  hsc_device_spec spec;
  hsc_status *status = hsc_device_spec_parse(text, arena, &spec);
  assert_int_equal(hsc_status_code(status), code);
  snprintf(message, sizeof message, "%s", hsc_status_message(status));
  hsc_status_free(status);
  return message;
}

static void paths_take_options_of_every_type(void **state) {
  char text[256];
  hsc_device_spec spec;
  snprintf(text, sizeof text, "%s?threads=2&fast=true&ratio=0.5&name=x y&port=s:80&empty=", file);
  EXPECT_OK(hsc_device_spec_parse(text, arena, &spec));
  assert_string_equal(spec.plugin_path, file);
  assert_string_equal(spec.text, text);
  assert_int_equal(spec.source, HSC_DEVICE_PATH);
  assert_int_equal(spec.option_count, 6);
  assert_true(spec.options[0].type == HSC_DEVICE_OPTION_INT && spec.options[0].integer == 2);
  assert_true(spec.options[1].type == HSC_DEVICE_OPTION_BOOL && spec.options[1].boolean);
  assert_true(spec.options[2].type == HSC_DEVICE_OPTION_FLOAT && spec.options[2].real == 0.5);
  assert_true(spec.options[3].type == HSC_DEVICE_OPTION_TEXT);
  assert_true(spec.options[4].type == HSC_DEVICE_OPTION_TEXT);
  assert_string_equal(spec.options[4].text, "80");
  assert_string_equal(spec.options[5].text, "");
  snprintf(text, sizeof text, "%s?threads", file);
  assert_non_null(strstr(message_of(text, HSC_INVALID_ARGUMENT), "'threads' is not name=value"));
  message_of("/nowhere/libplugin.so", HSC_NOT_FOUND);
  message_of("libplugin-that-is-not-there.so", HSC_NOT_FOUND);
}

static void names_come_from_the_table(void **state) {
  assert_string_equal(message_of("cpuu", HSC_INVALID_ARGUMENT),
                      "unknown device 'cpuu'; did you mean 'cpu'?");
  // what is meant, not what is spelt alike
  static const char *const others[][2] = {{"gpu", "'cuda:h100'"},   {"GPU", "'cuda:h100'"},
                                          {"gpu:0", "'cuda:h100'"}, {"nvidia", "'cuda:h100'"},
                                          {"gpus", "'cuda:h100'"},  {"nvidiaa", "'cuda:h100'"},
                                          {"h100", "'cuda:h100'"},  {"v5e", "'tpu:v5e'"},
                                          {"xla", "'xla-cpu'"},     {"host", "'cpu'"}};
  for (size_t i = 0; i < HSC_COUNT_OF(others); i++) {
    const char *message = message_of(others[i][0], HSC_INVALID_ARGUMENT);
    assert_non_null(strstr(message, others[i][1]));
  }
  assert_non_null(strstr(message_of("abacus", HSC_INVALID_ARGUMENT), "unknown device 'abacus'"));
  assert_non_null(strstr(message_of("cpu:many", HSC_INVALID_ARGUMENT), "not a number of devices"));
  assert_non_null(strstr(message_of("reference:7", HSC_INVALID_ARGUMENT), "no variants"));
  assert_non_null(strstr(message_of("rocm:mi300", HSC_INVALID_ARGUMENT), "no variants"));
  setenv("HLOSCOPE_CPU_PLUGIN", file, 1);
  hsc_device_spec spec;
  EXPECT_OK(hsc_device_spec_parse("cpu", arena, &spec));
  assert_int_equal(spec.source, HSC_DEVICE_BUILT_IN);
  assert_string_equal(spec.plugin_path, file);
  setenv("HLOSCOPE_CPU_PLUGIN", "/nowhere/at/all.so", 1);
  message_of("cpu", HSC_NOT_FOUND);
  unsetenv("HLOSCOPE_CPU_PLUGIN");
  EXPECT_OK(hsc_device_spec_parse("reference", arena, &spec));
  assert_true(spec.source == HSC_DEVICE_EVALUATOR && !spec.plugin_path);
}

// The plugins of vendors as files of their names: a spec looks for them and reads nothing of them.
static void vendors_compile_ahead_of_time(void **state) {
  static const char *const files[] = {"libtpu.so", "xla_cuda_plugin.so"};
  char dir[] = "/tmp/hloscope-vendors-XXXXXX";
  char path[128];
  hsc_device_spec spec;
  assert_non_null(mkdtemp(dir));
  for (size_t i = 0; i < HSC_COUNT_OF(files); i++) {
    snprintf(path, sizeof path, "%s/%s", dir, files[i]);
    EXPECT_OK(hsc_file_write_atomic(path, "", 0));
  }
  setenv("HLOSCOPE_PLUGIN_PATH", dir, 1);
  setenv("HLOSCOPE_TARGETS", hsc_arena_printf(arena, "%s/targets", source_root), 1);
  EXPECT_OK(hsc_device_spec_parse("tpu:v5e", arena, &spec));
  assert_string_equal(spec.topology, "v5e:1x1");
  assert_string_equal(spec.environment[0], "TPU_SKIP_MDS_QUERY=1");
  EXPECT_OK(hsc_device_spec_parse("tpu:v4:2x2x1", arena, &spec));
  assert_string_equal(spec.topology, "v4:2x2x1");
  EXPECT_OK(hsc_device_spec_parse("tpu", arena, &spec));
  assert_null(spec.topology);
  EXPECT_OK(hsc_device_spec_parse("cuda:h100", arena, &spec));
  assert_string_equal(spec.topology, "");
  assert_int_equal(spec.option_count, 2);
  assert_string_equal(spec.options[0].name, "target_config");
  assert_non_null(strstr(spec.options[0].text, "core_count: 132"));
  EXPECT_OK(hsc_device_spec_parse(
      hsc_arena_printf(arena, "cuda:%s/targets/gpu/l4.pbtxt", source_root), arena, &spec));
  assert_non_null(strstr(spec.options[0].text, "core_count: 58"));
  assert_string_equal(message_of("cuda:h1000", HSC_INVALID_ARGUMENT),
                      "unknown gpu target 'h1000'; did you mean 'h100'?");
  assert_non_null(
      strstr(message_of("tpu:v5e:2x2x2", HSC_INVALID_ARGUMENT), "v5e has 2 dimensions"));
  assert_non_null(strstr(message_of("tpu:v4:2x2", HSC_INVALID_ARGUMENT), "v4 has 3 dimensions"));
  message_of("tpu:v5e:two", HSC_INVALID_ARGUMENT);
  message_of("tpu:", HSC_INVALID_ARGUMENT);
  for (size_t i = 0; i < HSC_COUNT_OF(files); i++) {
    snprintf(path, sizeof path, "%s/%s", dir, files[i]);
    unlink(path);
  }
  setenv("HLOSCOPE_PYTHON", "/nowhere/bin/python", 1);
  char *path_before = hsc_arena_strdup(arena, getenv("PATH"));
  setenv("PATH", dir, 1);
  setenv("HLOSCOPE_CACHE_DIR", dir, 1);
  unsetenv("VIRTUAL_ENV");
  assert_non_null(strstr(message_of("tpu:v5e", HSC_NOT_FOUND), "libtpu.so is not on this machine"));
  assert_non_null(strstr(message_of("neuron", HSC_NOT_FOUND), "libneuronpjrt.so"));
  unsetenv("HLOSCOPE_PLUGIN_PATH");
  unsetenv("HLOSCOPE_PYTHON");
  unsetenv("HLOSCOPE_TARGETS");
  setenv("PATH", path_before, 1);
  rmdir(dir);
}

static void make_file(const char *path) {
  char *slash = strrchr(hsc_arena_strdup(arena, path), '/');
  char *parent = hsc_arena_strdup(arena, path);
  parent[strlen(path) - strlen(slash)] = 0;
  EXPECT_OK(hsc_dir_make(parent));
  EXPECT_OK(hsc_file_write_atomic(path, "", 0));
}

// What no row of the table names: from variables, from directories, from the packages that vendors
// make for JAX; each once.
static void other_plugins_are_found(void **state) {
  char dir[] = "/tmp/hloscope-find-XXXXXX";
  char command[64];
  assert_non_null(mkdtemp(dir));
  const char *const files[] = {
      "own/libone.so",
      "own/libtpu.so",
      "two.so",
      "venv/lib/python3.11/site-packages/jax_plugins/acme/libacme.so",
      "venv/lib/python3.11/site-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so",
      "venv/lib/python3.11/site-packages/libtpu/libtpu.so"};
  for (size_t i = 0; i < HSC_COUNT_OF(files); i++)
    make_file(hsc_arena_printf(arena, "%s/%s", dir, files[i]));
  char *path_before = hsc_arena_strdup(arena, getenv("PATH"));
  setenv("PATH", dir, 1);
  setenv("VIRTUAL_ENV", hsc_arena_printf(arena, "%s/venv", dir), 1);
  setenv("HLOSCOPE_CACHE_DIR", hsc_arena_printf(arena, "%s/cache", dir), 1);
  setenv("HLOSCOPE_PLUGIN_PATH", hsc_arena_printf(arena, "%s/own:/nowhere", dir), 1);
  setenv(
      "PJRT_NAMES_AND_LIBRARY_PATHS",
      hsc_arena_printf(arena, "two:%s/two.so,one:%s/own/libone.so,gone:/nowhere/gone.so", dir, dir),
      1);
  hsc_found_plugin *plugins;
  size_t count;
  EXPECT_OK(hsc_plugins_find(arena, &plugins, &count));
  assert_int_equal(count, 3);
  assert_string_equal(plugins[0].name, "libone.so");
  assert_string_equal(plugins[0].where, "HLOSCOPE_PLUGIN_PATH");
  assert_string_equal(plugins[1].name, "two");
  assert_string_equal(plugins[2].name, "acme");
  assert_string_equal(plugins[2].where, "jax_plugins");
  const char *found;
  EXPECT_OK(hsc_vendor_plugin_path(hsc_vendor_get("cuda"), arena, &found));
  assert_non_null(strstr(found, "jax_plugins/xla_cuda12/xla_cuda_plugin.so"));
  EXPECT_OK(hsc_vendor_plugin_path(hsc_vendor_get("tpu"), arena, &found));
  // the user's own place before the environment's
  assert_non_null(strstr(found, "/own/libtpu.so"));
  unsetenv("HLOSCOPE_PLUGIN_PATH");
  setenv("PJRT_NAMES_AND_LIBRARY_PATHS", hsc_arena_printf(arena, "tpu:%s/two.so", dir), 1);
  EXPECT_OK(hsc_vendor_plugin_path(hsc_vendor_get("tpu"), arena, &found));
  assert_non_null(strstr(found, "/two.so"));
  unsetenv("PJRT_NAMES_AND_LIBRARY_PATHS");
  setenv("TPU_LIBRARY_PATH", file, 1);
  EXPECT_OK(hsc_vendor_plugin_path(hsc_vendor_get("tpu"), arena, &found));
  assert_string_equal(found, file);
  unsetenv("TPU_LIBRARY_PATH");
  unsetenv("VIRTUAL_ENV");
  setenv("PATH", path_before, 1);
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  assert_int_equal(system(command), 0);
}

static void a_path_may_name_a_topology(void **state) {
  char text[256];
  hsc_device_spec spec;
  snprintf(text, sizeof text, "%s?ahead-of-time=fake:1x1&threads=2", file);
  EXPECT_OK(hsc_device_spec_parse(text, arena, &spec));
  assert_string_equal(spec.topology, "fake:1x1");
  assert_int_equal(spec.option_count, 1);
  assert_string_equal(spec.options[0].name, "threads");
}

// Every description that is shipped has what the compilers and the specs need.
static void targets_are_whole(void **state) {
  static const char *const gpu[] = {"core_count",
                                    "memory_bandwidth",
                                    "shared_memory_per_block_optin",
                                    "cuda_compute_capability {",
                                    "fpus_per_core",
                                    "clock_rate_ghz",
                                    "l2_cache_size",
                                    "device_memory_size"};
  static const char *const tpu[] = {"platform_type_name", "topology", "devices_per_chip",
                                    "memory_bytes", "memory_bandwidth"};
  const char *const *names, *text;
  setenv("HLOSCOPE_TARGETS", hsc_arena_printf(arena, "%s/targets", source_root), 1);
  EXPECT_OK(hsc_target_names("gpu", arena, &names));
  assert_string_equal(names[0], "a10");
  for (; *names; names++) {
    EXPECT_OK(hsc_target_read("gpu", *names, arena, &text));
    for (size_t i = 0; i < HSC_COUNT_OF(gpu); i++)
      if (!strstr(text, gpu[i]))
        fail_msg("%s: no %s", *names, gpu[i]);
    assert_string_equal(hsc_target_value(text, "platform_name", arena), "CUDA");
  }
  EXPECT_OK(hsc_target_names("tpu", arena, &names));
  for (; *names; names++) {
    EXPECT_OK(hsc_target_read("tpu", *names, arena, &text));
    assert_string_equal(hsc_target_value(text, "platform_type_name", arena), *names);
    for (size_t i = 0; i < HSC_COUNT_OF(tpu); i++)
      if (!hsc_target_value(text, tpu[i], arena))
        fail_msg("%s: no %s", *names, tpu[i]);
  }
  unsetenv("HLOSCOPE_TARGETS");
}

static void the_machine_is_described(void **state) {
  json_t *environment = NULL;
  EXPECT_OK(hsc_environment_capture(true, &environment));
  assert_true(
      json_integer_value(json_object_get(json_object_get(environment, "cores"), "allowed")) >= 1);
  assert_true(json_number_value(json_object_get(json_object_get(environment, "clock"), "read_ns")) >
              0);
  double lost =
      json_number_value(json_object_get(json_object_get(environment, "noise"), "lost_fraction"));
  assert_true(lost >= 0 && lost < 1);
  const char *grade = json_string_value(json_object_get(environment, "grade"));
  assert_true(grade && strchr("ABCD", grade[0]) &&
              json_array_size(json_object_get(environment, "grade_reasons")) >= 1);
  json_decref(environment);
}

static void every_part_of_a_key_counts(void **state) {
  hsc_compile_key key = {"0123", HSC_VIEW("\x1a\x02"), file, "hloscope 1", 90};
  hsc_compile_key others[] = {key, key, key, key, key};
  others[0].fingerprint = "0124";
  others[1].options = HSC_VIEW("\x1a\x03");
  others[2].plugin_path = "/bin/sh";
  others[3].platform_version = "hloscope 2";
  others[4].api_minor = 91;
  hsc_bytes text = {0};
  hsc_bytes other = {0};
  EXPECT_OK(hsc_compile_key_text(&key, &text));
  for (size_t i = 0; i < HSC_COUNT_OF(others); i++) {
    hsc_bytes_reset(&other);
    EXPECT_OK(hsc_compile_key_text(&others[i], &other));
    assert_false(hsc_view_equals(hsc_bytes_view(&text), hsc_bytes_view(&other)));
  }
  static const char *const variables[] = {"XLA_FLAGS", "LIBTPU_INIT_ARGS", "NEURON_CC_FLAGS",
                                          "HLOSCOPE_CPU_ISA", "HLOSCOPE_CPU_DOT"};
  for (size_t i = 0; i < HSC_COUNT_OF(variables); i++) {  // compilers read options there, too
    const char *before = getenv(variables[i]);
    char *kept = before ? strdup(before) : NULL;
    setenv(variables[i], "--a=1\n--b", 1);
    hsc_bytes_reset(&other);
    EXPECT_OK(hsc_compile_key_text(&key, &other));
    assert_false(hsc_view_equals(hsc_bytes_view(&text), hsc_bytes_view(&other)));
    assert_true(hsc_view_equals_text(hsc_disk_cache_line(hsc_bytes_text(&other), variables[i]),
                                     "--a=1 --b"));
    if (kept)
      setenv(variables[i], kept, 1);
    else
      unsetenv(variables[i]);
    free(kept);
  }
  if (hsc_file_exists("/proc/cpuinfo"))
    assert_non_null(hsc_disk_cache_line(hsc_bytes_text(&text), "features").data);
  assert_true(hsc_compile_option_cacheable("xla_disable_hlo_passes"));
  assert_false(hsc_compile_option_cacheable("--xla_cpu_fast=1 --xla_dump_to=/tmp/d"));
  assert_false(hsc_compile_option_cacheable("xla_gpu_load_autotune_results_from"));
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&other);
}

int main(int argc, char **argv) {
  if (argc > 1)
    source_root = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paths_take_options_of_every_type),
      cmocka_unit_test(names_come_from_the_table),
      cmocka_unit_test(a_path_may_name_a_topology),
      cmocka_unit_test(other_plugins_are_found),
      cmocka_unit_test(targets_are_whole),
      cmocka_unit_test(vendors_compile_ahead_of_time),
      cmocka_unit_test(the_machine_is_described),
      cmocka_unit_test(every_part_of_a_key_counts),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
