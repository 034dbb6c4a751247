// sdy_layout.c - which device has which piece of a value that is cut along the axes of a mesh.
#include "formats/shardy/sdy_layout.h"

void hsc__mesh_coordinates(const hsc__mesh *mesh, int64_t place, int64_t out[HSC__MOST_AXES]) {
  for (int a = mesh->axis_count - 1; a >= 0; a--) {
    out[a] = place % mesh->axis_sizes[a];
    place /= mesh->axis_sizes[a];
  }
}

int64_t hsc__mesh_partition(const hsc__mesh *mesh, int64_t place) {
  return mesh->device_ids ? mesh->device_ids[place] : place;
}

int64_t hsc__layout_piece_of(const hsc__layout *layout, int dim, const int64_t at[HSC__MOST_AXES]) {
  int64_t piece = 0;
  for (int a = 0; a < layout->counts[dim]; a++)
    piece = piece * layout->mesh->axis_sizes[layout->axes[dim][a]] + at[layout->axes[dim][a]];
  return piece;
}

bool hsc__layout_beside(const hsc__layout *layout,
                        int dim,
                        const int64_t a[HSC__MOST_AXES],
                        const int64_t b[HSC__MOST_AXES]) {
  for (int axis = 0; axis < layout->mesh->axis_count; axis++) {
    bool cuts = false;
    for (int k = 0; k < layout->counts[dim]; k++)
      cuts |= layout->axes[dim][k] == axis;
    if (!cuts && a[axis] != b[axis])
      return false;
  }
  return true;
}
