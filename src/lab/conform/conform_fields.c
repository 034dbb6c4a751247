// conform_fields.c - the fields of every argument struct, read from the rows of pjrt/abi_args.def
// as text.
#include <ctype.h>

#include "base/text/text.h"
#include "lab/conform/conform_fields.h"

static const char *const field_texts[HSC_PJRT_FUNCTION_COUNT] = {
#define ARGS(function, last, ...) [HSC_FN_##function] = #__VA_ARGS__,
#define VOID_ARGS(function, last, ...) [HSC_FN_##function] = #__VA_ARGS__,
#include "pjrt/abi_args.def"
#undef ARGS
#undef VOID_ARGS
};

static size_t size_of(const char *type) {
  static const struct {
    const char *type;
    size_t bytes;
  } sizes[] = {
      {"size_t", 8},
      {"int64_t", 8},
      {"intptr_t", 8},
      {"uint64_t", 8},
      {"uintptr_t", 8},
      {"int", 4},
      {"int32_t", 4},
      {"bool", 1},
      {"PJRT_Error_Code", 4},
      {"PJRT_Buffer_Type", 4},
      {"PJRT_HostBufferSemantics", 4},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(sizes); i++)
    if (!strcmp(type, sizes[i].type))
      return sizes[i].bytes;
  return hsc_ends_with(type, "Callback") ? 8 : 0;
}

// One field of the text; false at its end, or where a type's size is not known: what follows is
// then not written down.
static bool next_field(const char **text, size_t *offset, conform_field *out) {
  while (isspace((unsigned char)**text))
    ++*text;
  const char *end = strchr(*text, ';');
  if (!end)
    return false;
  char whole[256];
  size_t length = (size_t)(end - *text);
  if (length >= sizeof whole)
    return false;
  memcpy(whole, *text, length);
  whole[length] = 0;
  *text = end + 1;
  char *at = whole;
  out->out = hsc_starts_with(at, "OUT ") || hsc_starts_with(at, "INOUT ");
  if (out->out)
    at = strchr(at, ' ') + 1;
  char *function = strstr(at, "(*");
  if (function) {
    snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(function + 2, ")"), function + 2);
    snprintf(out->type, sizeof out->type, "function");
    out->pointer = true;
  } else {
    char *name = at + strlen(at);
    while (name > at && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
      name--;
    snprintf(out->name, sizeof out->name, "%.60s", name);
    while (name > at && name[-1] == ' ')
      name--;
    *name = 0;
    snprintf(out->type, sizeof out->type, "%.90s", at);
    out->pointer = strchr(at, '*') != NULL;
  }
  out->bytes = out->pointer ? 8 : size_of(out->type);
  if (out->bytes == 0)
    return false;
  out->offset = (*offset + out->bytes - 1) / out->bytes * out->bytes;
  *offset = out->offset + out->bytes;
  return true;
}

size_t hsc__conform_fields(hsc_pjrt_function function, conform_field *out, size_t room) {
  const char *text = field_texts[function] ? field_texts[function] : "";
  size_t offset = 2 * sizeof(size_t);
  size_t count = 0;
  while (count < room && next_field(&text, &offset, &out[count]))
    count++;
  return count;
}

uint64_t hsc__conform_value(const void *args, const conform_field *f) {
  uint64_t value = 0;
  memcpy(&value, (const char *)args + f->offset, f->bytes);
  return f->bytes == 4 ? (uint64_t)(int64_t)(int32_t)value : value;
}
