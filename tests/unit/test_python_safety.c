// test_python_safety.c - a Python that we start runs nothing of what lies in the current directory.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "base/process/child.h"
#include "base/process/python.h"
#include "lab/devices/devices.h"
#include "unit.h"

static char directory[] = "/tmp/hloscope-python-XXXXXX";

// Files by the names of modules that our Pythons import; each leaves a mark when it is run.
static int plant(void **state) {
  static const char *const names[] = {"importlib.py", "sysconfig.py", "runpy.py", "os.py",
                                      "site.py",      "venv.py",      "json.py",  "numpy.py",
                                      "jaxlib.py",    "hloscope.py"};
  if (!mkdtemp(directory) || chdir(directory))
    return -1;
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    FILE *file = fopen(names[i], "w");
    if (!file)
      return -1;
    fprintf(file, "open('%s/ran', 'a').write(__name__ + '\\n')\n", directory);
    fclose(file);
  }
  // A python3 without packages beside it, as pyenv's: it is asked where its packages are.
  FILE *shim = fopen("python3", "w");
  if (!shim)
    return -1;
  fprintf(shim, "#!/bin/sh\nexec /usr/bin/env -S \"PATH=%s\" python3 \"$@\"\n", getenv("PATH"));
  fclose(shim);
  return chmod("python3", 0755);
}

static void expect_nothing_ran(const char *what) {
  if (access("ran", F_OK) == 0)
    fail_msg("%s ran a file of the current directory", what);
}

static void asking_for_devices_runs_nothing_here(void **state) {
  hsc_arena *arena;
  const char *python = NULL;
  const char *const *sites = NULL;
  char *path = strdup(getenv("PATH"));
  EXPECT_OK(hsc_arena_create(&arena));
  unsetenv("VIRTUAL_ENV");
  setenv("HLOSCOPE_CACHE_DIR", directory, 1);
  hsc_status_free(hsc_jaxlib_python(arena, &python));
  expect_nothing_ran("the search for jaxlib");
  setenv("PATH", directory, 1);
  hsc_status_free(hsc_python_sites(arena, &sites));
  setenv("PATH", path, 1);
  expect_nothing_ran("the search for packages");
  free(path);
  hsc_arena_destroy(arena);
}

static void a_module_that_is_run_is_not_one_from_here(void **state) {
  const char *const argv[] = {"python3", "-c", HSC_PYTHON_MODULE, "venv", "--help", NULL};
  hsc_child *child;
  hsc_child_exit end = {0};
  EXPECT_OK(hsc_child_start(&(hsc_child_options){.argv = argv}, &child));
  EXPECT_OK(hsc_child_wait(child, INT64_C(60000000000), &end));
  if (!end.exited || end.exit_code || !strstr(hsc_child_stderr(child), "ENV_DIR"))
    fail_msg("exit code %d: %s", end.exit_code, hsc_child_stderr(child));
  hsc_child_destroy(child);
  expect_nothing_ran("-m");
}

static int clear(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  return chdir("/") || system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asking_for_devices_runs_nothing_here),
      cmocka_unit_test(a_module_that_is_run_is_not_one_from_here),
  };
  return cmocka_run_group_tests(tests, plant, clear);
}
