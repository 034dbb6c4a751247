// plugin_layouts.c - the layouts extension: every array is dense row-major, so a layout is a rank.
#include "plugin/plugin_internal.h"

// Text as XLA prints layouts: "{1,0}".
struct PJRT_Layouts_MemoryLayout {
  size_t size;
  char text[4 * HSC_MAX_RANK + 8];
};

static struct PJRT_Layouts_MemoryLayout row_major[HSC_MAX_RANK + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_texts(void) {
  for (int rank = 0; rank <= HSC_MAX_RANK; rank++) {
    struct PJRT_Layouts_MemoryLayout *l = &row_major[rank];
    l->size = (size_t)snprintf(l->text, sizeof l->text, "{");
    for (int i = 0; i < rank; i++) l->size += (size_t)snprintf(l->text + l->size, sizeof l->text - l->size, i ? ",%d" : "%d", rank - 1 - i);
    l->size += (size_t)snprintf(l->text + l->size, sizeof l->text - l->size, "}");
  }
}

static PJRT_Layouts_MemoryLayout *layout_of(size_t rank) {
  pthread_once(&once, fill_texts);
  return &row_major[rank <= HSC_MAX_RANK ? rank : HSC_MAX_RANK];
}

static PJRT_Error *destroy(PJRT_Layouts_MemoryLayout_Destroy_Args *args) { return NULL; }  // they live for ever

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
  args->layout = layout_of((size_t)args->buffer->rank);
  return NULL;
}

// The array belongs to the program; made at the first call.
static PJRT_Error *of_shapes(const hsc_shape *shapes, int count, PJRT_Layouts_MemoryLayout ***cache, PJRT_Layouts_MemoryLayout ***out_layouts) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (!*cache) {
    *cache = hsc_alloc((size_t)(count + 1) * sizeof **cache);
    for (int i = 0; *cache && i < count; i++) (*cache)[i] = layout_of((size_t)shapes[i].rank);
  }
  *out_layouts = *cache;
  pthread_mutex_unlock(&lock);
  return *out_layouts ? NULL : hsc__error_of(hsc_status_out_of_memory());
}

static PJRT_Error *of_outputs(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args *args) {
  hsc__program *p = args->executable->program;
  args->num_outputs = (size_t)p->output_count;
  return of_shapes(p->outputs, p->output_count, &p->output_layouts, &args->layouts);
}

static PJRT_Error *of_parameters(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args *args) {
  hsc__program *p = args->executable->program;
  args->num_parameters = (size_t)p->input_count;
  return of_shapes(p->inputs, p->input_count, &p->input_layouts, &args->layouts);
}

PJRT_Layouts_Extension hsc__layouts_extension = {
    .base = {.struct_size = PJRT_Layouts_Extension_STRUCT_SIZE, .type = PJRT_Extension_Type_Layouts},
    .PJRT_Layouts_MemoryLayout_Destroy = destroy,
    .PJRT_Layouts_MemoryLayout_Serialize = serialize,
    .PJRT_Layouts_PJRT_Client_GetDefaultLayout = client_default,
    .PJRT_Layouts_PJRT_Buffer_MemoryLayout = of_buffer,
    .PJRT_Layouts_PJRT_Topology_GetDefaultLayout = topology_default,
    .PJRT_Layouts_PJRT_Executable_GetOutputLayouts = of_outputs,
    .PJRT_Layouts_PJRT_Executable_GetParameterLayouts = of_parameters,
};
