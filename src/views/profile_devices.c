// profile_devices.c - the devices of a profile: which one ran an operator, and how it is called.
#include <math.h>

#include "base/text/text.h"
#include "views/profile_walk.h"

static double plane_number(const hsc_xplane *plane, const char *name) {
  hsc_xstat stat;
  return hsc_xstat_find(plane->message, HSC_XPLANE_STATS, hsc_xplane_stat_id(plane, name), &stat)
             ? hsc_xstat_number(&stat)
             : NAN;
}

// The file's name without its extensions.
const char *hsc__space_stem(const hsc_xspace *space, hsc_arena *arena) {
  const char *name = hsc_path_file(space->path ? space->path : "");
  const char *end = strstr(name, ".xplane.pb");
  const char *stem = hsc_arena_strndup(arena, name, end ? (size_t)(end - name) : strlen(name));
  return stem ? stem : "";
}

// Which of several files an event is of: the host, where they are of as many hosts; else the file,
// which is named after its process.
static const char *space_label(const hsc_profile *profile, const hsc_xspace *space) {
  bool alone = space->hostname_count > 0;
  for (size_t i = 0; i < profile->spaces.count && alone; i++) {
    const hsc_xspace *other = profile->spaces.items[i];
    alone = other == space || !other->hostname_count ||
            !hsc_view_equals(other->hostnames[0], space->hostnames[0]);
  }
  if (alone)
    return hsc_arena_strndup(profile->arena, space->hostnames[0].data, space->hostnames[0].size);
  const char *stem = hsc__space_stem(space, profile->arena);
  return strspn(stem, "0123456789") == strlen(stem)
             ? hsc_arena_printf(profile->arena, "process %s", stem)
             : stem;
}

// The device that ran an operator becomes w->device. ordinal: on the host's plane, where operators
// tell it, else -1.
bool hsc__walk_device_of(hsc__walk *w, int64_t ordinal) {
  hsc_profile *profile = w->profile;
  if (w->device >= 0 && profile->devices.items[w->device].ordinal == ordinal)
    return true;
  for (size_t d = (size_t)w->first_device; d < profile->devices.count; d++)
    if (profile->devices.items[d].ordinal == ordinal) {
      w->device = (int32_t)d;
      return true;
    }
  hsc_xstat stat;
  hsc_view name = hsc_xplane_shown_name(w->plane);
  if (name.size > 8 && !memcmp(name.data, "/device:", 8)) {
    name.data += 8;
    name.size -= 8;
  } else if (name.size > 6 && !memcmp(name.data, "/host:", 6)) {
    name.data += 6;
    name.size -= 6;
  }
  const char *text = hsc_arena_strndup(profile->arena, name.data, name.size);
  if (profile->spaces.count > 1 && text)
    text = hsc_arena_printf(profile->arena, "%s/%s", space_label(profile, w->space), text);
  const char *type = "";
  if (hsc_xstat_find(w->plane->message, HSC_XPLANE_STATS,
                     hsc_xplane_stat_id(w->plane, "device_type_string"), &stat)) {
    hsc_view value = hsc_xstat_text(w->plane, &stat);
    type = hsc_arena_strndup(profile->arena, value.data, value.size);
  }
  hsc_profile_device device = {
      .plane = w->plane,
      .space = w->space,
      .name = text,
      .type = type,
      .ordinal = ordinal,
      .ordinal_id = hsc_xplane_stat_id(w->plane, "device_ordinal"),
      .first_ps = INT64_MAX,
      .last_ps = 0,
      .peak_flops = plane_number(w->plane, "peak_teraflops_per_second") * 1e12,
      .peak_bytes = plane_number(w->plane, "peak_hbm_bw_gigabytes_per_second") * 1e9};
  w->device = (int32_t)profile->devices.count;
  return text && type && HSC__ADD(&profile->devices, device);
}

bool hsc__walk_device(hsc__walk *w) {
  return w->device >= 0 || hsc__walk_device_of(w, -1);
}

// A plane with one device, the first, is called by the platform alone; several by their ordinals.
hsc_status *hsc__walk_name_devices(hsc__walk *w) {
  hsc_profile *profile = w->profile;
  size_t first = (size_t)w->first_device;
  bool alone = profile->devices.count == first + 1 && profile->devices.items[first].ordinal <= 0;
  for (size_t d = first; d < profile->devices.count && !alone; d++) {
    hsc_profile_device *device = &profile->devices.items[d];
    if (device->ordinal >= 0)
      device->name =
          hsc_arena_printf(profile->arena, "%s:%lld", device->name, (long long)device->ordinal);
  }
  return hsc_arena_status(profile->arena);
}

bool hsc__profile_is_of(const hsc_profile_device *device, const hsc_xevent *event) {
  hsc_xstat stat;
  int64_t id = device->ordinal < 0 ? -1 : device->ordinal_id;
  return id < 0 || !hsc_xstat_find(event->message, HSC_XEVENT_STATS, id, &stat) ||
         hsc_xstat_int(&stat) == device->ordinal;
}
