// device_python.c - finds a Python that has jaxlib, and our package beside the executable.
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "base/files/places.h"
#include "base/process/child.h"
#include "base/process/python.h"
#include "base/text/text.h"
#include "lab/devices/devices.h"

enum { PYTHON_LIMIT_S = 20 };

hsc_status *hsc_python_package_dir(hsc_arena *arena, const char **out_path) {
  return hsc_place_find(HSC_PLACE_DATA, "python", arena, out_path);
}

// A wheel puts the program at <root>/lib/python3.N/site-packages/hloscope/bin: whoever starts it by
// its path, without activating anything, means the Python of <root>.
hsc_status *hsc_python_of_program(hsc_arena *arena,
                                  const char **out_python,
                                  const char **out_site) {
  static const char inside[] = "/hloscope/bin/hloscope";
  const char *program = NULL;
  *out_python = *out_site = NULL;
  hsc_status *status = hsc_place_find(HSC_PLACE_PROGRAM, "hloscope", arena, &program);
  if (status && hsc_status_code(status) == HSC_NOT_FOUND) {  // a library used without the program
    hsc_status_free(status);
    return NULL;
  }
  HSC_TRY(status);
  if (!hsc_ends_with(program, inside))
    return NULL;
  const char *site = hsc_arena_strndup(arena, program, strlen(program) - strlen(inside));
  HSC_TRY(hsc_arena_status(arena));
  const char *folder = strstr(site, "/python3.");
  const char *packages = folder ? strchr(folder + 1, '/') : NULL;
  if (!packages || (strcmp(packages, "/site-packages") && strcmp(packages, "/dist-packages")))
    return NULL;
  size_t root = (size_t)(folder - site);  // with lib, lib64 after it
  while (root > 0 && site[root - 1] != '/')
    root--;
  const char *python =
      hsc_arena_printf(arena, "%.*sbin%.*s", (int)root, site, (int)(packages - folder), folder);
  *out_site = site;
  HSC_TRY(hsc_arena_status(arena));
  if (access(python, X_OK) == 0)
    *out_python = python;
  return NULL;
}

// A virtual environment has one place for its packages, so a look there answers without starting
// its Python.
static bool venv_has_jaxlib(const char *python, hsc_arena *arena) {
  const char *slash = strrchr(python, '/');
  const char *root =
      slash ? hsc_arena_printf(arena, "%.*s/..", (int)(slash - python), python) : NULL;
  if (!root || !hsc_file_exists(hsc_arena_printf(arena, "%s/pyvenv.cfg", root)) ||
      access(python, X_OK) != 0)
    return false;
  glob_t found = {0};
  const char *const wanted[] = {"jaxlib/__init__.py", "numpy/__init__.py"};
  bool all = true;
  for (size_t i = 0; i < HSC_COUNT_OF(wanted) && all; i++) {
    all = glob(hsc_arena_printf(arena, "%s/lib/python3*/site-packages/%s", root, wanted[i]), 0,
               NULL, &found) == 0;
    globfree(&found);
  }
  return all;
}

// Whether this interpreter starts and finds jaxlib; it is looked for, not imported.
static hsc_status *has_jaxlib(const char *python, bool *out_has) {
  static const char question[] = HSC_PYTHON_SAFE
      "import importlib.util as u; sys.exit(0 if u.find_spec('jaxlib') and "
      "u.find_spec('numpy') else 1)";
  const char *const argv[] = {python, "-c", question, NULL};
  hsc_child *child = NULL;
  hsc_child_exit end = {0};
  *out_has = false;
  hsc_status *status = hsc_child_start(&(hsc_child_options){.argv = argv}, &child);
  if (status) {  // not there, or no program
    hsc_status_free(status);
    return NULL;
  }
  status = hsc_child_wait(child, PYTHON_LIMIT_S * INT64_C(1000000000), &end);
  *out_has = !status && end.exited && end.exit_code == 0 && end.signal == 0;
  if (!end.exited)
    hsc_child_kill(child);
  hsc_child_destroy(child);
  return status;
}

hsc_status *hsc_jaxlib_python(hsc_arena *arena, const char **out_path) {
  const char *named = getenv("HLOSCOPE_PYTHON");
  const char *active = getenv("VIRTUAL_ENV");
  const char *candidates[5];
  const char *beside = NULL;
  const char *site = NULL;
  char *cache = NULL;
  size_t count = 0;
  hsc_status_free(hsc_cache_dir(&cache));  // without one there is no environment of ours
  const char *own = cache ? hsc_arena_printf(arena, "%s/venv", cache) : NULL;
  hsc_free(cache);
  bool only_named = named && *named;
  HSC_TRY(hsc_python_of_program(arena, &beside, &site));
  if (only_named)
    candidates[count++] = hsc_arena_strdup(arena, named);
  if (!only_named && active && *active)
    candidates[count++] = hsc_arena_printf(arena, "%s/bin/python", active);
  if (!only_named && beside)
    candidates[count++] = beside;
  if (!only_named)
    candidates[count++] = "python3";
  if (!only_named && own)
    candidates[count++] = hsc_arena_printf(arena, "%s/bin/python", own);
  HSC_TRY(hsc_arena_status(arena));
  hsc_bytes looked = {0};
  for (size_t i = 0; i < count; i++) {
    bool has = false;
    hsc_status *status = NULL;
    if (!(has = venv_has_jaxlib(candidates[i], arena)))
      status = has_jaxlib(candidates[i], &has);
    if (status || has) {
      hsc_bytes_deinit(&looked);
      *out_path = candidates[i];
      return status;
    }
    hsc_bytes_printf(&looked, "%s%s", i ? ", " : "", candidates[i]);
  }
  hsc_status *status =
      HSC_ERR(NOT_FOUND, "no Python with jaxlib; looked at %s", hsc_bytes_text(&looked));
  hsc_bytes_deinit(&looked);
  if (only_named)
    return hsc_status_hint(status, "%s -m pip install %s", candidates[0],
                           hsc_vendor_get("xla-cpu")->packages);
  return hsc_status_hint(status, "hloscope devices --install xla-cpu");
}
