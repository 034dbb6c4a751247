// profile.c - opens profiles and holds what they sum up to.
#include "views/profile.h"

#include <math.h>
#include <stdlib.h>

#include "views/profile_internal.h"

static const char *const activity_texts[] = {
#define ACTIVITY(id, text, doc) text,
#include "views/activities.def"
#undef ACTIVITY
};
static const char *const section_texts[] = {
#define SECTION(id, text, doc) text,
#include "views/profile_sections.def"
#undef SECTION
};
const char *hsc_activity_text(hsc_activity activity) {
  return activity_texts[activity];
}
const char *hsc__section_text(hsc__section section) {
  return section < HSC__SECTION_COUNT ? section_texts[section] : "";
}

// The first moment of all lines. Some writers give nanoseconds since the epoch, some since the
// profile began, so those that are far from the others are taken to have a clock of their own.
static void find_base(hsc_profile *profile) {
  profile->base_ns = INT64_MAX;
  for (size_t s = 0; s < profile->spaces.count; s++)
    for (int32_t p = 0; p < profile->spaces.items[s]->plane_count; p++) {
      const hsc_xplane *plane = &profile->spaces.items[s]->planes[p];
      for (int32_t l = 0; l < plane->line_count; l++) {
        hsc_xevent_cursor at = hsc_xline_events(&plane->lines[l]);
        hsc_xevent event;
        if (hsc_xevent_next(&at, &event) && plane->lines[l].timestamp_ns < profile->base_ns)
          profile->base_ns = plane->lines[l].timestamp_ns;
      }
    }
  if (profile->base_ns == INT64_MAX)
    profile->base_ns = 0;
}

static hsc_status *sum_up(hsc_profile *profile) {
  find_base(profile);
  for (size_t s = 0; s < profile->spaces.count; s++) {
    hsc_xspace *space = profile->spaces.items[s];
    if (space->damage)
      hsc__profile_note(profile, "%s: %s", space->path, space->damage);
    for (int32_t i = 0; i < space->error_count; i++)
      hsc__profile_note(profile, "error in the profile: %.*s", (int)space->errors[i].size,
                        space->errors[i].data);
    for (int32_t i = 0; i < space->warning_count; i++)
      hsc__profile_note(profile, "warning in the profile: %.*s", (int)space->warnings[i].size,
                        space->warnings[i].data);
    HSC_TRY(hsc__profile_read_space(profile, space));
  }
  return hsc_arena_status(profile->arena);
}

static hsc_status *create(hsc_profile **out_profile) {
  hsc_profile *profile = hsc_alloc(sizeof *profile);
  if (!profile)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_arena_create(&profile->arena);
  if (status) {
    hsc_free(profile);
    return status;
  }
  *out_profile = profile;
  return NULL;
}

static hsc_status *open_profile(const char *path, bool keep_events, hsc_profile **out_profile) {
  hsc_profile *profile = NULL;
  hsc_xspace_files files;
  hsc_status *status = NULL;
  *out_profile = NULL;
  HSC_TRY(create(&profile));
  profile->keep_events = keep_events;
  HSC_GOTO(hsc_xspace_find(path, profile->arena, &files));
  if (files.note)
    hsc__profile_note(profile, "%s", files.note);
  for (int32_t i = 0; i < files.count; i++) {
    hsc_xspace *space = NULL;
    HSC_GOTO(hsc_xspace_open(files.paths[i], &space));
    if (!HSC__ADD(&profile->spaces, space)) {
      hsc_xspace_close(space);
      HSC_GOTO(hsc_status_out_of_memory());
    }
  }
  HSC_GOTO(sum_up(profile));
  *out_profile = profile;
  profile = NULL;
done:
  hsc_profile_close(profile);
  return status;
}

hsc_status *hsc_profile_open(const char *path, hsc_profile **out_profile) {
  return open_profile(path, false, out_profile);
}
hsc_status *hsc_profile_open_detailed(const char *path, hsc_profile **out_profile) {
  return open_profile(path, true, out_profile);
}

hsc_status *hsc_profile_of(hsc_xspace *space, hsc_profile **out_profile) {
  hsc_profile *profile = NULL;
  *out_profile = NULL;
  hsc_status *status = create(&profile);
  if (!status && !HSC__ADD(&profile->spaces, space))
    status = hsc_status_out_of_memory();
  if (status)
    hsc_xspace_close(space);
  else
    status = sum_up(profile);
  if (status) {
    hsc_profile_close(profile);
    return status;
  }
  *out_profile = profile;
  return NULL;
}

void hsc_profile_close(hsc_profile *profile) {
  if (!profile)
    return;
  for (size_t i = 0; i < profile->modules.count; i++)
    hsc_module_destroy(profile->modules.items[i].module);
  for (size_t i = 0; i < profile->spaces.count; i++)
    hsc_xspace_close(profile->spaces.items[i]);
  hsc_free(profile->spaces.items);
  hsc_free(profile->devices.items);
  hsc_free(profile->ops.items);
  hsc_free(profile->steps.items);
  hsc_free(profile->host_steps.items);
  hsc_free(profile->modules.items);
  hsc_free(profile->lanes.items);
  hsc_free(profile->runs.items);
  hsc_free(profile->memory.items);
  hsc_free(profile->host.items);
  hsc_free(profile->events.items);
  hsc_bytes_deinit(&profile->notes);
  hsc_arena_destroy(profile->arena);
  hsc_free(profile);
}

int hsc_profile_space_count(const hsc_profile *profile) {
  return (int)profile->spaces.count;
}
const hsc_xspace *hsc_profile_space(const hsc_profile *profile, int space) {
  return profile->spaces.items[space];
}
int hsc_profile_device_count(const hsc_profile *profile) {
  return (int)profile->devices.count;
}
int hsc_profile_op_count(const hsc_profile *profile) {
  return (int)profile->ops.count;
}
const hsc_profile_op *hsc_profile_ops(const hsc_profile *profile) {
  return profile->ops.items;
}
int hsc_profile_step_count(const hsc_profile *profile) {
  return (int)profile->steps.count;
}
const hsc_profile_step *hsc_profile_steps(const hsc_profile *profile) {
  return profile->steps.items;
}
int hsc_profile_module_count(const hsc_profile *profile) {
  return (int)profile->modules.count;
}
const hsc_profile_module *hsc_profile_modules(const hsc_profile *profile) {
  return profile->modules.items;
}
const char *hsc_profile_notes(const hsc_profile *profile) {
  return hsc_bytes_text(&profile->notes);
}

// A profile keeps its peaks in units of 1e12 and 1e9, by which they lose some last bits.
static bool is_same_peak(double a, double b) {
  return fabs(a - b) <= 1e-6 * b;
}

static bool is_cpu(const hsc_profile_device *device) {
  return strstr(device->name, "CPU") || !strncmp(device->type, "hloscope cpu", 12);
}

static bool lacks_peaks(const hsc_profile_device *device) {
  return isnan(device->peak_flops) && isnan(device->peak_bytes);
}

bool hsc_profile_wants_peaks(const hsc_profile *profile) {
  for (size_t i = 0; i < profile->devices.count; i++)
    if (is_cpu(&profile->devices.items[i]) && lacks_peaks(&profile->devices.items[i]))
      return true;
  return false;
}

void hsc_profile_set_peaks(hsc_profile *profile, double flops, double bytes, const char *source) {
  for (size_t i = 0; i < profile->devices.count; i++) {
    hsc_profile_device *device = &profile->devices.items[i];
    bool has_these =
        is_same_peak(device->peak_flops, flops) && is_same_peak(device->peak_bytes, bytes);
    if (!is_cpu(device) || (!lacks_peaks(device) && !has_these))
      continue;
    device->peak_flops = flops;
    device->peak_bytes = bytes;
    profile->peak_source = hsc_arena_strdup(profile->arena, source);
  }
}
