// numpy_file.c - NumPy's format, versions 1 to 3: a magic number, the length of a header, the
// header as the text of a Python dictionary, then the elements.
#include "formats/numpy/numpy_file.h"

#include <stdlib.h>

#include "base/files/zip.h"
#include "base/text/text.h"

static const char MAGIC[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, PREFIX_BYTES = 10, PREFIX2_BYTES = 12, MOST_HEADER = 1 << 20 };

// What follows "'key':" in the header, without blanks before it; NULL when it is not there.
static const char *value_of(const char *header, const char *key) {
  const char *at = strstr(header, key);
  at = at ? strchr(at, ':') : NULL;
  return at ? at + 1 + strspn(at + 1, " \t") : NULL;
}

// "(3, 4)", "(5,)", "()".
static bool read_shape(const char *text, hsc_numpy_array *array) {
  if (!text || *text++ != '(')
    return false;
  for (;;) {
    text += strspn(text, " ,");
    if (*text == ')')
      return true;
    if (*text < '0' || *text > '9' || array->rank == HSC_NUMPY_MAX_RANK)
      return false;
    char *end = NULL;
    array->dims[array->rank++] = strtoll(text, &end, 10);
    text = end + (*end == 'L');  // Python 2 wrote long numbers so
  }
}

// The element's bytes out of "<f4": of "<U7" four each, but texts are refused by their users.
static hsc_status *read_type(const char *text,
                             const char *path,
                             hsc_arena *arena,
                             hsc_numpy_array *array) {
  if (!text || (*text != '\'' && *text != '"'))
    return hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s: '%s' is an array of records", path, array->name),
        "save one array for each field");
  size_t size = strcspn(text + 1, "'\"");
  array->type = hsc_arena_strndup(arena, text + 1, size);
  HSC_TRY(hsc_arena_status(arena));
  if (size >= 2 && array->type[1] == 'O')
    return hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s: '%s' is an array of Python objects", path, array->name),
        "save it as numbers: numpy.asarray(x, dtype=numpy.float32)");
  char *end = NULL;
  unsigned long bytes = size >= 3 ? strtoul(array->type + 2, &end, 10) : 0;
  if (!bytes || *end || bytes > MOST_HEADER)
    return HSC_ERR(INVALID_ARGUMENT, "%s: '%s' has the type %s, which holds no numbers", path,
                   array->name, array->type);
  array->item_bytes = bytes;
  return NULL;
}

static hsc_status *read_array(hsc_view file,
                              const char *path,
                              hsc_arena *arena,
                              hsc_numpy_array *array) {
  if (file.size < PREFIX2_BYTES || memcmp(file.data, MAGIC, MAGIC_BYTES) != 0)
    return HSC_ERR(INVALID_ARGUMENT, "%s: '%s' is no array of NumPy", path, array->name);
  const unsigned char *head = (const unsigned char *)file.data;
  bool is_short = head[MAGIC_BYTES] == 1;
  size_t start = is_short ? PREFIX_BYTES : PREFIX2_BYTES;
  size_t size = (size_t)head[8] | (size_t)head[9] << 8;
  if (!is_short)
    size |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
  if (size > MOST_HEADER || size > file.size - start)
    return HSC_ERR(DATA_LOSS, "%s: the header of '%s' is cut off", path, array->name);
  const char *header = hsc_arena_strndup(arena, file.data + start, size);
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(read_type(value_of(header, "descr"), path, arena, array));
  const char *fortran = value_of(header, "fortran_order");
  array->is_fortran = fortran && hsc_starts_with(fortran, "True");
  if (!fortran || !read_shape(value_of(header, "shape"), array))
    return HSC_ERR(DATA_LOSS, "%s: the header of '%s' is damaged: %.80s", path, array->name,
                   header);
  size_t bytes = array->item_bytes;
  bool fits = true;
  for (int i = 0; i < array->rank && fits; i++)
    fits = hsc_mul_size(bytes, (size_t)array->dims[i], &bytes);
  array->data = (hsc_view){file.data + start + size, bytes};
  if (!fits || bytes > file.size - start - size)
    return HSC_ERR(DATA_LOSS,
                   "%s: '%s' has %zu bytes, fewer than its shape takes; is the file whole?", path,
                   array->name, file.size - start - size);
  return NULL;
}

hsc_status *hsc_numpy_read(hsc_view file,
                           const char *path,
                           hsc_arena *arena,
                           hsc_numpy_array **out_arrays,
                           size_t *out_count) {
  hsc_zip_entry whole = {.name = "", .data = file};
  hsc_zip_entry *entries = &whole;
  size_t count = 1;
  if (hsc_zip_is(file)) {
    hsc_status *status = hsc_zip_read(file, arena, &entries, &count);
    if (status)
      return hsc_status_at(status, path, 0, 0, NULL);
  } else if (file.size < MAGIC_BYTES || memcmp(file.data, MAGIC, MAGIC_BYTES) != 0) {
    return hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s is neither a .npz nor a .npy file of NumPy", path),
        "numpy.savez(\"inputs.npz\", x=x, y=y) writes one");
  }
  hsc_numpy_array *arrays = HSC_NEW_ARRAY(arena, hsc_numpy_array, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (size_t i = 0; i < count; i++) {
    size_t length = strlen(entries[i].name);
    if (hsc_ends_with(entries[i].name, ".npy"))
      length -= strlen(".npy");
    arrays[i].name = hsc_arena_strndup(arena, entries[i].name, length);
    HSC_TRY(hsc_arena_status(arena));
    HSC_TRY(read_array(entries[i].data, path, arena, &arrays[i]));
  }
  *out_arrays = arrays;
  *out_count = count;
  return NULL;
}
