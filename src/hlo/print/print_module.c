// print_module.c - a whole module as XLA prints it: header, stack frame tables, computations.
#include "hlo/print/print_internal.h"

static const hsc_print_options all_false;

void hsc__print_entry_layout(const hsc_module *module, hsc_bytes *out) {
  if (module->layout_text) {
    hsc_bytes_append_text(out, module->layout_text);
    return;
  }
  const hsc_computation *entry = module->entry;
  PUT(out, "{(");
  for (int i = 0; i < entry->parameter_count; i++) {
    if (i > 0) {
      PUT(out, ", ");
      hsc__print_tuple_index(i, out);
    }
    if (entry->parameters[i])
      hsc_shape_print(&entry->parameters[i]->shape, true, out);
  }
  PUT(out, ")->");
  if (entry->root)
    hsc_shape_print(&entry->root->shape, true, out);
  hsc_bytes_append_char(out, '}');
}

// "{0}: (1, {2}, must-alias)"; a path's numbers are separated by ", " here.
static void put_path(hsc_bytes *out, hsc_dims path) {
  hsc_bytes_append_char(out, '{');
  for (int i = 0; i < path.count; i++) {
    if (i > 0)
      PUT(out, ", ");
    hsc__put_int(out, path.v[i]);
  }
  hsc_bytes_append_char(out, '}');
}

static void put_aliases(const hsc_module *module, hsc_bytes *out) {
  if (module->alias_count > 0) {
    PUT(out, ", input_output_alias={ ");
    for (int i = 0; i < module->alias_count; i++) {
      const hsc_alias *alias = &module->aliases[i];
      if (i > 0)
        PUT(out, ", ");
      put_path(out, alias->output_index);
      PUT(out, ": (");
      hsc__put_int(out, alias->parameter);
      PUT(out, ", ");
      put_path(out, alias->parameter_index);
      if (alias->must_alias)
        PUT(out, ", must-alias)");
      else
        PUT(out, ", may-alias)");
    }
    PUT(out, " }");
  }
  if (module->donor_count > 0) {
    PUT(out, ", buffer_donor={ ");
    for (int i = 0; i < module->donor_count; i++) {
      if (i > 0)
        PUT(out, ", ");
      hsc_bytes_append_char(out, '(');
      hsc__put_int(out, module->donors[i].parameter);
      PUT(out, ", ");
      put_path(out, module->donors[i].parameter_index);
      hsc_bytes_append_char(out, ')');
    }
    PUT(out, " }");
  }
}

// Where raw header attributes are: before the entry layout, between it and the counts, or at the
// end.
static int place_of(hsc_view key) {
  if (hsc_view_equals_text(key, "alias_passthrough_params"))
    return 0;
  static const char prefix[] = "allow_spmd_sharding_propagation";
  return key.size >= sizeof prefix - 1 && memcmp(key.data, prefix, sizeof prefix - 1) == 0 ? 1 : 2;
}

static void put_pieces(const hsc_module *module, int place, hsc_bytes *out) {
  hsc__piece piece;
  if (!module->extra_attributes)
    return;
  for (const char *at = module->extra_attributes; hsc__next_piece(&at, &piece);) {
    if (place_of(piece.key) != place)
      continue;
    PUT(out, ", ");
    hsc_bytes_append(out, piece.text.data, piece.text.size);
  }
}

static void put_names(const char *title, const char *const *names, int count, hsc_bytes *out) {
  hsc_bytes_append_text(out, title);
  for (int i = 0; i < count; i++) {
    hsc__put_int(out, i + 1);
    PUT(out, " \"");
    hsc_text_escape(hsc_view_of(names[i]), out);
    PUT(out, "\"\n");
  }
}

static void put_field(hsc_bytes *out, const char *key, int64_t value) {
  hsc_bytes_append_text(out, key);
  hsc__put_int(out, value);
}

static void print_stack_index(const hsc_stack_index *index, hsc_bytes *out) {
  put_names("FileNames\n", index->file_names, index->file_name_count, out);
  put_names("\nFunctionNames\n", index->function_names, index->function_name_count, out);
  PUT(out, "\nFileLocations\n");
  for (int i = 0; i < index->location_count; i++) {
    const hsc_file_location *location = &index->locations[i];
    hsc__put_int(out, i + 1);
    put_field(out, " {file_name_id=", location->file_name);
    put_field(out, " function_name_id=", location->function_name);
    put_field(out, " line=", location->line);
    put_field(out, " end_line=", location->end_line);
    put_field(out, " column=", location->column);
    put_field(out, " end_column=", location->end_column);
    PUT(out, "}\n");
  }
  PUT(out, "\nStackFrames\n");
  for (int i = 0; i < index->frame_count; i++) {
    hsc__put_int(out, i + 1);
    put_field(out, " {file_location_id=", index->frames[i].location);
    put_field(out, " parent_frame_id=", index->frames[i].parent + 1);
    PUT(out, "}\n");
  }
  PUT(out, "\n\n");
}

// Computations that print as part of the async instructions that call them, and that nothing else
// calls.
static void find_wrappers(const hsc_module *module, hsc__ptr_map *wrappers) {
  static char yes;
  bool any = false;
  for (int i = 0; i < module->computation_count; i++)
    for (const hsc_instr *instr = module->computations[i]->first; instr; instr = instr->next)
      if (instr->op == HSC_OP_ASYNC_START && hsc__async_wrapped(instr)) {
        hsc__ptr_map_put(wrappers, instr->called[0], &yes);
        any = true;
      }
  if (!any)
    return;
  for (int i = 0; i < module->computation_count; i++)
    for (const hsc_instr *instr = module->computations[i]->first; instr; instr = instr->next)
      for (int c = 0; c < instr->called_count; c++)
        if (!hsc__async_wrapped(instr) && hsc__ptr_map_get(wrappers, instr->called[c]))
          hsc__ptr_map_put(wrappers, instr->called[c], NULL);
}

void hsc_module_print(const hsc_module *module, const hsc_print_options *options, hsc_bytes *out) {
  if (!options)
    options = &all_false;
  PUT(out, "HloModule ");
  hsc_bytes_append_text(out, module->name);
  if (module->is_scheduled)
    PUT(out, ", is_scheduled=true");
  put_aliases(module, out);
  put_pieces(module, 0, out);
  if (module->entry) {
    PUT(out, ", entry_computation_layout=");
    hsc__print_entry_layout(module, out);
  }
  put_pieces(module, 1, out);
  if (module->replica_count != 1)
    put_field(out, ", replica_count=", module->replica_count);
  if (module->num_partitions != 1)
    put_field(out, ", num_partitions=", module->num_partitions);
  put_pieces(module, 2, out);
  PUT(out, "\n\n");
  if (module->stack_index && !options->no_metadata)
    print_stack_index(module->stack_index, out);
  hsc__ptr_map wrappers = {0};
  find_wrappers(module, &wrappers);
  for (int i = 0; i < module->computation_count; i++) {
    if (hsc__ptr_map_get(&wrappers, module->computations[i]))
      continue;
    if (module->computations[i] == module->entry)
      PUT(out, "ENTRY ");
    hsc_computation_print(module->computations[i], options, out);
    PUT(out, "\n\n");
  }
  hsc__ptr_map_deinit(&wrappers);
}
