// print_module.c - a module's header as XLA prints it.
#include "hlo/hlo_internal.h"

void hsc__print_entry_layout(const hsc_module *module, hsc_bytes *out) {
  if (module->layout_text) {
    hsc_bytes_append_text(out, module->layout_text);
    return;
  }
  const hsc_computation *entry = module->entry;
  hsc_bytes_append(out, "{(", 2);
  for (int i = 0; i < entry->parameter_count; i++) {
    if (i > 0) {
      hsc_bytes_append(out, ", ", 2);
      hsc__print_tuple_index(i, out);
    }
    if (entry->parameters[i]) hsc_shape_print(&entry->parameters[i]->shape, true, out);
  }
  hsc_bytes_append(out, ")->", 3);
  if (entry->root) hsc_shape_print(&entry->root->shape, true, out);
  hsc_bytes_append_char(out, '}');
}
