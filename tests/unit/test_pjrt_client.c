// test_pjrt_client.c - the client against a plugin that misbehaves as reported (tests/fake_plugin):
// every refusal has its words, nothing is lost on any path.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "pjrt/client.h"

static char fake_path[4096], other_path[4096];
static void (*fake_set)(const char *);
static int64_t *live[5];

static int find_fake(void **state) {
  char *dir = NULL;
  assert_null(hsc_self_dir((void *)find_fake, &dir));
  snprintf(fake_path, sizeof fake_path, "%s/../fake_plugin/libhloscope_fake_pjrt.so", dir);
  snprintf(other_path, sizeof other_path, "%s/../fake_plugin/libhloscope_not_a_plugin.so", dir);
  hsc_free(dir);
  void *library = dlopen(fake_path, RTLD_NOW);
  if (!library)
    fail_msg("%s", dlerror());
  *(void **)&fake_set = dlsym(library, "hsc_fake_set");
  static const char *const names[] = {"hsc_fake_live_events", "hsc_fake_live_buffers",
                                      "hsc_fake_live_executables", "hsc_fake_live_loaded",
                                      "hsc_fake_live_errors"};
  for (int i = 0; i < 5; i++)
    live[i] = dlsym(library, names[i]);
  return 0;
}

static void expect_nothing_alive(void) {
  for (int i = 0; i < 5; i++)
    assert_int_equal(__atomic_load_n(live[i], __ATOMIC_RELAXED), 0);
}

// Fails unless the status has the code and says all the words; frees it.
static void expect_status(hsc_status *status, hsc_code code, const char *words) {
  if (!status)
    fail_msg("no error, but %s expected", words);
  if (hsc_status_code(status) != code || !strstr(hsc_status_message(status), words))
    fail_msg("code %d, message '%s'; expected %d, '%s'", (int)hsc_status_code(status),
             hsc_status_message(status), (int)code, words);
  hsc_status_free(status);
}

static hsc_plugin *open_fake(const char *settings) {
  hsc_plugin *plugin;
  fake_set(settings);
  hsc_status *status = hsc_plugin_open(fake_path, &plugin);
  if (status)
    fail_msg("%s", hsc_status_message(status));
  return plugin;
}

static void refuse_fake(const char *settings, hsc_code code, const char *words) {
  hsc_plugin *plugin = (hsc_plugin *)1;
  fake_set(settings);
  expect_status(hsc_plugin_open(fake_path, &plugin), code, words);
  assert_null(plugin);
}

// ---- opening ------------------------------------------------------------------------------------

static void what_is_no_plugin_is_refused_with_the_reason(void **state) {
  hsc_plugin *plugin;
  hsc_status *status = hsc_plugin_open("/nowhere/libx.so", &plugin);
  assert_non_null(hsc_status_hint_text(status));
  expect_status(status, HSC_NOT_FOUND, "/nowhere/libx.so");
  expect_status(hsc_plugin_open(other_path, &plugin), HSC_INVALID_ARGUMENT,
                "has no function GetPjrtApi");
  char text_path[] = "/tmp/hsc_not_elf_XXXXXX";
  int fd = mkstemp(text_path);
  assert_true(write(fd, "hello", 5) == 5);
  close(fd);
  expect_status(hsc_plugin_open(text_path, &plugin), HSC_FAILED_PRECONDITION, "does not load");
  unlink(text_path);
}

static void versions_are_checked_and_named(void **state) {
  refuse_fake("major=1", HSC_UNIMPLEMENTED, "speaks PJRT API 1.112");
  refuse_fake("minor=28", HSC_UNIMPLEMENTED,
              "PJRT API 0.28, older than the oldest that is supported, 0.29");
  refuse_fake("minor=56", HSC_UNIMPLEMENTED, "0.56");
  refuse_fake("table_bytes=0", HSC_INVALID_ARGUMENT, "truncated: 0 bytes");
  refuse_fake("table_bytes=39", HSC_INVALID_ARGUMENT, "truncated");
  refuse_fake("table_bytes=48", HSC_INVALID_ARGUMENT, "error functions");
  static const int accepted[] = {29, 30, 54, 55, 57, 75, 90, 112, 116, 200};
  for (size_t i = 0; i < HSC_COUNT_OF(accepted); i++) {
    char settings[32];
    snprintf(settings, sizeof settings, "minor=%d", accepted[i]);
    hsc_plugin *plugin = open_fake(settings);
    assert_int_equal(hsc_plugin_minor(plugin), accepted[i]);
    hsc_plugin_close(plugin);
  }
}

static void slots_behind_the_table_or_the_version_are_not_touched(void **state) {
  hsc_client *client;
  hsc_executable *executable;
  hsc_compiled_memory memory;
  // A 0.33 table ends before Executable_Fingerprint (0.35), whatever is in the bytes after it.
  hsc_plugin *plugin = open_fake("minor=33,table_bytes=800");
  assert_false(hsc_plugin_has(plugin, HSC_FN_PJRT_Executable_Fingerprint));
  assert_true(hsc_plugin_has(plugin, HSC_FN_PJRT_Client_Compile));
  assert_null(hsc_client_create(plugin, NULL, 0, &client));
  assert_null(hsc_client_compile(client, HSC_VIEW("x"), "hlo", (hsc_view){0}, &executable));
  hsc_status *status = hsc_executable_memory(executable, &memory);
  assert_string_equal(hsc_status_message(status),
                      "PJRT_Executable_GetCompiledMemoryStats is not supported by plugin "
                      "libhloscope_fake_pjrt.so (PJRT API 0.33)");
  expect_status(status, HSC_UNIMPLEMENTED, "not supported");
  hsc_executable_destroy(executable);
  hsc_client_destroy(client);
  hsc_plugin_close(plugin);
  // Long enough, but older than the slot's meaning.
  plugin = open_fake("minor=104");
  assert_false(hsc_plugin_has(plugin, HSC_FN_PJRT_Device_ClearMemoryStats));
  hsc_plugin_close(plugin);
  plugin = open_fake("null=Client_Create");
  expect_status(hsc_client_create(plugin, NULL, 0, &client), HSC_UNIMPLEMENTED,
                "PJRT_Client_Create is not supported");
  hsc_plugin_close(plugin);
  expect_nothing_alive();
}

static void extensions_are_walked_with_a_bound(void **state) {
  hsc_plugin *plugin = open_fake("extensions=3");
  assert_int_equal(hsc_plugin_extension_count(plugin), 3);
  assert_non_null(hsc_plugin_extension(plugin, PJRT_Extension_Type_Example));
  assert_null(hsc_plugin_extension(plugin, PJRT_Extension_Type_Profiler));
  hsc_profiler *profiler;
  expect_status(hsc_profiler_create(plugin, (hsc_view){0}, &profiler), HSC_UNIMPLEMENTED,
                "profiler extension");
  hsc_plugin_close(plugin);
  plugin = open_fake("loop=1");
  assert_int_equal(hsc_plugin_extension_count(plugin), 4);
  hsc_plugin_close(plugin);
  assert_string_equal(hsc_pjrt_extension_text(1), "Profiler");
  assert_string_equal(hsc_pjrt_extension_text(77), "type 77");
}

static void attributes_come_with_their_types(void **state) {
  const hsc_named_value *values;
  size_t count;
  hsc_plugin *plugin = open_fake("");
  assert_null(hsc_plugin_initialize(plugin));
  assert_null(hsc_plugin_attributes(plugin, &values, &count));
  assert_int_equal(count, 5);
  const hsc_named_value *version = hsc_named_value_find(values, count, "stablehlo_current_version");
  assert_int_equal(version->list_count, 3);
  assert_int_equal(version->list[1], 9);
  assert_int_equal(hsc_named_value_find(values, count, "xla_version")->integer, 2);
  // cut at its length
  assert_string_equal(hsc_named_value_find(values, count, "kind")->text, "fake");
  assert_true(hsc_named_value_find(values, count, "half")->real == 0.5);
  assert_true(hsc_named_value_find(values, count, "yes")->boolean);
  assert_null(hsc_named_value_find(values, count, "no"));
  hsc_plugin_close(plugin);
}

// ---- errors -------------------------------------------------------------------------------------

static void every_error_code_arrives(void **state) {
  for (int code = 1; code <= 17; code++) {
    char settings[64];
    snprintf(settings, sizeof settings, "fail=Client_Compile:%d:no %d", code, code);
    hsc_plugin *plugin = open_fake(settings);
    hsc_client *client;
    hsc_executable *executable;
    assert_null(hsc_client_create(plugin, NULL, 0, &client));
    hsc_status *status =
        hsc_client_compile(client, HSC_VIEW("x"), "hlo", (hsc_view){0}, &executable);
    assert_null(executable);
    assert_non_null(strstr(hsc_status_notes(status), "PJRT_Client_Compile"));
    char words[64];
    snprintf(words, sizeof words, "libhloscope_fake_pjrt.so: no %d", code);
    expect_status(status, code <= 16 ? (hsc_code)code : HSC_UNKNOWN, words);
    hsc_client_destroy(client);
    hsc_plugin_close(plugin);
    expect_nothing_alive();
  }
  hsc_plugin *plugin = open_fake("fail=Plugin_Initialize:10,mute=1");
  expect_status(hsc_plugin_initialize(plugin), HSC_ABORTED, "gives no message");
  hsc_plugin_close(plugin);
}

static void vendors_that_want_exact_sizes_are_named_with_both_versions(void **state) {
  hsc_plugin *plugin = open_fake("strict=2,minor=54");
  hsc_status *status = hsc_plugin_initialize(plugin);
  assert_non_null(
      strstr(hsc_status_message(status),
             "speaks PJRT API 0.54, takes no other version, and hloscope speaks 0.112"));
  assert_non_null(strstr(hsc_status_message(status),
                         "Unexpected PJRT_Plugin_Initialize_Args size: expected 24, got 16"));
  hsc_status_free(status);
  hsc_plugin_close(plugin);
}

// ---- the whole way ------------------------------------------------------------------------------

typedef struct outcome {
  float first[4], second[4];
  bool finished;
} outcome;

// Everything that the client does, once. Stops at the first error and returns it; frees all.
static hsc_status *whole_way(outcome *out) {
  hsc_status *status = NULL;
  hsc_plugin *plugin = NULL;
  hsc_client *client = NULL;
  hsc_topology *topology = NULL;
  hsc_topology *of_client = NULL;
  hsc_executable *ahead = NULL;
  hsc_executable *compiled = NULL;
  hsc_executable *loaded = NULL;
  hsc_buffer *x = NULL;
  hsc_buffer *y = NULL;
  hsc_buffer *taken = NULL;
  hsc_pjrt_event *done = NULL;
  hsc_pjrt_event *copied = NULL;
  hsc_execution *run = NULL;
  hsc_bytes options = {0};
  hsc_bytes serialized = {0};
  hsc_bytes program = {0};
  const hsc_named_value *values;
  const hsc_device_info *infos;
  const hsc_array_spec *specs;
  const char *format;
  hsc_compiled_memory memory;
  hsc_memory_stats stats;
  hsc_array_spec spec;
  hsc_view view;
  int64_t bytes;
  size_t count;
  static const float data[4] = {1, 2, 3, 4};
  static const int64_t dims[2] = {2, 2};
  const hsc_host_array array = {PJRT_Buffer_Type_F32, 2, dims, data};
  *out = (outcome){0};
  HSC_GOTO(hsc_plugin_open(fake_path, &plugin));
  HSC_GOTO(hsc_plugin_initialize(plugin));
  HSC_GOTO(hsc_plugin_attributes(plugin, &values, &count));
  HSC_GOTO(hsc_topology_create(plugin, "fake:1x1", NULL, 0, &topology));
  HSC_GOTO(hsc_topology_attributes(topology, &values, &count));
  HSC_GOTO(hsc_topology_devices(topology, &infos, &count));
  hsc_compile_options compile_options = hsc_compile_options_default();
  HSC_GOTO(hsc_compile_options_write(&compile_options, &options));
  HSC_GOTO(hsc_topology_compile(topology, HSC_VIEW("outputs=2"), "hlo", hsc_bytes_view(&options),
                                &ahead));
  HSC_GOTO(hsc_client_create(plugin, NULL, 0, &client));
  HSC_GOTO(hsc_client_memory_stats(client, 0, &stats));
  HSC_GOTO(hsc_topology_of_client(client, &of_client));
  HSC_GOTO(hsc_client_compile(client, HSC_VIEW("outputs=2"), "hlo", hsc_bytes_view(&options),
                              &compiled));
  HSC_GOTO(hsc_executable_serialize(compiled, &serialized));
  HSC_GOTO(hsc_client_load(client, hsc_bytes_view(&serialized), (hsc_view){0}, &loaded));
  HSC_GOTO(hsc_executable_outputs(loaded, &specs));
  HSC_GOTO(hsc_executable_fingerprint(loaded, &view));
  HSC_GOTO(hsc_executable_optimized_program(loaded, &program, &format));
  HSC_GOTO(hsc_executable_cost_analysis(loaded, &values, &count));
  HSC_GOTO(hsc_executable_memory(loaded, &memory));
  HSC_GOTO(hsc_executable_code_bytes(loaded, &bytes));
  HSC_GOTO(hsc_buffer_from_host(client, 0, &array, HSC_HOST_COPY, NULL, &x));
  HSC_GOTO(hsc_buffer_from_host(client, 0, &array, HSC_HOST_UNTIL_DONE, &done, &y));
  HSC_GOTO(hsc_pjrt_event_await(done));
  HSC_GOTO(hsc_buffer_spec(x, &spec));
  HSC_GOTO(hsc_buffer_device_bytes(x, &count));
  HSC_GOTO(hsc_execution_create(loaded, 2, &run));
  hsc_execution_set_argument(run, 0, x);
  hsc_execution_set_argument(run, 1, y);
  HSC_GOTO(hsc_execution_run(run));  // outputs x+1, y+1
  HSC_GOTO(hsc_execution_run(run));  // awaits the first, drops its outputs
  HSC_GOTO(hsc_execution_await(run));
  HSC_GOTO(hsc_execution_feed(run, 0, 0));  // x := x+1
  HSC_GOTO(hsc_execution_run(run));
  hsc_execution_use_event(run, true);
  HSC_GOTO(hsc_execution_await(run));
  HSC_GOTO(hsc_execution_take_output(run, 0, &taken));
  HSC_GOTO(hsc_buffer_await(taken));
  HSC_GOTO(hsc_buffer_to_host(taken, out->first, sizeof out->first));
  HSC_GOTO(hsc_buffer_start_to_host(hsc_execution_output(run, 1), out->second, sizeof out->second,
                                    &copied));
  HSC_GOTO(hsc_pjrt_event_await(copied));
  out->finished = true;
done:
  hsc_pjrt_event_destroy(copied);
  hsc_pjrt_event_destroy(done);
  hsc_execution_destroy(run);
  hsc_buffer_destroy(taken);
  hsc_buffer_destroy(y);
  hsc_buffer_destroy(x);
  hsc_executable_destroy(loaded);
  hsc_executable_destroy(compiled);
  hsc_executable_destroy(ahead);
  hsc_topology_destroy(of_client);
  hsc_client_destroy(client);
  hsc_topology_destroy(topology);
  hsc_bytes_deinit(&program);
  hsc_bytes_deinit(&serialized);
  hsc_bytes_deinit(&options);
  hsc_plugin_close(plugin);
  return status;
}

static void the_whole_way_gives_numbers(void **state) {
  outcome out;
  fake_set("");
  hsc_status *status = whole_way(&out);
  if (status)
    fail_msg("%s (%s)", hsc_status_message(status), hsc_status_notes(status));
  static const float first[4] = {3, 4, 5, 6};
  static const float second[4] = {2, 3, 4, 5};
  assert_memory_equal(out.first, first, sizeof first);
  assert_memory_equal(out.second, second, sizeof second);
  expect_nothing_alive();
}

static void whatever_function_fails_nothing_is_lost(void **state) {
  int failures = 0;
  for (int f = HSC_FN_PJRT_Plugin_Initialize; f < HSC_PJRT_FUNCTION_COUNT; f++) {
    const char *name = hsc_pjrt_function_get((hsc_pjrt_function)f)->name + 5;
    // A destructor that fails frees nothing: it cannot be asked to.
    if (strstr(name, "_Destroy"))
      continue;
    char settings[128];
    snprintf(settings, sizeof settings, "fail=%s:8:told so", name);
    fake_set(settings);
    outcome out;
    hsc_status *status = whole_way(&out);
    assert_true((status != NULL) == !out.finished);
    if (status) {
      expect_status(status, HSC_RESOURCE_EXHAUSTED, "told so");
      failures++;
    }
    expect_nothing_alive();
  }
  assert_true(failures >= 30);  // that many functions are needed on the way
}

static void whatever_slot_is_null_nothing_is_lost(void **state) {
  int failures = 0;
  for (int f = HSC_FN_PJRT_Plugin_Initialize; f < HSC_PJRT_FUNCTION_COUNT; f++) {
    const char *name = hsc_pjrt_function_get((hsc_pjrt_function)f)->name + 5;
    if (strstr(name, "_Destroy"))
      continue;
    char settings[128], words[160];
    snprintf(settings, sizeof settings, "null=%s", name);
    snprintf(words, sizeof words, "PJRT_%s is not supported by plugin", name);
    fake_set(settings);
    outcome out;
    hsc_status *status = whole_way(&out);
    if (status) {
      // The fingerprint has an older form that is tried instead.
      bool older = strcmp(name, "Executable_Fingerprint") == 0;
      expect_status(status, HSC_UNIMPLEMENTED, older ? "PJRT_LoadedExecutable_Fingerprint" : words);
      failures++;
    }
    expect_nothing_alive();
  }
  assert_true(failures >= 30);
}

static void running_out_of_memory_anywhere_is_an_error_and_loses_nothing(void **state) {
  bool finished = false;
  fake_set("");
  for (uint64_t n = 1; n < 2000 && !finished; n++) {
    outcome out;
    hsc_alloc_fail_after(n);
    hsc_status *status = whole_way(&out);
    hsc_alloc_fail_after(0);
    finished = out.finished;
    if (!finished)
      expect_status(status, HSC_RESOURCE_EXHAUSTED, "");
    expect_nothing_alive();
  }
  assert_true(finished);
}

static void events_that_fail_or_come_late(void **state) {
  hsc_client *client;
  hsc_buffer *buffer;
  hsc_pjrt_event *event;
  static const float data[4] = {1, 2, 3, 4};
  static const int64_t dims[1] = {4};
  const hsc_host_array array = {PJRT_Buffer_Type_F32, 1, dims, data};
  hsc_plugin *plugin = open_fake("event=15");
  assert_null(hsc_client_create(plugin, NULL, 0, &client));
  expect_status(hsc_buffer_from_host(client, 0, &array, HSC_HOST_COPY, NULL, &buffer),
                HSC_DATA_LOSS, "the work failed");
  assert_null(buffer);
  expect_nothing_alive();
  fake_set("async=30");
  int64_t start = hsc_now_ns();
  assert_null(hsc_buffer_from_host(client, 0, &array, HSC_HOST_UNTIL_DONE, &event, &buffer));
  bool ready = hsc_pjrt_event_is_ready(event);
  assert_true(!ready || hsc_now_ns() - start >= 25 * 1000 * 1000);
  assert_null(hsc_pjrt_event_await(event));
  assert_true(hsc_pjrt_event_is_ready(event));
  assert_true(hsc_now_ns() - start >= 25 * 1000 * 1000);
  hsc_pjrt_event_destroy(event);
  hsc_buffer_destroy(buffer);
  hsc_client_destroy(client);
  hsc_plugin_close(plugin);
  // the ringing thread lets go a little later
  for (int i = 0; i < 5000 && __atomic_load_n(live[0], __ATOMIC_RELAXED); i++)
    hsc_sleep_ns(1000 * 1000);
  expect_nothing_alive();
}

static void count_calls(void *user, hsc_status *status) {
  __atomic_add_fetch((int *)user, status ? 100 : 1, __ATOMIC_RELEASE);
  hsc_status_free(status);
}

static void callbacks_are_called_once(void **state) {
  hsc_client *client;
  hsc_buffer *buffer;
  hsc_pjrt_event *event;
  int calls = 0;
  static const float data[1] = {1};
  const hsc_host_array array = {PJRT_Buffer_Type_F32, 0, NULL, data};
  static const char *const settings[] = {"", "async=5", "event=3", "fail=Event_OnReady:3"};
  static const int expected[] = {1, 1, 100, 0};
  for (size_t i = 0; i < HSC_COUNT_OF(settings); i++) {
    calls = 0;
    hsc_plugin *plugin = open_fake(settings[i]);
    assert_null(hsc_client_create(plugin, NULL, 0, &client));
    assert_null(hsc_buffer_from_host(client, 0, &array, HSC_HOST_UNTIL_DONE, &event, &buffer));
    hsc_status *status = hsc_pjrt_event_on_ready(event, count_calls, &calls);
    assert_int_equal(status != NULL, expected[i] == 0);
    hsc_status_free(status);
    for (int k = 0; k < 5000 && __atomic_load_n(&calls, __ATOMIC_ACQUIRE) < expected[i]; k++)
      hsc_sleep_ns(1000 * 1000);
    hsc_sleep_ns(10 * 1000 * 1000);
    assert_int_equal(__atomic_load_n(&calls, __ATOMIC_ACQUIRE), expected[i]);
    hsc_pjrt_event_destroy(event);
    hsc_buffer_destroy(buffer);
    hsc_client_destroy(client);
    hsc_plugin_close(plugin);
  }
  expect_nothing_alive();
}

static void facts_of_devices_and_programs(void **state) {
  hsc_client *client;
  hsc_executable *executable, *ahead;
  hsc_topology *topology;
  hsc_memory_stats stats;
  hsc_compiled_memory memory;
  const hsc_named_value *costs;
  const hsc_array_spec *specs;
  hsc_view fingerprint;
  hsc_bytes program = {0};
  const char *format;
  size_t count;
  hsc_plugin *plugin = open_fake("old_memory=1");
  expect_status(hsc_topology_create(plugin, "v5e:2x2", NULL, 0, &topology), HSC_INVALID_ARGUMENT,
                "no such topology");
  assert_null(hsc_client_create(plugin, NULL, 0, &client));
  assert_string_equal(hsc_client_platform_name(client), "fake");
  assert_int_equal(hsc_client_device_count(client), 1);
  assert_string_equal(hsc_client_device(client, 0)->kind, "FakeChip");
  assert_string_equal(hsc_client_device(client, 0)->text, "FakeChip(0)");
  assert_null(hsc_client_device(client, 1));
  assert_null(hsc_client_memory_stats(client, 0, &stats));
  assert_int_equal(stats.bytes_in_use, 100);
  assert_int_equal(stats.peak_bytes_in_use, 200);
  assert_int_equal(stats.allocation_count, -1);  // given, but not marked as set
  assert_null(hsc_client_compile(client, HSC_VIEW("outputs=3"), "hlo", (hsc_view){0}, &executable));
  assert_int_equal(hsc_executable_output_count(executable), 3);
  assert_null(hsc_executable_outputs(executable, &specs));
  assert_int_equal(specs[2].type, PJRT_Buffer_Type_F32);
  assert_int_equal(specs[2].dims[0], 4);
  assert_null(hsc_executable_memory(executable, &memory));
  assert_int_equal(memory.temporaries, 5);
  assert_int_equal(memory.peak, -1);
  assert_null(hsc_executable_fingerprint(executable, &fingerprint));
  assert_true(hsc_view_equals_text(fingerprint, "fake-fingerprint"));
  assert_null(hsc_executable_cost_analysis(executable, &costs, &count));
  assert_true(hsc_named_value_find(costs, count, "flops")->real == 8.0);
  assert_null(hsc_executable_optimized_program(executable, &program, &format));
  assert_string_equal(hsc_bytes_text(&program), "optimized!");
  assert_string_equal(format, "hlo");
  hsc_bytes_deinit(&program);
  assert_null(hsc_topology_create(plugin, "fake:1x1", NULL, 0, &topology));
  assert_null(hsc_topology_compile(topology, HSC_VIEW("x"), "hlo", (hsc_view){0}, &ahead));
  assert_false(hsc_executable_is_loaded(ahead));
  hsc_execution *execution;
  expect_status(hsc_execution_create(ahead, 0, &execution), HSC_FAILED_PRECONDITION,
                "ahead of time");
  assert_null(hsc_execution_create(executable, 2, &execution));
  expect_status(hsc_execution_run(execution), HSC_FAILED_PRECONDITION,
                "argument 0 of 2 is not set");
  assert_null(hsc_execution_output(execution, 0));
  hsc_execution_destroy(execution);
  hsc_executable_destroy(ahead);
  hsc_executable_destroy(executable);
  hsc_topology_destroy(topology);
  hsc_client_destroy(client);
  hsc_plugin_close(plugin);
  expect_nothing_alive();
}

static void create_options_reach_the_plugin(void **state) {
  hsc_client *client;
  hsc_plugin *plugin = open_fake("");
  hsc_named_value option = {
      .name = "fake", .type = PJRT_NamedValue_kString, .text = "fail=Client_Create:7:by option"};
  expect_status(hsc_client_create(plugin, &option, 1, &client), HSC_PERMISSION_DENIED, "by option");
  hsc_plugin_close(plugin);
  expect_nothing_alive();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_no_plugin_is_refused_with_the_reason),
      cmocka_unit_test(versions_are_checked_and_named),
      cmocka_unit_test(slots_behind_the_table_or_the_version_are_not_touched),
      cmocka_unit_test(extensions_are_walked_with_a_bound),
      cmocka_unit_test(attributes_come_with_their_types),
      cmocka_unit_test(every_error_code_arrives),
      cmocka_unit_test(vendors_that_want_exact_sizes_are_named_with_both_versions),
      cmocka_unit_test(the_whole_way_gives_numbers),
      cmocka_unit_test(whatever_function_fails_nothing_is_lost),
      cmocka_unit_test(whatever_slot_is_null_nothing_is_lost),
      cmocka_unit_test(running_out_of_memory_anywhere_is_an_error_and_loses_nothing),
      cmocka_unit_test(events_that_fail_or_come_late),
      cmocka_unit_test(callbacks_are_called_once),
      cmocka_unit_test(facts_of_devices_and_programs),
      cmocka_unit_test(create_options_reach_the_plugin),
  };
  return cmocka_run_group_tests(tests, find_fake, NULL);
}
