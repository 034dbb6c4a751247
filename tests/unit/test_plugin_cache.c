// test_plugin_cache.c - the device's own cache on disk, through the interface: a second client
// finds what the first compiled.
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "base/files/disk_cache.h"
#include "pjrt/client.h"
#include "plugin/plugin_internal.h"
#include "unit.h"

static hsc_plugin *plugin;
static char dir[64];

static const char program[] =
    "HloModule cached, input_output_alias={ {0}: (0, {}, may-alias) }\n"
    "ENTRY main {\n"
    "  w = f32[4,64] parameter(0)\n"
    "  g = f32[4,64] parameter(1)\n"
    "  e = f32[4,64] exponential(g)\n"
    "  n = f32[4,64] subtract(w, e)\n"
    "  ROOT t = (f32[4,64]) tuple(n)\n"
    "}\n";

static int open_plugin(void **state) {
  unsetenv("HLOSCOPE_CACHE_DIR");
  return hsc_plugin_open_table(hsc__plugin_table(), "built-in", &plugin) ||
                 hsc_plugin_initialize(plugin)
             ? -1
             : 0;
}

static int close_plugin(void **state) {
  hsc_plugin_close(plugin);
  return 0;
}

static int make_dir(void **state) {
  snprintf(dir, sizeof dir, "/tmp/hloscope-plugin-XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state) {
  char path[sizeof dir + 300];
  DIR *folder = opendir(dir);
  for (struct dirent *item; folder && (item = readdir(folder));) {
    snprintf(path, sizeof path, "%s/%s", dir, item->d_name);
    if (item->d_name[0] != '.')
      unlink(path);
  }
  if (folder)
    closedir(folder);
  return rmdir(dir);
}

// Compiles in a client of its own; gives the sum of the output's first row and whether it came from
// the cache.
static bool compile_and_run(const char *cache_dir, const char *flags, float *out_sum) {
  hsc_client *client;
  hsc_executable *executable;
  hsc_execution *run;
  hsc_buffer *inputs[2];
  hsc_named_value options[] = {{.name = "cache_dir",
                                .type = PJRT_NamedValue_kString,
                                .text = cache_dir,
                                .text_size = cache_dir ? strlen(cache_dir) : 0}};
  EXPECT_OK(hsc_client_create(plugin, options, cache_dir ? 1 : 0, &client));
  hsc_compile_options compile = hsc_compile_options_default();
  hsc_override override = {
      .name = "xla_disable_hlo_passes", .type = HSC_OVERRIDE_TEXT, .text = flags};
  compile.overrides = &override;
  compile.override_count = flags != NULL;
  hsc_bytes bytes = {0};
  EXPECT_OK(hsc_compile_options_write(&compile, &bytes));
  EXPECT_OK(
      hsc_client_compile(client, hsc_view_of(program), "hlo", hsc_bytes_view(&bytes), &executable));
  float values[256], out[256];
  for (int i = 0; i < 256; i++)
    values[i] = (float)i / 256;
  const int64_t dims[] = {4, 64};
  hsc_host_array array = {PJRT_Buffer_Type_F32, 2, dims, values};
  for (int i = 0; i < 2; i++)
    EXPECT_OK(hsc_buffer_from_host(client, 0, &array, HSC_HOST_COPY, NULL, &inputs[i]));
  EXPECT_OK(hsc_execution_create(executable, 2, &run));
  for (int i = 0; i < 2; i++)
    hsc_execution_set_argument(run, (size_t)i, inputs[i]);
  EXPECT_OK(hsc_execution_run(run));
  EXPECT_OK(hsc_execution_await(run));
  EXPECT_OK(hsc_buffer_to_host(hsc_execution_output(run, 0), out, sizeof out));
  *out_sum = 0;
  for (int i = 0; i < 64; i++)
    *out_sum += out[i];
  const hsc_named_value *costs;
  size_t cost_count;
  EXPECT_OK(hsc_executable_cost_analysis(executable, &costs, &cost_count));
  bool cached = hsc_named_value_find(costs, cost_count, "hloscope from cache")->real == 1;
  hsc_execution_destroy(run);
  for (int i = 0; i < 2; i++)
    hsc_buffer_destroy(inputs[i]);
  hsc_executable_destroy(executable);
  hsc_client_destroy(client);
  hsc_bytes_deinit(&bytes);
  return cached;
}

static int count_entries(hsc_disk_entry **out_entries, hsc_arena *arena) {
  int count;
  EXPECT_OK(hsc_disk_cache_list(dir, arena, out_entries, &count));
  return count;
}

static void a_second_client_finds_it(void **state) {
  float first, second;
  assert_false(compile_and_run(dir, NULL, &first));
  assert_true(compile_and_run(dir, NULL, &second));
  assert_true(first == second);
  assert_false(compile_and_run(dir, "algsimp", &second));  // other options: another entry
  assert_true(compile_and_run(dir, "algsimp", &second));
  assert_false(compile_and_run(NULL, NULL, &second));  // no cache by default
  hsc_arena *arena;
  hsc_disk_entry *entries;
  EXPECT_OK(hsc_arena_create(&arena));
  assert_int_equal(count_entries(&entries, arena), 2);
  assert_true(hsc_view_equals_text(hsc_disk_cache_line(entries[0].information, "name"), "cached"));
  hsc_arena_destroy(arena);
}

static void the_variable_names_the_directory(void **state) {
  float sum;
  char path[sizeof dir + 20];
  setenv("HLOSCOPE_CACHE_DIR", dir, 1);
  assert_false(compile_and_run(NULL, NULL, &sum));
  assert_true(compile_and_run(NULL, NULL, &sum));
  assert_false(compile_and_run("", NULL, &sum));  // the option says: nowhere
  unsetenv("HLOSCOPE_CACHE_DIR");
  snprintf(path, sizeof path, "%s/executables", dir);
  hsc_disk_pruned pruned;
  EXPECT_OK(
      hsc_disk_cache_prune(path, &(hsc_disk_prune){.max_age_ns = -1, .max_bytes = 0}, &pruned));
  assert_int_equal(pruned.removed, 1);
  char lock[sizeof path + 20];
  snprintf(lock, sizeof lock, "%s/lock", path);
  unlink(lock);
  rmdir(path);
}

static void damaged_entries_are_compiled_again(void **state) {
  float first, again;
  hsc_arena *arena;
  hsc_disk_entry *entries;
  hsc_bytes whole = {0};
  hsc_bytes key = {0};
  hsc_bytes payload = {0};
  EXPECT_OK(hsc_arena_create(&arena));
  assert_false(compile_and_run(dir, NULL, &first));
  assert_int_equal(count_entries(&entries, arena), 1);
  EXPECT_OK(hsc_file_read(entries[0].path, &whole));
  EXPECT_OK(hsc_file_write_atomic(entries[0].path, whole.data, whole.size / 2));
  assert_false(compile_and_run(dir, NULL, &again));
  assert_true(first == again);
  assert_true(compile_and_run(dir, NULL, &again));  // and it is whole again
  // A whole entry whose content is not what it should be: refused by the executable's own checks.
  EXPECT_OK(hsc_disk_cache_read(entries[0].path, &key, NULL, &payload));
  payload.data[payload.size / 2] ^= 4;
  EXPECT_OK(hsc_disk_cache_put(dir, hsc_bytes_view(&key), HSC_VIEW(""), hsc_bytes_view(&payload)));
  assert_false(compile_and_run(dir, NULL, &again));
  assert_true(first == again);
  hsc_bytes_deinit(&whole);
  hsc_bytes_deinit(&key);
  hsc_bytes_deinit(&payload);
  hsc_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_second_client_finds_it, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(the_variable_names_the_directory, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(damaged_entries_are_compiled_again, make_dir, remove_dir),
  };
  return cmocka_run_group_tests(tests, open_plugin, close_plugin);
}
