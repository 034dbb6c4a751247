// plugin_layouts.c - orders of dimensions in memory, one object for each in the process, and the
// layouts extension that tells of them.
#include "plugin/plugin_internal.h"

static struct PJRT_Layouts_MemoryLayout row_major[HSC_MAX_RANK + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_text(PJRT_Layouts_MemoryLayout *l) {
  l->size = (size_t)snprintf(l->text, sizeof l->text, "{");
  for (int i = 0; i < l->rank; i++)
    l->size += (size_t)snprintf(l->text + l->size, sizeof l->text - l->size, i ? ",%d" : "%d",
                                (int)l->minor_to_major[i]);
  l->size += (size_t)snprintf(l->text + l->size, sizeof l->text - l->size, "}");
}

static void fill_texts(void) {
  for (int rank = 0; rank <= HSC_MAX_RANK; rank++) {
    row_major[rank].rank = rank;
    memcpy(row_major[rank].minor_to_major, hsc__row_major(rank), (size_t)rank * sizeof(int64_t));
    fill_text(&row_major[rank]);
  }
}

hsc_status *hsc__layout_get(const int64_t *minor_to_major,
                            int rank,
                            const PJRT_Layouts_MemoryLayout **out_layout) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static PJRT_Layouts_MemoryLayout *known;  // those that are not row-major; they live for ever
  uint64_t seen = 0;
  bool is_default = true;
  *out_layout = NULL;
  if (rank < 0 || rank > HSC_MAX_RANK)
    return HSC_ERR(INVALID_ARGUMENT, "a layout of %d dimensions; at most %d are possible", rank,
                   HSC_MAX_RANK);
  for (int i = 0; i < rank; i++) {
    int64_t d = minor_to_major[i];
    if (d < 0 || d >= rank || (seen >> d & 1))
      return HSC_ERR(INVALID_ARGUMENT, "minor_to_major is no permutation: %lld at place %d",
                     (long long)d, i);
    seen |= (uint64_t)1 << d;
    is_default &= d == rank - 1 - i;
  }
  if (is_default)
    return NULL;
  pthread_mutex_lock(&lock);
  PJRT_Layouts_MemoryLayout *l = known;
  while (l && (l->rank != rank || memcmp(l->minor_to_major, minor_to_major,
                                         (size_t)rank * sizeof *minor_to_major) != 0))
    l = l->next;
  if (!l && (l = hsc_alloc(sizeof *l)) != NULL) {
    *l = (PJRT_Layouts_MemoryLayout){.rank = rank, .next = known};
    memcpy(l->minor_to_major, minor_to_major, (size_t)rank * sizeof *minor_to_major);
    fill_text(l);
    known = l;
  }
  pthread_mutex_unlock(&lock);
  *out_layout = l;
  return l ? NULL : hsc_status_out_of_memory();
}

bool hsc__layout_same_memory(const PJRT_Layouts_MemoryLayout *a,
                             const PJRT_Layouts_MemoryLayout *b,
                             const int64_t *dims,
                             int rank) {
  if (a == b)
    return true;
  const int64_t *x = a ? a->minor_to_major : hsc__row_major(rank);
  const int64_t *y = b ? b->minor_to_major : hsc__row_major(rank);
  for (int i = 0, k = 0;; i++, k++) {  // dimensions of one element are nowhere
    while (i < rank && dims[x[i]] == 1)
      i++;
    while (k < rank && dims[y[k]] == 1)
      k++;
    if (i == rank || k == rank)
      return i == rank && k == rank;
    if (x[i] != y[k])
      return false;
  }
}

void hsc__layout_strides(const PJRT_Layouts_MemoryLayout *layout,
                         const int64_t *dims,
                         int rank,
                         size_t element_bytes,
                         int64_t *out_strides) {
  const int64_t *order = layout ? layout->minor_to_major : hsc__row_major(rank);
  int64_t stride = (int64_t)element_bytes;
  for (int i = 0; i < rank; i++) {
    out_strides[order[i]] = stride;
    stride = (int64_t)((uint64_t)stride * (uint64_t)dims[order[i]]);
  }
}

static PJRT_Layouts_MemoryLayout *layout_of(size_t rank) {
  pthread_once(&once, fill_texts);
  return &row_major[rank <= HSC_MAX_RANK ? rank : HSC_MAX_RANK];
}

static PJRT_Error *destroy(PJRT_Layouts_MemoryLayout_Destroy_Args *args) {
  return NULL;
}  // they live for ever

static void no_deleter(PJRT_Layouts_SerializedLayout *layout) {}

static PJRT_Error *serialize(PJRT_Layouts_MemoryLayout_Serialize_Args *args) {
  args->serialized_bytes = args->layout->text;
  args->serialized_bytes_size = args->layout->size;
  args->serialized_layout = (PJRT_Layouts_SerializedLayout *)args->layout;
  args->serialized_layout_deleter = no_deleter;
  return NULL;
}

static PJRT_Error *client_default(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args *args) {
  args->layout = layout_of(args->num_dims);
  return NULL;
}

static PJRT_Error *topology_default(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args *args) {
  args->layout = layout_of(args->num_dims);
  return NULL;
}

static PJRT_Error *of_buffer(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args *args) {
  args->layout = args->buffer->layout ? (PJRT_Layouts_MemoryLayout *)args->buffer->layout
                                      : layout_of((size_t)args->buffer->rank);
  return NULL;
}

// The array belongs to the program; made at the first call.
static PJRT_Error *of_shapes(const hsc_shape *shapes,
                             int count,
                             const PJRT_Layouts_MemoryLayout *const *own,
                             PJRT_Layouts_MemoryLayout ***cache,
                             PJRT_Layouts_MemoryLayout ***out_layouts) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (!*cache) {
    *cache = hsc_alloc((size_t)(count + 1) * sizeof **cache);
    for (int i = 0; *cache && i < count; i++)
      (*cache)[i] =
          own && own[i] ? (PJRT_Layouts_MemoryLayout *)own[i] : layout_of((size_t)shapes[i].rank);
  }
  *out_layouts = *cache;
  pthread_mutex_unlock(&lock);
  return *out_layouts ? NULL : hsc__error_of(hsc_status_out_of_memory());
}

static PJRT_Error *of_outputs(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args *args) {
  hsc__program *p = args->executable->program;
  args->num_outputs = (size_t)p->output_count;
  return of_shapes(p->outputs, p->output_count, p->out_layouts, &p->output_layouts, &args->layouts);
}

static PJRT_Error *of_parameters(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args *args) {
  hsc__program *p = args->executable->program;
  args->num_parameters = (size_t)p->input_count;
  return of_shapes(p->inputs, p->input_count, p->in_layouts, &p->input_layouts, &args->layouts);
}

PJRT_Layouts_Extension hsc__layouts_extension = {
    .base = {.struct_size = PJRT_Layouts_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_Layouts},
    .PJRT_Layouts_MemoryLayout_Destroy = destroy,
    .PJRT_Layouts_MemoryLayout_Serialize = serialize,
    .PJRT_Layouts_PJRT_Client_GetDefaultLayout = client_default,
    .PJRT_Layouts_PJRT_Buffer_MemoryLayout = of_buffer,
    .PJRT_Layouts_PJRT_Topology_GetDefaultLayout = topology_default,
    .PJRT_Layouts_PJRT_Executable_GetOutputLayouts = of_outputs,
    .PJRT_Layouts_PJRT_Executable_GetParameterLayouts = of_parameters,
};
