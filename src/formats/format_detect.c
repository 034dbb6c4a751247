// format_detect.c - the format of a program: by how its bytes begin, else by the name of its file.
#include "base/text/text.h"
#include "formats/common/formats.h"

// By format; of several, separated by blanks, the longest that fits counts.
static const char *const extensions[HSC_FORMAT_COUNT] = {
#define FORMAT(id, text, extensions, doc) [HSC_FORMAT_##id] = extensions,
#include "formats/common/formats.def"
#undef FORMAT
};

static bool view_starts_with(hsc_view view, const char *prefix) {
  size_t length = strlen(prefix);
  return view.size >= length && memcmp(view.data, prefix, length) == 0;
}

// By the extension, ignoring one of compression.
static bool detect_by_path(const char *path, hsc_format *out_format) {
  size_t length = strlen(path);
  if (hsc_ends_with(path, ".gz"))
    length -= 3;
  else if (hsc_ends_with(path, ".zst"))
    length -= 4;
  size_t best = 0;
  for (int i = 0; i < HSC_FORMAT_COUNT; i++) {
    for (const char *p = extensions[i]; *p;) {
      size_t n = strcspn(p, " ");
      if (n > best && n <= length && memcmp(path + length - n, p, n) == 0) {
        best = n;
        *out_format = (hsc_format)i;
      }
      p += n;
      while (*p == ' ')
        p++;
    }
  }
  return best > 0;
}

// The first text that is not space or a comment.
static hsc_view skip_comments(hsc_view view) {
  const char *p = view.data;
  const char *end = view.data + view.size;
  for (;;) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
      p++;
    if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
      const char *newline = memchr(p, '\n', (size_t)(end - p));
      if (!newline)
        return (hsc_view){end, 0};
      p = newline;
    } else if (end - p >= 2 && p[0] == '/' && p[1] == '*') {
      const char *close = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
      if (!close)
        return (hsc_view){end, 0};
      p = close + 2;
    } else {
      return (hsc_view){p, (size_t)(end - p)};
    }
  }
}

bool hsc_format_detect(hsc_view bytes, const char *path, hsc_format *out_format) {
  if (view_starts_with(bytes, "ML\xefR")) {
    *out_format = HSC_FORMAT_MLIR_BYTECODE;
    return true;
  }
  hsc_view text = skip_comments(bytes);
  static const struct {
    const char *prefix;
    hsc_format format;
  } starts[] = {
      {"HloModule", HSC_FORMAT_HLO_TEXT},
      {"ENTRY", HSC_FORMAT_HLO_TEXT},
      {"module", HSC_FORMAT_MLIR_TEXT},
      {"func.func", HSC_FORMAT_MLIR_TEXT},
      {"\"builtin.module\"", HSC_FORMAT_MLIR_TEXT},
      {"\"func.func\"", HSC_FORMAT_MLIR_TEXT},
      {"#", HSC_FORMAT_MLIR_TEXT},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(starts); i++) {
    if (!view_starts_with(text, starts[i].prefix))
      continue;
    *out_format = starts[i].format;
    return true;
  }
  // A message of protobuf that starts with a name or a nested message: field 1, length-delimited,
  // within the bytes. No text starts with 0x0a and then holds a control character or a byte that
  // UTF-8 cannot start with among its first 64, but a serialised module does.
  if (bytes.size >= 2 &&
      (bytes.data[0] == 0x0a || bytes.data[0] == 0x12 || bytes.data[0] == 0x1a)) {
    for (size_t i = 1; i < bytes.size && i < 64; i++) {
      unsigned char c = (unsigned char)bytes.data[i];
      if ((c < 32 && c != '\n' && c != '\t' && c != '\r') || c == 0x80) {
        *out_format = HSC_FORMAT_HLO_PROTO;
        return true;
      }
    }
  }
  return path && detect_by_path(path, out_format);
}
