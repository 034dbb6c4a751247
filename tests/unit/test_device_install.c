// test_device_install.c - setting up real compilers, with a Python and a pip that are shell
// scripts: what is fetched, what is reported meanwhile, and every way in which it does not work.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "lab/devices/device_install.h"
#include "unit.h"

static char dir[64], python[128];

static void write_script(const char *path, const char *text) {
  EXPECT_OK(hsc_file_write_atomic(path, text, strlen(text)));
  assert_int_equal(chmod(path, 0755), 0);
}

static int set_up(void **state) {
  strcpy(dir, "/tmp/hloscope-install-XXXXXX");
  if (!mkdtemp(dir))
    return -1;
  setenv("HLOSCOPE_CACHE_DIR", dir, 1);
  snprintf(python, sizeof python, "%s/python", dir);
  setenv("HLOSCOPE_PYTHON", python, 1);
  return 0;
}

static int tear_down(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

// `python -c CODE venv DIR` makes a DIR whose python runs `pip` (a shell command; the packages are
// "$@" from the 7th on).
static void write_python(const char *pip) {
  hsc_bytes text = {0};
  hsc_bytes_printf(&text,
                   "#!/bin/sh\nmkdir -p \"$4/bin\" \"$4/lib/python3.11/site-packages\" && touch "
                   "\"$4/bin/pip\" && cat > "
                   "\"$4/bin/python\" <<'END'\n#!/bin/sh\nsite=\"$(dirname "
                   "\"$0\")/../lib/python3.11/site-packages\"\nshift 7\n%s\nEND\n"
                   "chmod +x \"$4/bin/python\"\n",
                   pip);
  write_script(python, hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  char command[160];
  snprintf(command, sizeof command, "rm -rf '%s/venv'", dir);
  assert_int_equal(system(command), 0);
}

typedef struct told {
  char text[4096];
  int64_t downloaded, total;
} told;

static void tell(void *user,
                 const char *device,
                 const char *text,
                 int64_t downloaded_bytes,
                 int64_t total_bytes) {
  told *t = user;
  size_t used = strlen(t->text);
  snprintf(t->text + used, sizeof t->text - used, "%s: %s\n", device, text);
  if (downloaded_bytes > t->downloaded)
    t->downloaded = downloaded_bytes;
  if (total_bytes > t->total)
    t->total = total_bytes;
}

static hsc_status *install(const char *device, told *t) {
  return hsc_devices_install(
      &(hsc_install_options){.devices = &device, .device_count = 1, .progress = tell, .user = t});
}

static void packages_come_in_their_versions_once(void **state) {
  told t = {0};
  bool there = true;
  write_python(
      "mkdir -p $TMPDIR/pip-unpack && head -c 300000 /dev/zero > $TMPDIR/pip-unpack/x.whl\n"
      "echo 'Downloading x.whl (0.6 MB)'; sleep 0.6\n"
      "for p; do n=$(echo \"$p\" | sed 's/==/-/; s/-\\([a-z]\\)/_\\1/g'); mkdir -p "
      "\"$site/$n.dist-info\"; echo \"$p\" >> \"$site/log\"; done");
  EXPECT_OK(hsc_device_installed("cuda", &there));
  assert_false(there);
  EXPECT_OK(install("cuda", &t));
  assert_non_null(strstr(t.text, "cuda: Downloading x.whl (0.6 MB)"));
  assert_int_equal(t.downloaded, 300000);
  assert_int_equal(t.total, 600000);
  EXPECT_OK(hsc_device_installed("cuda", &there));
  assert_true(there);
  EXPECT_OK(hsc_device_installed("tpu", &there));
  assert_false(there);
  t = (told){0};
  EXPECT_OK(install("cuda", &t));
  assert_string_equal(t.text, "cuda: is there already\n");
  char path[128];
  hsc_bytes log = {0};
  snprintf(path, sizeof path, "%s/venv/lib/python3.11/site-packages/log", dir);
  EXPECT_OK(hsc_file_read(path, &log));
  assert_non_null(strstr(hsc_bytes_text(&log), "jax-cuda12-pjrt==0.10.2\n"));
  hsc_bytes_deinit(&log);
}

static void failures_say_what_to_do(void **state) {
  static const struct {
    const char *pip;
    hsc_code code;
    const char *message;
  } cases[] = {
      {"echo 'WARNING: Retrying after NewConnectionError: Failed to establish a new connection: "
       "nobody' >&2; exit 1",
       HSC_UNAVAILABLE, "tpu: no package index can be reached"},
      {"echo 'ERROR: No matching distribution found for libtpu==0.0.51' >&2; exit 1", HSC_UNKNOWN,
       "tpu: pip failed (exit code 1): ERROR: No matching distribution found for libtpu==0.0.51"},
      {"kill -9 $$", HSC_UNKNOWN, "signal 9"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    told t = {0};
    write_python(cases[i].pip);
    hsc_status *status = install("tpu", &t);
    assert_int_equal(hsc_status_code(status), cases[i].code);
    if (!strstr(hsc_status_message(status), cases[i].message))
      fail_msg("%s", hsc_status_message(status));
    hsc_status_free(status);
  }
  write_script(python,
               "#!/bin/sh\necho 'The virtual environment was not created successfully because "
               "ensurepip is not available.'\nexit 1\n");
  char command[160];
  snprintf(command, sizeof command, "rm -rf '%s/venv'", dir);
  assert_int_equal(system(command), 0);
  told t = {0};
  hsc_status *status = install("tpu", &t);
  assert_int_equal(hsc_status_code(status), HSC_FAILED_PRECONDITION);
  assert_non_null(strstr(hsc_status_hint_text(status), "python3-venv"));
  hsc_status_free(status);
}

static void it_can_be_stopped_and_has_a_limit(void **state) {
  static const volatile int stop = 1;
  const char *device = "tpu";
  write_python("sleep 30");
  hsc_status *status = hsc_devices_install(
      &(hsc_install_options){.devices = &device, .device_count = 1, .stop = &stop});
  assert_int_equal(hsc_status_code(status), HSC_CANCELLED);
  hsc_status_free(status);
  write_python("sleep 30");
  status = hsc_devices_install(
      &(hsc_install_options){.devices = &device, .device_count = 1, .limit_ns = 300000000});
  assert_int_equal(hsc_status_code(status), HSC_DEADLINE_EXCEEDED);
  hsc_status_free(status);
}

static void names_are_checked_before_anything_is_fetched(void **state) {
  told t = {0};
  write_python("exit 0");
  hsc_status *status = install("cudaa", &t);
  assert_string_equal(hsc_status_message(status),
                      "'cudaa' cannot be installed; did you mean 'cuda'?");
  hsc_status_free(status);
  status = install("neuron", &t);
  assert_int_equal(hsc_status_code(status), HSC_UNIMPLEMENTED);
  hsc_status_free(status);
  assert_string_equal(t.text, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packages_come_in_their_versions_once),
      cmocka_unit_test(failures_say_what_to_do),
      cmocka_unit_test(it_can_be_stopped_and_has_a_limit),
      cmocka_unit_test(names_are_checked_before_anything_is_fetched),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
