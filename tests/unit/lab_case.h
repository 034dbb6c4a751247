// lab_case.h - what the tests of the laboratory are on: the hloscope program, the plugin that
// misbehaves as reported, and a directory with a program in it.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "unit.h"

static hsc_arena *arena;
// The program built beside this test, the fake plugin, a fresh directory that is HLOSCOPE_CACHE_DIR
// too, a file in it with the program `text`.
static char hloscope[4096], fake[4096], dir[64], program[128];

static int lab_case_set_up(const char *name, const char *text) {
  char *here = NULL;
  if (hsc_arena_create(&arena) || hsc_self_dir((const void *)(uintptr_t)&lab_case_set_up, &here))
    return -1;
  snprintf(hloscope, sizeof hloscope, "%s/../../hloscope", here);
  snprintf(fake, sizeof fake, "%s/../fake_plugin/libhloscope_fake_pjrt.so", here);
  hsc_free(here);
  snprintf(dir, sizeof dir, "/tmp/hloscope-%s-XXXXXX", name);
  if (!mkdtemp(dir))
    return -1;
  setenv("HLOSCOPE_CACHE_DIR", dir, 1);
  snprintf(program, sizeof program, "%s/p.hlo", dir);
  return hsc_file_write_atomic(program, text, strlen(text)) ? -1 : 0;
}

static int lab_case_tear_down(void **state) {
  char command[128];
  hsc_arena_destroy(arena);
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}
