// program_look.c - the first bytes of a file that is said to be a program: what is none is refused
// by what it is, before all of it is read and before anything is written.
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "formats/common/formats.h"

#include <sys/stat.h>

enum { LOOK_BYTES = 4096 };

// What files begin with that people have beside their programs.
typedef struct known_start {
  hsc_view magic;
  const char *what, *advice;
} known_start;

#define STARTS(text, what, advice) {{text, sizeof(text) - 1}, what, advice}
#define UNPACK "unpack it first; gzip and zstd are read as they are"
#define RESULTS "hloscope stats, hloscope report and hloscope results read results"
#define SCRIPT "hloscope profile -- python FILE and hloscope trace -- python FILE run a script"
static const known_start starts[] = {
    STARTS("BZh", "packed by bzip2", UNPACK),
    STARTS("\xfd"
           "7zXZ",
           "packed by xz",
           UNPACK),
    STARTS("PK\x03\x04", "a zip archive", UNPACK),
    STARTS("\x04\x22\x4d\x18", "packed by lz4", UNPACK),
    STARTS("7z\xbc\xaf", "a 7z archive", UNPACK),
    STARTS("\xff\xfe", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE writes it as it is read here"),
    STARTS("\xfe\xff", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE writes it as it is read here"),
    STARTS("\x7f"
           "ELF",
           "an executable or a library",
           "hloscope profile -- COMMAND and hloscope trace -- COMMAND run a command"),
    STARTS("SQLite format 3", "an SQLite database", RESULTS " (results: --store FILE)"),
    STARTS("{\"", "JSON", RESULTS),
    STARTS("{\n", "JSON", RESULTS),
    STARTS("import ", "a Python script", SCRIPT),
    STARTS("from ", "a Python script", SCRIPT),
    STARTS("#!", "a script", SCRIPT),
};

static const known_start *start_of(hsc_view head) {
  for (size_t i = 0; i < HSC_COUNT_OF(starts); i++)
    if (head.size >= starts[i].magic.size &&
        !memcmp(head.data, starts[i].magic.data, starts[i].magic.size))
      return &starts[i];
  return NULL;
}

// No text has a zero byte; what may have one is told by its first bytes or its name.
static bool is_of_no_format(hsc_view head, const char *path) {
  hsc_format found = HSC_FORMAT_HLO_TEXT;
  bool binary = hsc_format_detect(head, path, &found) &&
                (found == HSC_FORMAT_HLO_PROTO || found == HSC_FORMAT_MLIR_BYTECODE);
  return !binary && !hsc_is_packed(head) && memchr(head.data, 0, head.size);
}

static hsc_status *look_at(hsc_view head, const char *path) {
  const known_start *known = start_of(head);
  hsc_status *status = NULL;
  if (known)
    status = hsc_status_hint(HSC_ERR(INVALID_ARGUMENT, "this is no program, it is %s", known->what),
                             "%s", known->advice);
  else if (is_of_no_format(head, path))
    status = hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT,
                "this is no program: bytes of zero are in no text, and none of "
                "the binary formats begins like this"),
        "programs are HLO text, HloModuleProto, MLIR text and MLIR bytecode, packed by gzip or "
        "zstd too");
  return status ? hsc_status_at(status, path, 0, 0, NULL) : NULL;
}

hsc_status *hsc_program_look(const char *path) {
  struct stat info;
  // what can be read only once is looked at when it is read
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
    return NULL;
  char head[LOOK_BYTES];
  size_t size = 0;
  HSC_TRY(hsc_file_head(path, head, sizeof head, &size));
  return look_at((hsc_view){head, size}, path);
}
